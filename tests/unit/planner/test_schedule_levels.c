#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/schedule/schedule.h"

#define MOST 512

static size_t levels(struct schedule_shape shape, double forward, double backward, const double *activation,
                     double from, double to, size_t most, struct schedule_level *out)
{
	static double op_start[1 << 16];
	const double f[] = {forward, forward}, b[] = {backward, backward};
	struct schedule_times t = {.forward = f, .backward = b};
	struct schedule_result r = {.op_start = op_start};
	SCHEDULE_PROGRAM_AUTO p = {0};

	assert_int_equal(schedule_program_build(&shape, &p, NULL), SB_OK);
	assert_true(p.first[shape.devices] <= 1 << 16);
	assert_int_equal(schedule_simulate(&p, &t, &r, NULL), SB_OK);
	return schedule_levels(&p, &t, op_start, activation, 0, from, to, most, out);
}

static void are(const struct schedule_level *list, size_t count, const double (*expected)[2], size_t n)
{
	assert_int_equal(count, n);
	for (size_t i = 0; i < n; i++)
		if (list[i].time != expected[i][0] || list[i].held != expected[i][1])
			fail_msg("point %zu: %g at %g", i, list[i].held, list[i].time);
}
#define ARE(list, count, ...)                                                                                \
	do {                                                                                                 \
		const double expected[][2] = {__VA_ARGS__};                                                  \
		are(list, count, expected, sizeof(expected) / sizeof(expected[0]));                          \
	} while (0)

static struct schedule_shape gpipe(int64_t micro_batches)
{
	return (struct schedule_shape){SCHEDULE_GPIPE, 1, micro_batches, 1, 1};
}

/* One device: forwards 0-1, 1-2, then backwards 2-4, 4-6. */
static void steps(void **state)
{
	const double seven = 7;
	struct schedule_level out[MOST + 2];
	size_t n = levels(gpipe(2), 1, 2, NULL, 0, 6, MOST, out);

	(void)state;
	ARE(out, n, {0, 1}, {1, 2}, {4, 1}, {6, 0});
	n = levels(gpipe(2), 1, 2, &seven, 0, 6, MOST, out);
	ARE(out, n, {0, 7}, {1, 14}, {4, 7}, {6, 0});
	/* a part: what was there at its begin, and nothing behind its end */
	n = levels(gpipe(2), 1, 2, NULL, 0.5, 5, MOST, out);
	ARE(out, n, {0.5, 1}, {1, 2}, {4, 1});
	n = levels(gpipe(2), 1, 2, NULL, 2, 3, MOST, out);
	ARE(out, n, {2, 2});
	n = levels(gpipe(2), 1, 2, NULL, 4, 4, MOST, out);
	ARE(out, n, {4, 2}, {4, 1});
}

/* One device of 1F1B frees a unit at the instant in which it takes the next: no dip. */
static void no_dips(void **state)
{
	struct schedule_shape one = {SCHEDULE_1F1B, 1, 5, 1, 1};
	struct schedule_level out[MOST + 2];
	size_t n = levels(one, 1, 2, NULL, 0, 15, MOST, out);

	(void)state;
	ARE(out, n, {0, 1}, {15, 0});
}

/* All at one instant: the highest level is still there. */
static void no_time(void **state)
{
	struct schedule_level out[MOST + 2];
	size_t n = levels(gpipe(3), 0, 0, NULL, 0, 0, MOST, out);

	(void)state;
	ARE(out, n, {0, 3}, {0, 2}, {0, 1}, {0, 0});
	n = levels(gpipe(3), 0, 0, NULL, 0, 0, 4, out);
	ARE(out, n, {0, 3}, {0, 0});
}

/* Eight forwards of 1 and eight backwards of 1: up at 0..7, down at 9..16. Two columns, 0..8 and 8..16: the
 * first is highest at 7 and ends so; in the second 7 are left at 9, and none at 16. */
static void columns(void **state)
{
	struct schedule_level out[6];
	size_t n = levels(gpipe(8), 1, 1, NULL, 0, 16, 4, out);

	(void)state;
	ARE(out, n, {0, 1}, {7, 8}, {9, 7}, {16, 0});
}

/* However many changes there are, there is room, time never goes back, and the peak is that of the order. */
static void bounds(void **state)
{
	static const size_t rooms[] = {2, 3, 4, 7, 16, 255, MOST};

	(void)state;
	for (int64_t m = 1; m < 20000; m = m * 3 + 1) {
		for (size_t k = 0; k < sizeof(rooms) / sizeof(rooms[0]); k++) {
			struct schedule_level out[MOST + 2];
			size_t n = levels(gpipe(m), 0.3, 0.7, NULL, 0, (double)m + 1, rooms[k], out);
			double most = 0;

			assert_in_range(n, 1, rooms[k] + 2);
			for (size_t i = 0; i < n; i++) {
				most = fmax(most, out[i].held);
				assert_true(i == 0 || out[i].time >= out[i - 1].time);
			}
			assert_true(most == (double)m);
			assert_true(out[0].time == 0 && out[n - 1].held == 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(steps), cmocka_unit_test(no_dips),
	                                   cmocka_unit_test(no_time), cmocka_unit_test(columns),
	                                   cmocka_unit_test(bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
