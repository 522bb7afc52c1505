#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "planner/batch/copus.h"
#include "planner/batch/joint.h"
#include "planner/batch/noise.h"
#include "planner/batch/variable.h"

/* systems.md 3.7, check. */
static const struct copus_row table[] = {{256, 100}, {512, 125}, {1024, 140}, {2048, 150}};
static const struct copus_rule with_root = {256, true, COPUS_THRESHOLD, 50};
static const struct copus_rule without_root = {256, false, COPUS_THRESHOLD, 50};

static bool near(double a, double b, double error)
{
	return fabs(a - b) <= error;
}

static void test_goodput(void **state)
{
	static const double at_512[] = {100, 132.58, 140, 127.28}, plain[] = {100, 93.75, 70, 45};

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_true(near(copus_goodput(&table[i], &with_root, 512), at_512[i], 5e-3));
		assert_true(near(copus_goodput(&table[i], &without_root, 512), plain[i], 1e-9));
	}
	assert_int_equal(copus_best(table, 4, &with_root, 512), 2);
	assert_int_equal(copus_best(table, 4, &with_root, 2048), 3);
	assert_int_equal(copus_best(table, 4, &with_root, 8192), 3);
	assert_int_equal(copus_best(table, 4, &without_root, 512), 0);
	assert_true(near(copus_goodput(&table[3], &with_root, 2048), 238.65, 5e-3));
	assert_true(near(copus_goodput(&table[3], &with_root, 8192), 350.02, 5e-3));
	/* with a flat throughput the best batch is the noise scale: sqrt(B) / (phi + B) is largest at B = phi
	 */
	for (int k = 1; k < 9; k++) {
		struct copus_row flat[9];

		for (int i = 0; i < 9; i++)
			flat[i] = (struct copus_row){64 << i, 7};
		assert_int_equal(copus_best(flat, 9, &with_root, 64 << k), k);
	}
}

/* The page's switch: 140.00 / 132.58 is 5.6 %, below 10 %. At 2048 the gain from 512 is large. */
static void test_schedule(void **state)
{
	const struct copus_point points[] = {{512, 3600}, {NAN, 3600}, {2048, 3600}, {2048, 10}};
	const struct copus_point late[] = {{512, 3600}, {2048, 20}}, unknown[] = {{512, NAN}, {2048, NAN}};
	struct copus_step s[4];
	double old = 125 * (2304.0 / 2560) * sqrt(2), new = 150 * (2304.0 / 4096) * sqrt(8);

	(void)state;
	copus_schedule(table, 4, &with_root, points, 4, 1, s);
	assert_true(s[0].row == 1 && s[0].best == 2 && s[0].reason == COPUS_THRESHOLD_NOT_MET);
	assert_true(near(s[0].gain, 0.056, 5e-4) && near(s[0].goodput, 132.58, 5e-3));
	assert_true(s[1].row == 1 && s[1].reason == COPUS_UNKNOWN && isnan(s[1].goodput));
	assert_true(s[2].row == 3 && s[2].reason == COPUS_SWITCH);
	assert_true(near(s[2].break_even, 50 * old / (new - old), 1e-9));
	assert_true(s[3].row == 3 && s[3].reason == COPUS_BEST);
	/* 50 s of change do not come back in 20 s; how long it lasts is not known: the threshold alone counts
	 */
	copus_schedule(table, 4, &with_root, late, 2, 1, s);
	assert_true(s[1].row == 1 && s[1].reason == COPUS_NOT_PAID);
	copus_schedule(table, 4, &with_root, unknown, 2, 1, s);
	assert_true(s[1].row == 3);
	/* nothing runs yet: the best of the first point */
	copus_schedule(table, 4, &with_root, points, 1, SIZE_MAX, s);
	assert_true(s[0].row == 2 && s[0].reason == COPUS_START && isnan(s[0].break_even));
}

/* Between the ends of the intervals the row is the best of all, for random tables with repeats. */
static void test_intervals(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct copus_row rows[24];
		struct copus_interval found[24];
		size_t count = 1 + (size_t)round % 24, n = 0;
		struct copus_rule rule = {32, round % 2 == 0, 0.1, 0};

		for (size_t i = 0; i < count; i++) {
			seed = seed * 1664525 + 1013904223;
			rows[i].batch = 32 << (seed >> 29);
			rows[i].throughput = 10 + (seed >> 16) % 64;
		}
		assert_int_equal(copus_intervals(rows, count, &rule, found, &n), SB_OK);
		assert_true(n >= 1 && found[0].from == 0 && isinf(found[n - 1].to));
		for (size_t i = 0; i < n; i++) {
			double middle =
			    isinf(found[i].to) ? 2 * found[i].from + 1e6 : (found[i].from + found[i].to) / 2;
			double own = copus_goodput(&rows[found[i].row], &rule, middle);

			assert_true(found[i].from <= found[i].to &&
			            (i == 0 || found[i].from == found[i - 1].to));
			for (size_t k = 0; k < count; k++)
				assert_true(copus_goodput(&rows[k], &rule, middle) <= own * (1 + 1e-12));
		}
	}
}

/* |G|^2 = 4 and tr(S) = 600, seen by batches of 10 and 100: |g_b|^2 = 4 + 600 / b = 64 and 10. */
static void test_noise(void **state)
{
	const struct noise_norms pairs[] = {
	    {10, 100, 8, sqrt(10)}, {10, 100, 8, sqrt(10)}, {10, 100, 1, 2}, {10, 100, 2, 0.1}};
	double out[4];

	(void)state;
	noise_scales(pairs, 4, 0, out);
	assert_true(near(out[0], 150, 1e-9) && near(out[1], 150, 1e-9));
	/* a large batch with the larger norm, and one with so small a norm that |G|^2 is below 0 */
	assert_true(isnan(out[2]) && isnan(out[3]));
	/* halves of old and new: |G|^2 = (4 + 4.333..) / 2, tr = (600 - 33.33..) / 2 */
	noise_scales(pairs + 1, 2, 0.5, out);
	assert_true(near(out[1], (600 - 3 / 0.09) / (4 + 390.0 / 90), 1e-9));
}

/* capabilities.md 11: 1,281,167 images, 1,024 devices at 400 a second, 24 ms exposed. */
static void test_stages(void **state)
{
	const struct batch_rate rate = {1281167, 1024, 400, 0.024};
	const struct batch_stage flat[] = {{90, 8192, NAN}};
	const struct batch_stage grown[] = {{30, 8192, NAN}, {30, 32768, NAN}, {30, 122880, NAN}};
	struct batch_time t = batch_time(&rate, flat, 1);

	(void)state;
	assert_true(t.iterations == 14076 && near(t.seconds, 619.3, 0.05));
	t = batch_time(&rate, grown, 3);
	assert_true(t.iterations == 6178 && near(t.seconds, 429.8, 0.05));
}

/* The batch doubles up to the noise scale, never beyond the most, never back; linear to 4 times, then by the
 * square root. */
static void test_growth(void **state)
{
	const struct batch_growth g = {256, 5000, 0.1, 1024};
	const double noise[] = {100, 300, 1100, NAN, 600, 1e9}, epochs[] = {1, 2, 3, 4, 5, 6};
	struct batch_stage s[6];

	(void)state;
	assert_int_equal(batch_grow(&g, noise, epochs, 6, s), 3);
	assert_true(s[0].batch == 256 && s[0].epochs == 3 && near(s[0].learning_rate, 0.1, 1e-15));
	assert_true(s[1].batch == 1024 && s[1].epochs == 12 && near(s[1].learning_rate, 0.4, 1e-15));
	assert_true(s[2].batch == 4096 && s[2].epochs == 6 && near(s[2].learning_rate, 0.8, 1e-15));
}

/* capabilities.md 11: c 0.5 us, f 0.1 s, noise 2e6: B* 632,456, factor 1.7325, 1.8906 at half and double. */
static void test_joint(void **state)
{
	const struct joint_step s = {0.1, 0.5e-6};
	double best = joint_best_batch(&s, 2e6);

	(void)state;
	assert_true(near(best, 632456, 0.5));
	assert_true(near(joint_seconds(&s, 2e6, best), 1.7325, 5e-5));
	assert_true(near(joint_seconds(&s, 2e6, best), pow(1 + sqrt(0.1), 2), 1e-12));
	assert_true(near(joint_seconds(&s, 2e6, best / 2), 1.8906, 5e-5));
	assert_true(near(joint_seconds(&s, 2e6, best * 2), 1.8906, 5e-5));
	for (int64_t unit = 1000; unit < 300000; unit += 7919) {
		int64_t found = joint_round(&s, 2e6, unit, 1, 3000000);
		double least = joint_seconds(&s, 2e6, (double)found);

		assert_true(found > 0 && found % unit == 0);
		for (int64_t b = unit; b <= 3000000; b += unit)
			assert_true(joint_seconds(&s, 2e6, (double)b) >= least);
	}
	assert_int_equal(joint_round(&s, 2e6, 1000, 700000, 900000), 700000);
	assert_int_equal(joint_round(&s, 2e6, 1000, 1, 500500), 500000);
	assert_int_equal(joint_round(&s, 2e6, 1000, 1, 999), 0);
	assert_int_equal(joint_round(&s, 2e6, 1000, 1001, 1999), 0);
}

static void test_joint_fit(void **state)
{
	struct joint_step s = joint_fit(100, 0.1 + 50, 300, 0.1 + 150);

	(void)state;
	assert_true(near(s.fixed, 0.1, 1e-9) && near(s.per_sample, 0.5, 1e-12));
	s = joint_fit(100, 40, 200, 100); /* steeper than through 0 */
	assert_true(s.fixed == 0 && s.per_sample == 0.5);
	s = joint_fit(100, 40, 200, 40);
	assert_true(s.fixed == 0 && s.per_sample == 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_goodput),   cmocka_unit_test(test_schedule),
	    cmocka_unit_test(test_intervals), cmocka_unit_test(test_noise),
	    cmocka_unit_test(test_stages),    cmocka_unit_test(test_growth),
	    cmocka_unit_test(test_joint),     cmocka_unit_test(test_joint_fit),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
