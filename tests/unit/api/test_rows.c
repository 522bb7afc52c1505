#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "api/internal.h"
#include "base/num.h"

static void expect(const char *text, int64_t rank, int64_t step, const char *want)
{
	char copy[512];
	size_t len = strlen(text);

	assert_true(len < sizeof(copy));
	memcpy(copy, text, len + 1);
	len = rows_keep(copy, len, rank, step);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(copy, want, len);
}

static void rows_of_one_rank_and_step_stay(void **state)
{
	const char *rows = "{\"rows\":[{\"rank\":1,\"step\":7,\"x\":1.5},{\"rank\":11,\"step\":7,\"x\":2.0},"
	                   "{\"rank\":null,\"step\":null},{\"rank\":1,\"step\":null}]}";

	(void)state;
	expect(rows, 1, SB_NULL, "{\"rows\":[{\"rank\":1,\"step\":7,\"x\":1.5},{\"rank\":1,\"step\":null}]}");
	expect(rows, SB_NULL, 7,
	       "{\"rows\":[{\"rank\":1,\"step\":7,\"x\":1.5},{\"rank\":11,\"step\":7,\"x\":2.0}]}");
	expect(rows, 1, 7, "{\"rows\":[{\"rank\":1,\"step\":7,\"x\":1.5}]}");
	expect(rows, 2, SB_NULL, "{\"rows\":[]}");
	expect(rows, SB_NULL, SB_NULL, rows);
	expect("{\"rows\":[]}", 1, 1, "{\"rows\":[]}");
}

static void names_and_lists_inside_do_not_end_a_row(void **state)
{
	(void)state;
	expect("{\"operators\":[{\"rank\":0,\"step\":1,\"name\":\"a}]\\\"{\",\"links\":[{\"b\":[]}]},"
	       "{\"rank\":3,\"step\":-1,\"name\":\"\\\"rank\\\":0\"}],\"domains\":[{\"ranks\":[0]}]}",
	       3, -1,
	       "{\"operators\":[{\"rank\":3,\"step\":-1,\"name\":\"\\\"rank\\\":0\"}],\"domains\":[{"
	       "\"ranks\":[0]}"
	       "]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_one_rank_and_step_stay),
	    cmocka_unit_test(names_and_lists_inside_do_not_end_a_row),
	};

	return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
