#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

static int64_t scaled(const char *text, int digits)
{
	int64_t v = SB_NULL;

	assert_int_equal(sb_parse_scaled(text, strlen(text), digits, &v), SB_OK);
	return v;
}

static void times_keep_every_digit(void **state)
{
	(void)state;
	/* 19 significant digits: a double would be off by up to 125 ns (ascend-formats, rule 1) */
	assert_true(scaled("1736408883704643.212\t", 3) == INT64_C(1736408883704643212));
	assert_true(scaled(" 0.5 ", 3) == 500);
	assert_true(scaled("-1.25", 3) == -1250);
	assert_true(scaled("1.69512E+15", 3) == INT64_C(1695120000000000000));
	assert_true(scaled("79.08952021875", 6) == 79089520);
	assert_true(scaled("1e-2", 3) == 10);
	assert_true(scaled("000123", 0) == 123);
}

static void halves_go_to_even_and_dropped_digits_count(void **state)
{
	(void)state;
	assert_true(scaled("0.0005", 3) == 0);
	assert_true(scaled("0.0015", 3) == 2);
	assert_true(scaled("0.00050000000000000000000000001", 3) == 1);
	assert_true(scaled("1234567890123456789.49999", 0) == INT64_C(1234567890123456789));
	assert_true(scaled("1234567890123456789.5", 0) == INT64_C(1234567890123456790));
	assert_true(scaled("0.00000000000000000000000000001", 3) == 0);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const bad[] = {"",      " ",  "N/A",  "nan", "inf",   "0x10",
	                                  "1.2.3", "1e", "1e99", "--1", "1e+-2", "12a"};
	int64_t v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sb_parse_scaled(bad[i], strlen(bad[i]), 3, &v), SB_EINVAL);
	assert_int_equal(sb_parse_scaled("1e25", 4, 3, &v), SB_ELIMIT);
	assert_int_equal(sb_parse_scaled("9223372036854775808", 19, 0, &v), SB_ELIMIT);
	assert_true(v == 7);
}

static void integers_are_strict(void **state)
{
	int64_t v = 0;

	(void)state;
	assert_int_equal(sb_parse_int("-9223372036854775808", 20, &v), SB_OK);
	assert_true(v == INT64_MIN);
	assert_int_equal(sb_parse_int("9223372036854775807", 19, &v), SB_OK);
	assert_true(v == INT64_MAX);
	assert_int_equal(sb_parse_int("9223372036854775808", 19, &v), SB_EINVAL);
	assert_int_equal(sb_parse_int("", 0, &v), SB_EINVAL);
	assert_int_equal(sb_parse_int("-", 1, &v), SB_EINVAL);
	assert_int_equal(sb_parse_int("1 ", 2, &v), SB_EINVAL);
}

static void doubles_take_decimal_text_only(void **state)
{
	double v = 0;

	(void)state;
	assert_int_equal(sb_parse_double(" 0.23794471875\t", 15, &v), SB_OK);
	assert_true(v == 0.23794471875);
	assert_int_equal(sb_parse_double("nan", 3, &v), SB_EINVAL);
	assert_int_equal(sb_parse_double("1e999", 5, &v), SB_EINVAL);
	assert_int_equal(sb_parse_double("0x1p3", 5, &v), SB_EINVAL);
}

/* The short way through exact doubles gives the bits of strtod(), at its bounds too. */
static void doubles_are_the_nearest(void **state)
{
	static const char *const texts[] = {
	    "0",
	    "-0",
	    "-0.0",
	    "0.1",
	    "0.296",
	    "3e22",
	    "3e23",
	    "3e-22",
	    "3e-23",
	    "1.",
	    ".5",
	    "+7.25",
	    "1e-30",
	    "1e30",
	    "1e31",
	    "1e308",
	    "5e-324",
	    "9007199254740992",
	    "9007199254740993",
	    "9007199254740993e5",
	    "0.9007199254740993",
	    "18446744073709551615",
	    "18446744073709551616",
	    "123456789012345678901",
	    "0.30000000000000004441",
	    "1738454400123548.747",
	};
	char made[64];
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) + 20000; i++) {
		const char *text = i < 20000 ? made : texts[i - 20000];
		double got = 7, want;

		random = random * 6364136223846793005u + 1442695040888963407u;
		snprintf(made, sizeof(made), "%llu.%0*llu", (unsigned long long)(random >> (34 + i % 30)),
		         (int)(1 + i % 9), (unsigned long long)(random % 10));
		want = strtod(text, NULL);
		assert_int_equal(sb_parse_double(text, strlen(text), &got), SB_OK);
		/* the sign of zero too */
		if (got != want || signbit(got) != signbit(want))
			fail_msg("%s: %a, not %a", text, got, want);
	}
}

static void the_median_of_an_even_number_lies_between(void **state)
{
	double odd[] = {9, 1, 5}, even[] = {4, 1, 2, 9};

	(void)state;
	assert_float_equal(sb_median(odd, 3), 5, 0);
	assert_float_equal(sb_median(even, 4), 3, 0);
	assert_true(isnan(sb_median(NULL, 0)));
}

static void the_greatest_common_divisor(void **state)
{
	(void)state;
	assert_int_equal(sb_gcd(12, 18), 6);
	assert_int_equal(sb_gcd(18, 12), 6);
	assert_int_equal(sb_gcd(7, 13), 1);
	assert_int_equal(sb_gcd(5, 0), 5);
	assert_int_equal(sb_gcd(0, 5), 5);
	assert_int_equal(sb_gcd(0, 0), 0);
	assert_true(sb_gcd(INT64_C(1) << 62, INT64_C(3) << 40) == INT64_C(1) << 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_keep_every_digit),
	    cmocka_unit_test(halves_go_to_even_and_dropped_digits_count),
	    cmocka_unit_test(what_is_no_number_is_refused),
	    cmocka_unit_test(integers_are_strict),
	    cmocka_unit_test(doubles_take_decimal_text_only),
	    cmocka_unit_test(doubles_are_the_nearest),
	    cmocka_unit_test(the_greatest_common_divisor),
	    cmocka_unit_test(the_median_of_an_even_number_lies_between),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
