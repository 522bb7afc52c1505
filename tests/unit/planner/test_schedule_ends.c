#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

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
	rc = schedule_program_build(s, &p, NULL); /* some short groups deadlock */
	if (rc == SB_OK)
		assert_int_equal(schedule_simulate(&p, &t, &r, NULL), SB_OK);
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

/* The interleaved order of a device written out once more (Narayanan et al., SC21, section 2.2): its k-th
 * pass one way, of groups of p micro-batches that take turns on the chunks, the last group as long as it is.
 */
struct unit {
	int64_t stage, micro_batch;
};
static struct unit unit_of(const struct schedule_shape *s, int64_t device, int64_t k, bool forward)
{
	int64_t p = s->devices, group = k / (p * s->chunks), in = k % (p * s->chunks);
	int64_t size = group < s->micro_batches / p ? p : s->micro_batches % p, chunk = in / size;

	return (struct unit){(forward ? chunk : s->chunks - 1 - chunk) * p + device, group * p + in % size};
}

/* Does every device come to the end of its list, each pass once those that it needs are done? */
static bool comes_to_its_end(const struct schedule_shape *s)
{
	static bool forward[MOST_DEVICES * MOST_CHUNKS][7 * MOST_DEVICES],
	    backward[MOST_DEVICES * MOST_CHUNKS][7 * MOST_DEVICES];
	int64_t forwards[MOST_DEVICES] = {0}, backwards[MOST_DEVICES] = {0};
	int64_t all = s->micro_batches * s->chunks, cells = s->devices * s->chunks,
	        left = 2 * all * s->devices;
	bool moved = true;

	memset(forward, 0, sizeof(forward));
	memset(backward, 0, sizeof(backward));
	while (moved) {
		moved = false;
		for (int64_t d = 0; d < s->devices; d++) {
			int64_t ahead = (s->chunks - 1) * s->devices + 2 * (s->devices - 1 - d) + 1;
			bool next = forwards[d] < all && forwards[d] - backwards[d] < ahead;
			struct unit u;

			if (backwards[d] == all)
				continue;
			u = unit_of(s, d, next ? forwards[d] : backwards[d], next);
			if (next ? u.stage > 0 && !forward[u.stage - 1][u.micro_batch]
			         : !forward[u.stage][u.micro_batch] ||
			               (u.stage < cells - 1 && !backward[u.stage + 1][u.micro_batch]))
				continue;
			(next ? forward : backward)[u.stage][u.micro_batch] = true;
			(next ? forwards : backwards)[d]++;
			left--;
			moved = true;
		}
	}
	return left == 0;
}

static void test_short_last_groups(void **state)
{
	int deadlocks = 0;

	(void)state;
	for (int64_t p = 2; p <= MOST_DEVICES; p++) {
		for (int64_t chunks = 2; chunks <= MOST_CHUNKS; chunks++) {
			for (int64_t m = 1; m < 7 * p; m++) {
				const struct schedule_shape s = {SCHEDULE_INTERLEAVED, p, m, chunks, 1};
				bool ends = comes_to_its_end(&s);

				if (schedule_interleaves(p, chunks, m) != ends ||
				    (schedule_check(&s, NULL) == SB_OK) != ends)
					fail_msg("%lld devices, %lld chunks, %lld micro-batches",
					         (long long)p, (long long)chunks, (long long)m);
				deadlocks += !ends;
			}
		}
	}
	assert_true(deadlocks > 0);
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
	    cmocka_unit_test(test_impossible_shapes),       cmocka_unit_test(test_short_last_groups),
	};

	return cmocka_run_group_tests_name("ends of schedules", tests, NULL, NULL);
}
