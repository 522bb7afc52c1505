#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/json_put.h"
#include "base/err.h"
#include "base/num.h"
#include "base/random.h"

/* Text that is written by hand is the text that jansson writes of the same values. */

static void expect(struct sb_buf *b, json_t *value)
{
	char *want = json_write(value, NULL);

	assert_non_null(want);
	assert_int_equal(b->status, SB_OK);
	assert_string_equal(b->data, want);
	free(want);
	json_decref(value);
	sb_buf_free(b);
}

static void commas_stand_between(void **state)
{
	SB_BUF_AUTO b;

	(void)state;
	sb_buf_init(&b, 1000);
	json_put_open(&b, NULL, '{');
	json_put_open(&b, "none", '[');
	json_put_close(&b, ']');
	json_put_open(&b, "list", '[');
	json_put_int(&b, NULL, -7);
	json_put_int(&b, NULL, SB_NULL);
	json_put_open(&b, NULL, '{');
	json_put_close(&b, '}');
	json_put_text(&b, NULL, "[{:", 3);
	json_put_text(&b, NULL, NULL, 0);
	json_put_close(&b, ']');
	json_put_name(&b, "made");
	sb_buf_adds(&b, "{}");
	json_put_name(&b, "inner");
	json_put_open(&b, NULL, '[');
	json_put_close(&b, ']');
	json_put_word(&b, "word", "gpu");
	json_put_us(&b, "us", 1500);
	json_put_real(&b, "real", NAN);
	json_put_close(&b, '}');
	assert_string_equal(b.data,
	                    "{\"none\":[],\"list\":[-7,null,{},\"[{:\",null],\"made\":{},\"inner\":[],"
	                    "\"word\":\"gpu\",\"us\":1.5,\"real\":null}");
}

static void numbers_are_those_of_jansson(void **state)
{
	static const double reals[] = {
	    0,      -0.0,  1,   100,     1e14,    1e15,  1e16,   123456789012345678.0,
	    1e-4,   1e-5,  0.1, 1.0 / 3, 2.5e300, 1e308, 5e-324, -1e-7,
	    999999, 1e100, NAN, INFINITY};
	static const int64_t edges[] = {0,
	                                1,
	                                10,
	                                100,
	                                999,
	                                1000,
	                                1001,
	                                INT64_C(999999999999999),
	                                INT64_C(1000000000000000),
	                                INT64_C(1000000000000001),
	                                INT64_C(1771234567890123456),
	                                INT64_C(1771234567890123000),
	                                INT64_MAX,
	                                -INT64_MAX};
	SB_BUF_AUTO b;

	(void)state;
	sb_buf_init(&b, 1000);
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
		json_put_real(&b, NULL, reals[i]);
		expect(&b, json_real_or_null(reals[i]));
	}
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		json_put_us(&b, NULL, edges[i]);
		expect(&b, json_us(edges[i]));
		json_put_us(&b, NULL, -edges[i]);
		expect(&b, json_us(-edges[i]));
		json_put_int(&b, NULL, edges[i]);
		expect(&b, json_integer(edges[i]));
	}
	json_put_us(&b, NULL, SB_NULL);
	expect(&b, json_null());
}

static void random_numbers_too(void **state)
{
	uint64_t seed = 5;
	SB_BUF_AUTO b;

	(void)state;
	sb_buf_init(&b, 1000);
	for (int i = 0; i < 200000; i++) {
		/* of every length */
		int64_t v = (int64_t)(sb_random(&seed) >> (i % 63 + 1)) * (i & 64 ? 1 : -1);
		uint64_t bits = sb_random(&seed);
		double real;

		json_put_us(&b, NULL, v);
		expect(&b, json_us(v));
		memcpy(&real, &bits, sizeof(real));
		json_put_real(&b, NULL, real);
		expect(&b, json_real_or_null(real));
		json_put_real(&b, NULL, (double)v / 1000);
		expect(&b, json_real_or_null((double)v / 1000));
	}
}

static void texts_are_those_of_jansson(void **state)
{
	uint64_t seed = 9;
	SB_BUF_AUTO b;
	char text[300];

	(void)state;
	sb_buf_init(&b, 100000);
	for (int c = 0; c < 256; c++) {
		text[0] = (char)c;
		json_put_text(&b, NULL, text, 1);
		expect(&b, json_text(text, 1));
	}
	for (int i = 0; i < 20000; i++) {
		size_t n = sb_random(&seed) % sizeof(text);

		for (size_t k = 0; k < n; k++)
			text[k] = (char)(sb_random(&seed) % (i & 1 ? 128 : 256));
		json_put_text(&b, NULL, text, n);
		expect(&b, json_text(text, n));
	}
}

static void a_full_buffer_tells_it(void **state)
{
	SB_BUF_AUTO b;

	(void)state;
	sb_buf_init(&b, 10);
	json_put_open(&b, NULL, '[');
	for (int i = 0; i < 10; i++)
		json_put_int(&b, NULL, 1000);
	assert_int_equal(b.status, SB_ELIMIT);
	assert_true(b.len <= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commas_stand_between),   cmocka_unit_test(numbers_are_those_of_jansson),
	    cmocka_unit_test(random_numbers_too),     cmocka_unit_test(texts_are_those_of_jansson),
	    cmocka_unit_test(a_full_buffer_tells_it),
	};

	return cmocka_run_group_tests_name("json text", tests, NULL, NULL);
}
