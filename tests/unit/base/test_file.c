#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

static void written_where_it_is_told(void **state)
{
	char name[] = "test-file-XXXXXX", text[8] = "";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(sb_write_all(fd, "abcdef", 6, -1), SB_OK);
	assert_int_equal(sb_write_all(fd, "XY", 2, 1), SB_OK);
	/* a place of one's own does not move the file's */
	assert_int_equal(sb_write_all(fd, "g", 1, -1), SB_OK);
	assert_int_equal(sb_write_all(fd, "", 0, -1), SB_OK);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 7);
	assert_memory_equal(text, "aXYdefg", 7);
	close(fd);
	assert_int_equal(sb_write_all(fd, "a", 1, -1), SB_EIO);
}

static void a_full_disk_is_told(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sb_write_all(fd, "a", 1, -1), SB_ENOSPC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(written_where_it_is_told),
	                                   cmocka_unit_test(a_full_disk_is_told)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
