#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/scaling/lemma.h"

static bool near(double a, double b, double error)
{
	return fabs(a - b) <= error;
}

/* systems.md 3.19, check: R = .1 on 4 devices .7857 and 3.143x; R = .05 on 8 .75 and 6.0x; the limit is 11.
 */
static void test_lemma(void **state)
{
	struct scaling_lemma tenth = {1, 0.1}, twentieth = {2, 0.1}, none = {1, 0};

	(void)state;
	assert_true(near(lemma_efficiency(&tenth, 4), 0.7857, 5e-5));
	assert_true(near(4 * lemma_efficiency(&tenth, 4), 3.143, 5e-4));
	assert_true(near(lemma_efficiency(&twentieth, 8), 0.75, 1e-15));
	assert_true(near(8 * lemma_efficiency(&twentieth, 8), 6, 1e-14));
	assert_true(near(lemma_limit(&tenth), 11, 1e-12) && isinf(lemma_limit(&none)));
	/* the step and the speed-up say the same: 1.1 / (1/4 + .1) */
	assert_true(near(lemma_step(&tenth, 1) / lemma_step(&tenth, 4), 1.1 / 0.35, 1e-12));
}

/* R = .05: efficiency .75 is just reached by 8 devices; R = .1 keeps a half up to (1.1 / .5 - 1) / .1 = 12.
 */
static void test_most_devices(void **state)
{
	struct scaling_lemma tenth = {1, 0.1}, twentieth = {2, 0.1}, none = {1, 0};

	(void)state;
	assert_true(lemma_most_devices(&twentieth, 0.75) == 8);
	assert_true(lemma_most_devices(&tenth, SCALING_EFFICIENCY) == 12);
	assert_true(lemma_most_devices(&tenth, 1) == 1);
	assert_true(isinf(lemma_most_devices(&none, 0.9)));
	for (int r = 1; r <= 40; r++) {
		for (int e = 1; e <= 20; e++) {
			struct scaling_lemma l = {40, r};
			double share = e / 20.0, most = lemma_most_devices(&l, share);

			assert_true(most == 1 || lemma_efficiency(&l, most) >= share);
			assert_true(lemma_efficiency(&l, most + 1) < share);
		}
	}
}

/* Times made by the lemma give it back; times that fall faster than 1 / G have no overhead below 0. */
static void test_fit(void **state)
{
	struct scaling_lemma made = {12, 0.75}, found;
	struct scaling_point p[5] = {
	    {.devices = 3}, {.devices = 8}, {.devices = 1}, {.devices = 64}, {.devices = 8}};
	struct scaling_point steep[2] = {{1, 9}, {2, 3}}, rising[2] = {{1, 1}, {2, 4}};
	double error;

	(void)state;
	for (int i = 0; i < 5; i++)
		p[i].seconds = lemma_step(&made, (double)p[i].devices);
	assert_int_equal(lemma_fit(p, 5, &found, &error), SB_OK);
	assert_true(near(found.compute, 12, 1e-9) && near(found.overhead, 0.75, 1e-9) && error < 1e-9);
	/* u = 1/9 and 1/6: compute = (1/9 + 1/6) / (1/81 + 1/36) = 90 / 13, so 10/13 and 15/13 of the times
	 */
	assert_int_equal(lemma_fit(steep, 2, &found, &error), SB_OK);
	assert_true(near(found.compute, 90.0 / 13, 1e-12) && found.overhead == 0);
	assert_true(near(error, (3.0 / 13 + 2.0 / 13) / 2, 1e-12));
	/* v = 1 and 1/4: overhead = 1.25 / 1.0625 = 20 / 17 */
	assert_int_equal(lemma_fit(rising, 2, &found, &error), SB_OK);
	assert_true(found.compute == 0 && near(found.overhead, 20.0 / 17, 1e-12));
	assert_int_equal(lemma_fit(p, 1, &found, &error), SB_ENOENT);
	p[0] = p[1];
	assert_int_equal(lemma_fit(p, 2, &found, &error), SB_ENOENT);
}

/* Efficiencies 1, 8/10 = .8, 8/16 = .5, then .6 again: the knee is before the first that falls short. */
static void test_knee(void **state)
{
	const struct scaling_point p[] = {{1, 8}, {2, 5}, {4, 4}, {8, 8.0 / 4.8}};

	(void)state;
	assert_true(near(scaling_efficiency(&p[0], &p[3]), 0.6, 1e-12));
	assert_int_equal(scaling_knee(p, 4, 0.9), 0);
	assert_int_equal(scaling_knee(p, 4, 0.55), 1);
	assert_int_equal(scaling_knee(p, 4, 0.5), 3);
	assert_int_equal(scaling_knee(p, 1, 1), 0);
}

/* Backward ends at 1, 3, 4; all-reduces of 4, 1, 2: 1..5, 5..6, 6..8. Exposed 4. With 1, .5, .25 each hides
 * but the last: 4..4.25. capabilities.md 11: 93.5 % is an exposed time of 6.95 % of the step. */
static void test_overlap(void **state)
{
	const struct scaling_gradient slow[] = {{1, 4}, {2, 1}, {1, 2}},
	                              quick[] = {{1, 1}, {2, 0.5}, {1, 0.25}};
	struct scaling_overlap x = scaling_overlap(slow, 3);

	(void)state;
	assert_true(x.backward_end == 4 && x.all_reduce_end == 8 && x.exposed == 4);
	assert_true(scaling_overlap(quick, 3).exposed == 0.25);
	assert_true(scaling_overlap(quick, 0).exposed == 0);
	assert_true(near(1 / (1 + 0.0695), 0.935, 5e-5));
}

/* systems.md 3.19: 240 MB, 4 workers, 1.25 GB/s, 1 s: 1.536. */
static void test_servers(void **state)
{
	(void)state;
	assert_true(near(scaling_servers(240e6, 4, 1.25e9, 1), 1.536, 1e-12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lemma), cmocka_unit_test(test_most_devices), cmocka_unit_test(test_fit),
	    cmocka_unit_test(test_knee),  cmocka_unit_test(test_overlap),      cmocka_unit_test(test_servers),
	};

	return cmocka_run_group_tests_name("scaling", tests, NULL, NULL);
}
