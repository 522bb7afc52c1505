#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/network/gradient_fusion.h"

static bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-12;
}

/* Ready at 1, 2, 3, 6; each all-reduce takes 2: 1-3, 3-5, 5-7, 7-9, on a clock that starts at 100. */
static const struct fusion_measured busy[] = {
    {10, 101, 101, 103}, {20, 102, 103, 105}, {30, 103, 105, 107}, {40, 106, 107, 109}};

static void test_known_times_come_back(void **state)
{
	static const double wanted[] = {1, 1, 1, 3};
	struct fusion_gradient g[4];
	struct curve_row rows[4];

	(void)state;
	assert_int_equal(fusion_from_measured(busy, 4, 100, 106, g, rows, NULL), SB_OK);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(g[i].bytes, busy[i].bytes);
		assert_int_equal(rows[i].bytes, busy[i].bytes);
		assert_true(close_to(g[i].backward_seconds, wanted[i]));
		assert_true(close_to(rows[i].seconds, 2));
	}
}

/* The first was ready at its start; the last at the end of backward; between them nobody knows. */
static void test_a_busy_stretch_is_spread_evenly(void **state)
{
	static const double wanted[] = {1, 5. / 3, 5. / 3, 5. / 3};
	struct fusion_measured rows[4];
	struct fusion_gradient g[4];
	struct curve_row costs[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		rows[i] = busy[i];
		rows[i].ready_seconds = NAN;
	}
	assert_int_equal(fusion_from_measured(rows, 4, 100, 106, g, costs, NULL), SB_OK);
	for (int i = 0; i < 4; i++)
		assert_true(close_to(g[i].backward_seconds, wanted[i]));
	/* a gap before the third: it was ready at its start, 105.5 */
	rows[2].start_seconds = 105.5;
	assert_int_equal(fusion_from_measured(rows, 4, 100, 106, g, costs, NULL), SB_OK);
	assert_true(close_to(g[0].backward_seconds, 1) &&
	            close_to(g[1].backward_seconds, 2)); /* 2.25 is after its start */
	assert_true(close_to(g[2].backward_seconds, 2.5) && close_to(g[3].backward_seconds, 0.5));
	/* an end of backward that is before what is known moves nothing back */
	assert_int_equal(fusion_from_measured(rows, 4, 100, 100.5, g, costs, NULL), SB_OK);
	assert_true(close_to(g[2].backward_seconds, 2.5) && close_to(g[3].backward_seconds, 0));
}

/* The schedule that was measured is the plan "no fusion" of the problem made from it. */
static void test_the_measured_schedule_is_reproduced(void **state)
{
	struct fusion_gradient g[4];
	struct curve_row rows[4];
	struct fusion_problem p = {.gradients = g, .count = 4, .max_segment_bytes = INT64_MAX};
	FUSION_PLAN_AUTO plan = {0};
	struct fusion_event events[4];
	struct fusion_time t;

	(void)state;
	assert_int_equal(fusion_from_measured(busy, 4, 100, 106, g, rows, NULL), SB_OK);
	assert_int_equal(curve_from_rows(rows, 4, &p.cost, NULL), SB_OK);
	assert_int_equal(fusion_buckets(&p, 1, &plan), SB_OK);
	assert_int_equal(fusion_evaluate(&p, &plan, &t, events), SB_OK);
	for (int i = 0; i < 4; i++) {
		assert_true(close_to(events[i].start_seconds, busy[i].start_seconds - 100));
		assert_true(close_to(events[i].end_seconds, busy[i].end_seconds - 100));
	}
	curve_clear(&p.cost);
}

static void test_hostile(void **state)
{
	struct fusion_measured rows[2] = {{1, NAN, 0, 1}, {1, NAN, 2, 3}};
	struct fusion_gradient g[2];
	struct curve_row costs[2];

	(void)state;
	assert_int_equal(fusion_from_measured(rows, 2, 0, 2, g, costs, NULL), SB_OK);
	assert_int_equal(fusion_from_measured(rows, 0, 0, 2, g, costs, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(fusion_from_measured(rows, 2, 2, 0, g, costs, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(fusion_from_measured(rows, 2, NAN, 0, g, costs, NULL), SB_EIMPOSSIBLE);
	rows[1].end_seconds = 1;
	assert_int_equal(fusion_from_measured(rows, 2, 0, 2, g, costs, NULL), SB_EIMPOSSIBLE);
	rows[1] = (struct fusion_measured){1, NAN, -1, 3};
	assert_int_equal(fusion_from_measured(rows, 2, 0, 2, g, costs, NULL), SB_EIMPOSSIBLE);
	rows[1] = (struct fusion_measured){0, NAN, 2, 3};
	assert_int_equal(fusion_from_measured(rows, 2, 0, 2, g, costs, NULL), SB_EIMPOSSIBLE);
	rows[1] = (struct fusion_measured){1, INFINITY, 2, INFINITY};
	assert_int_equal(fusion_from_measured(rows, 2, 0, 2, g, costs, NULL), SB_EIMPOSSIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known_times_come_back),
	    cmocka_unit_test(test_a_busy_stretch_is_spread_evenly),
	    cmocka_unit_test(test_the_measured_schedule_is_reproduced),
	    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
