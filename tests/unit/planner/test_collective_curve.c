#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/network/collective_curve.h"

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void test_curve(void **state)
{
	/* unordered, a size twice (mean 4), and a time that falls */
	const struct curve_row rows[] = {{40, 7}, {10, 3}, {20, 5}, {10, 5}, {30, 4}};
	const struct curve_row flat[] = {{10, 2}, {20, 2}};
	CURVE_AUTO c = {0};
	CURVE_AUTO f = {0};
	CURVE_AUTO one = {0};
	CURVE_AUTO link = {0};

	(void)state;
	assert_int_equal(curve_from_rows(rows, 5, &c, NULL), SB_OK);
	assert_true(c.raised && c.measured_to == 40);
	assert_true(close_to(curve_seconds(&c, 1), 4) && close_to(curve_seconds(&c, 10), 4));
	assert_true(close_to(curve_seconds(&c, 15), 4.5) && close_to(curve_seconds(&c, 20), 5));
	assert_true(close_to(curve_seconds(&c, 30), 5) && close_to(curve_seconds(&c, 35), 6));
	assert_true(close_to(curve_seconds(&c, 60), 11)); /* on by 2 every 10 */
	assert_int_equal(curve_from_rows(flat, 2, &f, NULL), SB_OK);
	assert_true(!f.raised && close_to(curve_seconds(&f, 40), 4)); /* in proportion */
	assert_int_equal(curve_from_rows(flat, 1, &one, NULL), SB_OK);
	assert_true(close_to(curve_seconds(&one, 5), 2) && close_to(curve_seconds(&one, 15), 3));
	assert_int_equal(curve_from_link(0.5, 100, &link, NULL), SB_OK);
	assert_true(close_to(curve_seconds(&link, 50), 1) && isinf(link.measured_to));
}

static void test_hostile(void **state)
{
	struct curve_row rows[] = {{1, 1}, {-1, 1}};
	CURVE_AUTO c = {0};

	(void)state;
	assert_int_equal(curve_from_link(NAN, 1, &c, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(curve_from_link(0, 0, &c, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(curve_from_link(0, INFINITY, &c, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(curve_from_rows(rows, 0, &c, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(curve_from_rows(rows, 2, &c, NULL), SB_EIMPOSSIBLE);
	rows[1] = (struct curve_row){2, NAN};
	assert_int_equal(curve_from_rows(rows, 2, &c, NULL), SB_EIMPOSSIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_curve),
	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
