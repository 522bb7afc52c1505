#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/schedule.h"

#define MOST 64

static double makespan(enum schedule_kind kind, int64_t stages, int64_t micro_batches, int64_t chunks,
                       double forward, double backward, int64_t *peak)
{
	double f[MOST], b[MOST];
	struct schedule_problem p = {kind, stages, micro_batches, chunks, f, b, 0};
	struct schedule_result r = {.peak_units = peak};

	for (int64_t i = 0; i < stages * chunks; i++) {
		f[i] = forward / (double)chunks;
		b[i] = backward / (double)chunks;
	}
	assert_int_equal(schedule_simulate(&p, &r, NULL), SB_OK);
	return r.makespan;
}

/* Equal stages: (m + p - 1) t; interleaved m t + (p - 1) t / v (cost-model section 10). */
static void test_equal_stages(void **state)
{
	(void)state;
	assert_true(makespan(SCHEDULE_1F1B, 8, 64, 1, 1, 2, NULL) == (64 + 7) * 3.0);
	assert_true(makespan(SCHEDULE_GPIPE, 4, 8, 1, 1, 2, NULL) == (8 + 3) * 3.0);
	assert_true(fabs(makespan(SCHEDULE_INTERLEAVED, 8, 64, 2, 1, 2, NULL) - (64 * 3 + 7 * 1.5)) < 1e-9);
	assert_true(fabs(makespan(SCHEDULE_INTERLEAVED, 4, 32, 4, 1, 2, NULL) - (32 * 3 + 3 * 0.75)) < 1e-9);
	assert_true(makespan(SCHEDULE_1F1B, 1, 5, 1, 1, 2, NULL) == 15);
}

/* Section 14.4. */
static void test_in_flight(void **state)
{
	int64_t peak[8];

	(void)state;
	makespan(SCHEDULE_1F1B, 8, 32, 1, 1, 2, peak);
	for (int i = 0; i < 8; i++)
		assert_int_equal(peak[i], 8 - i);
	makespan(SCHEDULE_INTERLEAVED, 8, 32, 3, 1, 2, peak);
	for (int i = 0; i < 8; i++)
		assert_int_equal(peak[i], 31 - 2 * i);
	makespan(SCHEDULE_GPIPE, 2, 5, 1, 1, 2, peak);
	assert_int_equal(peak[0], 5);
}

/* Two stages, by hand: F 1 and 2, B 2 and 4, three micro-batches. Stage 1 is busy from 1 to 19, then stage 0
 * runs its last backward. */
static void test_uneven(void **state)
{
	double f[] = {1, 2}, b[] = {2, 4}, end[2] = {0};
	struct schedule_problem p = {SCHEDULE_1F1B, 2, 3, 1, f, b, 0};
	struct schedule_result r = {.stage_end = end};

	(void)state;
	assert_int_equal(schedule_simulate(&p, &r, NULL), SB_OK);
	assert_true(end[1] == 19);
	assert_true(r.makespan == 21);
}

static void test_short_last_group(void **state)
{
	int64_t peak[4];

	(void)state;
	/* 10 micro-batches on 4 stages: the last group has two; it must end, and no sooner than the work. */
	assert_true(makespan(SCHEDULE_INTERLEAVED, 4, 10, 2, 1, 2, peak) >= 30);
}

static void test_refuses_nonsense(void **state)
{
	double x = 1;
	struct schedule_problem p = {SCHEDULE_1F1B, 0, 1, 1, &x, &x, 0};
	struct schedule_result r = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(schedule_simulate(&p, &r, &err), SB_EINVAL);
	p.stages = 1;
	p.micro_batches = (int64_t)1 << 40;
	assert_int_equal(schedule_simulate(&p, &r, &err), SB_ELIMIT);
	p.micro_batches = 1;
	p.chunks = 2;
	assert_int_equal(schedule_simulate(&p, &r, &err), SB_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_stages),     cmocka_unit_test(test_in_flight),
	    cmocka_unit_test(test_uneven),           cmocka_unit_test(test_short_last_group),
	    cmocka_unit_test(test_refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
