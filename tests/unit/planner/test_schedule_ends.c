#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "planner/schedule/schedule.h"

#define MOST_DEVICES 12
#define MOST_CHUNKS 5

static uint64_t seed = 11;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

static void test_two_stages_by_hand(void **state)
{
	const struct schedule_shape s = {SCHEDULE_1F1B, 2, 2, 1, 1};
	double end[2];

	(void)state;
	/* Stage 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7. Stage 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9. */
	assert_int_equal(schedule_ends(&s, (const double[]){1, 1}, (const double[]){2, 2}, end, NULL), SB_OK);
	assert_true(end[0] == 9 && end[1] == 7);
}

/* Narayanan et al., SC21, section 2.2: the bubble of equal chunks is (p - 1) x (t_f + t_b) of one chunk. */
static void test_interleaved_bubble(void **state)
{
	const struct schedule_shape s = {SCHEDULE_INTERLEAVED, 4, 8, 3, 1};
	double forward[12], backward[12], end[4];

	(void)state;
	for (int i = 0; i < 12; i++) {
		forward[i] = 1;
		backward[i] = 2;
	}
	assert_int_equal(schedule_ends(&s, forward, backward, end, NULL), SB_OK);
	assert_true(end[0] == 8 * 3 * 3 + 3 * 3);
	assert_true(end[3] == end[0] - 3 * 2); /* its last gradient goes back over three stages */
}

static void assert_as_simulated(const struct schedule_shape *s)
{
	double forward[MOST_DEVICES * MOST_CHUNKS], backward[MOST_DEVICES * MOST_CHUNKS];
	double end[MOST_DEVICES], simulated[MOST_DEVICES];
	const struct schedule_times t = {.forward = forward, .backward = backward};
	struct schedule_result r = {.end = simulated};
	SCHEDULE_PROGRAM_AUTO p = {0};
	int rc;

	for (int64_t i = 0; i < s->devices * s->chunks; i++) {
		forward[i] = (double)pick(0, 1000) / 7;
		backward[i] = (double)pick(0, 1000) / 7;
	}
	assert_int_equal(schedule_program_build(s, &p, NULL), SB_OK);
	rc = schedule_simulate(&p, &t, &r, NULL); /* some short groups deadlock */
	assert_int_equal(schedule_ends(s, forward, backward, end, NULL), rc);
	for (int64_t d = 0; rc == SB_OK && d < s->devices; d++)
		assert_true(end[d] == simulated[d]);
}

/* Few and many micro-batches, groups of the interleaved schedule full and not, uneven stages. */
static void test_equal_to_the_simulation(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		const struct schedule_shape straight = {SCHEDULE_1F1B, pick(1, MOST_DEVICES), pick(1, 40), 1,
		                                        1};
		struct schedule_shape ring = {SCHEDULE_INTERLEAVED, pick(1, MOST_DEVICES), pick(1, 40),
		                              pick(2, MOST_CHUNKS), 1};

		assert_as_simulated(&straight);
		if (i % 3 != 0)
			ring.micro_batches = ring.devices * pick(1, 6);
		else if (ring.micro_batches < 2 * ring.devices)
			ring.micro_batches += 2 * ring.devices;
		assert_as_simulated(&ring);
	}
}

static void test_other_schedules(void **state)
{
	const struct schedule_shape gpipe = {SCHEDULE_GPIPE, 5, 9, 1, 1};

	(void)state;
	assert_as_simulated(&gpipe);
}

static void test_impossible_shapes(void **state)
{
	const struct schedule_shape none = {SCHEDULE_1F1B, 2, 0, 1, 1},
	                            one = {SCHEDULE_INTERLEAVED, 2, 2, 1, 1};
	double end[2] = {0};

	(void)state;
	assert_int_equal(schedule_ends(&none, end, end, end, NULL), SB_EIMPOSSIBLE);
	assert_int_equal(schedule_ends(&one, end, end, end, NULL), SB_EIMPOSSIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two_stages_by_hand),      cmocka_unit_test(test_interleaved_bubble),
	    cmocka_unit_test(test_equal_to_the_simulation), cmocka_unit_test(test_other_schedules),
	    cmocka_unit_test(test_impossible_shapes),
	};

	return cmocka_run_group_tests_name("ends of schedules", tests, NULL, NULL);
}
