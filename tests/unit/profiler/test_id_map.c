#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "profiler/read/id_map.h"

static void test_puts_and_gets(void **state)
{
	struct id_map m = {0};
	uint32_t v = 0;

	(void)state;
	assert_false(id_map_get(&m, (struct id_key){1, 2, 3}, &v));
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(id_map_put(&m, (struct id_key){i % 7, i, i % 3}, i), SB_OK);
	assert_int_equal(id_map_put(&m, (struct id_key){5, 5, 2}, 77), SB_OK);
	assert_int_equal(m.count, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		assert_true(id_map_get(&m, (struct id_key){i % 7, i, i % 3}, &v));
		assert_int_equal(v, i == 5 ? 77 : i);
	}
	assert_false(id_map_get(&m, (struct id_key){1, 2, 3}, &v));
	id_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_puts_and_gets),
	};

	return cmocka_run_group_tests_name("id map", tests, NULL, NULL);
}
