#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "profiler/outlier.h"

/* Dixon's low-side test at 99.5 %: ratios by hand, critical values from the published table. */

static void critical_values_are_those_of_the_table(void **state)
{
	static const struct {
		size_t n;
		double critical;
	} listed[] = {{3, .994},  {4, .920},  {5, .823},  {6, .744},  {7, .680},  {8, .723},
	              {9, .676},  {10, .638}, {11, .707}, {12, .675}, {13, .649}, {14, .672},
	              {16, .629}, {20, .568}, {32, .473}, {100, .341}};

	(void)state;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		assert_float_equal(outlier_dixon_critical(listed[i].n), listed[i].critical, 1e-12);
	/* the published values of n that are not listed here: 15, 25, 30, 60, 90 */
	assert_float_equal(outlier_dixon_critical(15), .649, .003);
	assert_float_equal(outlier_dixon_critical(25), .519, .003);
	assert_float_equal(outlier_dixon_critical(30), .484, .003);
	assert_float_equal(outlier_dixon_critical(60), .388, .003);
	assert_float_equal(outlier_dixon_critical(90), .350, .003);
}

static void is(double *values, size_t n, double ratio, int found)
{
	struct outlier o = outlier_low(values, n);

	assert_true(o.decided);
	assert_float_equal(o.ratio, ratio, 1e-12);
	assert_int_equal(o.found, found);
}

static void each_size_has_its_ratio(void **state)
{
	/* (x2 - x1) / (xn - x1) */
	double four[] = {100, 8, 99, 98}, near4[] = {100, 20, 99, 92};
	/* (x2 - x1) / (x[n-1] - x1): the largest does not count */
	double eight[] = {900, 0, 100, 101, 102, 103, 104, 105};
	/* (x3 - x1) / (x[n-1] - x1): nor does the second */
	double eleven[] = {900, 0, 1, 100, 101, 102, 103, 104, 105, 106, 107};
	/* (x3 - x1) / (x[n-2] - x1) */
	double fourteen[] = {900, 901, 0, 1, 60, 61, 62, 63, 64, 65, 66, 67, 68, 100};

	(void)state;
	is(four, 4, 90.0 / 92, 1);
	is(near4, 4, 72.0 / 80, 0);
	is(eight, 8, 100.0 / 105, 1);
	is(eleven, 11, 100.0 / 107, 1);
	is(fourteen, 14, 60.0 / 100, 0);
}

static void the_eight_ranks_of_the_page_name_nobody(void **state)
{
	/* column Communication of mpa_fixtures, ms: the page gives 0.2019 */
	double ranks[] = {689.255834, 133.462457, 532.336072, 267.350040,
	                  480.702390, 763.600770, 245.691950, 541.416290};

	(void)state;
	struct outlier o = outlier_low(ranks, 8);

	assert_true(o.decided && !o.found);
	assert_float_equal(o.ratio, 0.2019, 5e-5);
}

static void few_or_equal_values_say_nothing(void **state)
{
	double two[] = {1, 100}, three[] = {1, 100, 101}, equal[] = {7, 7, 7, 7, 7, 7},
	       few[] = {1, 100, 100, 100, 101};

	(void)state;
	assert_false(outlier_low(two, 2).decided);
	assert_false(outlier_low(three, 3).decided);
	assert_false(outlier_low(equal, 6).decided);
	assert_false(outlier_low(few, 5).decided);
	assert_false(outlier_low(NULL, 0).decided);
}

static void above_a_hundred_three_sigmas_decide(void **state)
{
	double values[121], equal[121];

	(void)state;
	for (int i = 0; i < 121; i++) {
		values[i] = i == 60 ? 0 : 10;
		equal[i] = 10;
	}
	/* mean 10 * 120/121, sigma = 10 * sqrt(120)/121: the ratio is sqrt(120) */
	is(values, 121, sqrt(120), 1);
	is(equal, 121, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(critical_values_are_those_of_the_table),
	    cmocka_unit_test(each_size_has_its_ratio),
	    cmocka_unit_test(the_eight_ranks_of_the_page_name_nobody),
	    cmocka_unit_test(few_or_equal_values_say_nothing),
	    cmocka_unit_test(above_a_hundred_three_sigmas_decide),
	};

	return cmocka_run_group_tests_name("outlier", tests, NULL, NULL);
}
