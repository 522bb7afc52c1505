#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
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

/* The inverse of an odd number modulo 2^64. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t v = odd;

	for (int i = 0; i < 6; i++)
		v *= 2 - odd * v;
	return v;
}

/* Numbers that a multiplication without a secret would all send to one place. */
static void test_keys_cannot_be_made_to_collide(void **state)
{
	const uint64_t first = inverse(0x9E3779B97F4A7C15u), second = inverse(0xFF51AFD7ED558CCDu);
	struct id_map m = {0};
	clock_t begin = clock();

	(void)state;
	for (uint32_t i = 0; i < 300000; i++) {
		uint64_t h = i * second, key;

		h ^= h >> 29 ^ h >> 58;
		key = h * first;
		assert_int_equal(id_map_put(&m, (struct id_key){(uint32_t)(key >> 32), (uint32_t)key, 0}, i),
		                 SB_OK);
	}
	assert_int_equal(m.count, 300000);
	/* each with each other would take minutes */
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
	id_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_puts_and_gets),
	    cmocka_unit_test(test_keys_cannot_be_made_to_collide),
	};

	return cmocka_run_group_tests_name("id map", tests, NULL, NULL);
}
