#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/pipeline/swap.h"

static const struct swap_problem small = {.devices = 2,
                                          .micro_batches = 4,
                                          .forward = 1,
                                          .backward = 2,
                                          .weights = 8,
                                          .gradients = 8,
                                          .activation = 1,
                                          .link = {0.25, 0},
                                          .host = {4, 0},
                                          .parts = 2};

static struct swap_comparison compared(const struct swap_problem *p)
{
	struct swap_comparison x;

	assert_int_equal(swap_compare(p, &x, NULL), SB_OK);
	return x;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Two micro-batches a device, two parts of 4 bytes: a load takes 1, what goes between the parts 2 / 4.
 * Forward 1 for each part, the load just hidden; backward 2 for each, the load of 1.5 hidden; 1 for the last
 * gradients: 7. */
static void test_swapping(void **state)
{
	struct swap_problem p = small;
	struct swap_comparison x = compared(&p);

	(void)state;
	assert_true(x.device_micro_batches == 2 && x.load == 1 && x.hiding_micro_batches == 2);
	assert_true(x.step[SWAP_BACKGROUND] == 7);
	/* a ring of two: 4 bytes there and 4 back at 0.25 a second */
	assert_true(x.exchange == 32 && x.step[SWAP_SYNCHRONOUS] == 39 && x.stale_steps == 5);
	assert_true(x.device_bytes[SWAP_PIPELINE] == 8 && x.device_bytes[SWAP_SYNCHRONOUS] == 12);
	/* a host four times as slow: loads of 4, and 4 + 2 in backward: 4 + 1 + 6 + 2 + 4 */
	p.host.bytes_per_second = 1;
	x = compared(&p);
	assert_true(x.step[SWAP_BACKGROUND] == 17 && x.hiding_micro_batches == 8);
	/* all of it on the device: nothing is loaded */
	p.parts = 1;
	x = compared(&p);
	assert_true(x.step[SWAP_BACKGROUND] == 6 && x.device_bytes[SWAP_SYNCHRONOUS] == 16);
}

/* Nothing to send: (m + p - 1) (f + b) / p = 5 * 1.5. Else all activations go over one link, 4 seconds each:
 * 3 more behind the first, which has two hops: 3 + 5 * 4. */
static void test_pipeline(void **state)
{
	struct swap_problem p = small;

	(void)state;
	assert_true(compared(&p).step[SWAP_PIPELINE] >= 23);
	p.activation = 0;
	assert_true(near(compared(&p).step[SWAP_PIPELINE], 7.5));
}

/* Swapping takes 7 / 4 a micro-batch: a link that takes longer for one byte than that is too slow.
 * Blocking: 1.5 of compute leave 0.25 for four transfers. */
static void test_rule(void **state)
{
	struct swap_problem p = small;
	struct swap_comparison x = compared(&p);

	(void)state;
	assert_true(near(x.threshold_bytes_per_second, 1 / 1.75));
	assert_true(near(x.paying_micro_batches, 32 / (4 - 1.75)));
	p.blocking = true;
	assert_true(near(compared(&p).threshold_bytes_per_second, 16));
	p.blocking = false;
	p.link.latency_seconds = 2; /* longer than that already */
	assert_true(isinf(compared(&p).threshold_bytes_per_second));
}

/* systems.md, table: a link of 1 Gb/s fires the rule, one of 100 Gb/s does not. GPT-3 XL (24 layers, h 2048)
 * in 16 bit on eight devices of 50 TFLOP/s reached: 2 * 1.3e9 * 2048 FLOP forward, 2048 * 2048 * 2 bytes
 * between stages. */
static void test_table(void **state)
{
	struct swap_problem p = {.devices = 8,
	                         .micro_batches = 256,
	                         .forward = 2 * 1.3e9 * 2048 / 50e12,
	                         .backward = 4 * 1.3e9 * 2048 / 50e12,
	                         .weights = 2.6e9,
	                         .gradients = 2.6e9,
	                         .activation = 2048.0 * 2048 * 2,
	                         .link = {1e9 / 8, 0},
	                         .host = {12e9, 0},
	                         .parts = 8};
	struct swap_comparison x = compared(&p);

	(void)state;
	assert_true(p.link.bytes_per_second < x.threshold_bytes_per_second);
	assert_true(x.step[SWAP_BACKGROUND] < x.step[SWAP_PIPELINE]);
	p.link.bytes_per_second = 100e9 / 8;
	assert_true(p.link.bytes_per_second > compared(&p).threshold_bytes_per_second);
}

/* From so many micro-batches on swapping with an exchange every step is no slower than the pipeline. */
static void test_what_pays_pays(void **state)
{
	struct swap_problem p = small;
	int paid = 0;

	(void)state;
	for (p.micro_batches = 2; p.micro_batches <= 64; p.micro_batches += 2) {
		struct swap_comparison x = compared(&p);

		if ((double)p.micro_batches < x.paying_micro_batches)
			continue;
		assert_true(x.step[SWAP_SYNCHRONOUS] <= x.step[SWAP_PIPELINE] * (1 + 1e-12));
		paid++;
	}
	assert_true(paid > 10);
	p.link.bytes_per_second = 1e9;
	assert_true(isnan(compared(&p).paying_micro_batches)); /* a fast link: nothing to gain */
}

static void refuses(struct swap_problem p, const char *field)
{
	struct swap_comparison x;
	struct sb_error err = {0};

	assert_int_equal(swap_compare(&p, &x, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, field);
}

static void test_refuses(void **state)
{
	struct swap_problem p = small;

	(void)state;
	p.devices = 1;
	refuses(p, "devices");
	p = small;
	p.parts = 0;
	refuses(p, "parts");
	p = small;
	p.link.bytes_per_second = 0;
	refuses(p, "link/bytes_per_second");
	p = small;
	p.host.bytes_per_second = NAN;
	refuses(p, "host_link/bytes_per_second");
	p = small;
	p.micro_batches = 1 << 24;
	refuses(p, "micro_batches");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_swapping),       cmocka_unit_test(test_pipeline),
	    cmocka_unit_test(test_rule),           cmocka_unit_test(test_table),
	    cmocka_unit_test(test_what_pays_pays), cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
