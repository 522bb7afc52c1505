#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "planner/cost/calibrate.h"

static const struct measured_line NOTHING = {NAN, NAN, NAN, 0};

static struct measured nothing(void)
{
	struct measured m = {NOTHING, NAN,     NAN,     NOTHING,
	                     NOTHING, NOTHING, NOTHING, {NOTHING, NOTHING, NOTHING}};

	return m;
}

static const struct cluster CLUSTER = {
    .device = {.peak_flops = 100e12, .memory_bandwidth = 2e12},
    .links = {[LINK_NODE] = {.bytes_per_second = 300e9}, [LINK_CLUSTER] = {.bytes_per_second = 25e9}},
    .compute_efficiency = NAN,
    .memory_efficiency = NAN,
    .link_efficiency = {NAN, NAN, NAN}};

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-12 * fabs(wanted);
}

static void each_constant_from_its_measure(void **state)
{
	struct constants now = constants_for(&CLUSTER);
	struct calibrated out[CALIBRATED_CONSTANTS];
	struct measured m = nothing();

	(void)state;
	/* seconds = 100 us + FLOP / 75e12: (FLOP + 7.5e9) / 75e12 */
	m.products = (struct measured_line){75e12, 100e-6, 0.02, 40};
	m.product_most = 1e11;
	m.gaps = (struct measured_line){NAN, 2e-6, NAN, 1000};
	m.attention = (struct measured_line){45e12, NAN, NAN, 10};
	m.element_wise = (struct measured_line){1.5e12, NAN, NAN, 10};
	m.overlap = (struct measured_line){NAN, 1.2, NAN, 4};
	m.links[LINK_NODE] = (struct measured_line){240e9, 20e-6, 0.1, 6};
	m.links[LINK_SUPERNODE] = (struct measured_line){100e9, NAN, NAN, 6}; /* there is no such link */
	m.links[LINK_CLUSTER] = (struct measured_line){20e9, NAN, NAN, 6};
	calibrate(&CLUSTER, &now, &m, 1, out);
	assert_true(near(out[CALIBRATED_GEMM_SHARE].value, 0.75));
	assert_true(out[CALIBRATED_GEMM_SHARE].error == 0.02 && out[CALIBRATED_GEMM_SHARE].calls == 40);
	assert_true(near(out[CALIBRATED_GEMM_HALF_FLOP].value, 7.5e9));
	assert_true(near(out[CALIBRATED_LAUNCH_SECONDS].value, 2e-6));
	assert_true(isnan(out[CALIBRATED_LAUNCH_SECONDS].error));
	assert_true(near(out[CALIBRATED_FLASH_SHARE].value, 0.45));
	assert_true(near(out[CALIBRATED_MEMORY_SHARE].value, 0.75));
	assert_true(near(out[CALIBRATED_OVERLAP_SLOWDOWN].value, 1.2));
	assert_true(near(out[CALIBRATED_NODE_SHARE].value, 0.8));
	assert_true(isnan(out[CALIBRATED_SUPERNODE_SHARE].value));
	assert_true(near(out[CALIBRATED_NETWORK_SHARE].value, 0.8));
}

/* Products of one size, 60 GFLOP in 1 ms: with half_flop at 15e9 these count as (60^1.5 + 1.82843 x
 * 15^1.5)^(2/3) = (464.758 + 106.222)^(2/3) = 68.826 GFLOP, and 68.826e9 / (100e12 x share) = 1 ms. */
static void products_of_one_size_tell_the_share(void **state)
{
	struct constants now = constants_for(&CLUSTER);
	struct calibrated out[CALIBRATED_CONSTANTS];
	struct measured m = nothing();

	(void)state;
	now.gemm_half_flop = 15e9;
	m.products = (struct measured_line){60e12, NAN, NAN, 3};
	m.product_flop = 60e9;
	calibrate(&CLUSTER, &now, &m, 1, out);
	assert_true(fabs(out[CALIBRATED_GEMM_SHARE].value - 0.68826) < 1e-5);
	assert_true(isnan(out[CALIBRATED_GEMM_HALF_FLOP].value));
	for (int k = CALIBRATED_LAUNCH_SECONDS; k < CALIBRATED_CONSTANTS; k++)
		assert_true(isnan(out[k].value) && out[k].calls == 0);
}

/* With half_flop at 15e9, products of 14e9 spend more than half of their time on how they start. */
static void small_products_tell_no_share(void **state)
{
	struct constants now = constants_for(&CLUSTER);
	struct calibrated out[CALIBRATED_CONSTANTS];
	struct measured m = nothing();

	(void)state;
	now.gemm_half_flop = 15e9;
	for (int line = 0; line < 2; line++) {
		m.products = (struct measured_line){20e12, line ? 1e-6 : NAN, NAN, 3};
		m.product_flop = m.product_most = 14e9;
		calibrate(&CLUSTER, &now, &m, 1, out);
		assert_true(isnan(out[CALIBRATED_GEMM_SHARE].value));
		assert_true(isnan(out[CALIBRATED_GEMM_HALF_FLOP].value));
		m.product_flop = m.product_most = 15e9;
		calibrate(&CLUSTER, &now, &m, 1, out);
		/* twice the rate where the mean is half of it; the line has its own */
		assert_true(near(out[CALIBRATED_GEMM_SHARE].value, line ? 0.2 : 0.4));
	}
}

static void profiles_are_weighed_by_their_calls(void **state)
{
	struct constants now = constants_for(&CLUSTER);
	struct calibrated out[CALIBRATED_CONSTANTS];
	struct measured m[3] = {nothing(), nothing(), nothing()};

	(void)state;
	m[0].links[LINK_NODE] = (struct measured_line){150e9, 0, 0.01, 30};
	m[2].links[LINK_NODE] = (struct measured_line){270e9, 0, 0.03, 10};
	calibrate(&CLUSTER, &now, m, 3, out);
	/* (0.5 x 30 + 0.9 x 10) / 40 = 0.6; the second lies 0.3 above it, half as much again */
	assert_true(near(out[CALIBRATED_NODE_SHARE].value, 0.6));
	assert_true(fabs(out[CALIBRATED_NODE_SHARE].error - 0.5) < 1e-12);
	assert_true(out[CALIBRATED_NODE_SHARE].calls == 40);
}

/* Communication that makes compute no slower is measured as 0.99 now and then. */
static void no_slowdown_is_below_one(void **state)
{
	struct constants now = constants_for(&CLUSTER);
	struct calibrated out[CALIBRATED_CONSTANTS];
	struct measured m = nothing();

	(void)state;
	m.overlap = (struct measured_line){NAN, 0.99, NAN, 4};
	calibrate(&CLUSTER, &now, &m, 1, out);
	assert_true(out[CALIBRATED_OVERLAP_SLOWDOWN].value == 1);
}

static void names_are_those_of_the_constants(void **state)
{
	(void)state;
	assert_string_equal(calibrated_name(CALIBRATED_GEMM_SHARE), "gemm_share");
	assert_string_equal(calibrated_name(CALIBRATED_OVERLAP_SLOWDOWN), "overlap_slowdown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_constant_from_its_measure),
	    cmocka_unit_test(products_of_one_size_tell_the_share),
	    cmocka_unit_test(small_products_tell_no_share),
	    cmocka_unit_test(profiles_are_weighed_by_their_calls),
	    cmocka_unit_test(no_slowdown_is_below_one),
	    cmocka_unit_test(names_are_those_of_the_constants),
	};

	return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
