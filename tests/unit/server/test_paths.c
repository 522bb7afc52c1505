#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/paths.h"

static char root[] = "/tmp/sb-paths-XXXXXX";

static void put(const char *name, size_t bytes)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static int make_tree(void **state)
{
	char path[256], target[256];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/rank0_ascend_pt", root);
	if (mkdir(path, 0700) != 0)
		return -1;
	put("rank0_ascend_pt/b.csv", 3);
	put("rank0_ascend_pt/a.json", 4);
	put("loose", 5);
	snprintf(path, sizeof(path), "%s/rank0_ascend_pt/link", root);
	snprintf(target, sizeof(target), "%s/loose", root);
	return symlink(target, path);
}

static int remove_tree(void **state)
{
	static const char *const names[] = {"rank0_ascend_pt/b.csv", "rank0_ascend_pt/a.json",
	                                    "rank0_ascend_pt/link",  "loose",
	                                    "rank0_ascend_pt",       "."};
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		remove(i + 1 == sizeof(names) / sizeof(names[0]) ? root : path);
	}
	return 0;
}

static void a_folder_keeps_its_own_name_and_links_are_passed_over(void **state)
{
	char folder[256], dotted[300];
	char *paths[1] = {folder};
	PATHS_AUTO list = {0};
	PATHS_AUTO again = {0};

	(void)state;
	snprintf(folder, sizeof(folder), "%s/rank0_ascend_pt", root);
	assert_int_equal(paths_collect(paths, 1, &list, NULL), SB_OK);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.bytes, 7);
	assert_string_equal(list.files[0].label, "rank0_ascend_pt/a.json");
	assert_string_equal(list.files[1].label, "rank0_ascend_pt/b.csv");
	/* a trailing "/." names the same folder */
	snprintf(dotted, sizeof(dotted), "%s/.", folder);
	paths[0] = dotted;
	assert_int_equal(paths_collect(paths, 1, &again, NULL), SB_OK);
	assert_string_equal(again.files[0].label, "rank0_ascend_pt/a.json");
}

static void what_is_not_there_is_told(void **state)
{
	char missing[] = "/nonexistent/thing", device[] = "/dev/null";
	char *paths[1] = {missing};
	PATHS_AUTO list = {0};
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(paths_collect(paths, 1, &list, &err), SB_ENOENT);
	assert_string_equal(err.word, "not_found");
	paths[0] = device;
	assert_int_equal(paths_collect(paths, 1, &list, &err), SB_EINVAL);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_folder_keeps_its_own_name_and_links_are_passed_over),
	    cmocka_unit_test(what_is_not_there_is_told),
	};

	return cmocka_run_group_tests_name("paths", tests, make_tree, remove_tree);
}
