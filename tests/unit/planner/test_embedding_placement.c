#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/embedding_placement.h"

/* Two stages and four layers of 1 + 2; a head as heavy as a layer. */
static const struct embedding_problem two = {.stages = 2,
                                             .micro_batches = 1,
                                             .layers = 4,
                                             .layer = {1, 2, 10},
                                             .embedding = {0, 0, 6},
                                             .head = {1, 2, 8},
                                             .activation = 1,
                                             .logits = 3,
                                             .shared_bytes = 6,
                                             .constant = 100,
                                             .memory = INFINITY,
                                             .exchange = 5,
                                             .vocabulary = 0.25};

static void plan(const struct embedding_problem *p, struct embedding_plan *out)
{
	assert_int_equal(embedding_plans(p, out, NULL), SB_OK);
}

/* One micro-batch goes through all stages and back. On both ends: two layers each, (2 + 3) forward and (4 +
 * 6) back is 15, and 5 for the exchange. Split: 2.5 and 5.25 a stage, 15.5. */
static void test_one_micro_batch(void **state)
{
	struct embedding_plan x[EMBEDDING_PLACEMENTS];

	(void)state;
	plan(&two, x);
	assert_true(x[PLACE_BOTH_ENDS].makespan == 15 && x[PLACE_BOTH_ENDS].step == 20);
	assert_true(x[PLACE_BOTH_ENDS].layers[0] == 2 && x[PLACE_BOTH_ENDS].layers[1] == 2);
	assert_true(x[PLACE_SPLIT].step == 15.5 && x[PLACE_SPLIT].exchange == 0);
	assert_non_null(x[PLACE_ONE_DEVICE].reason); /* a V needs four micro-batches on two devices */
	assert_int_equal(embedding_best(x), PLACE_SPLIT);
}

/* Bytes on both ends: 100 + two layers + one micro-batch of two activations, and 6, or 8 and the logits.
 * Split: half of the one matrix, the head's own 2 and the logits: (8 + 3) / 2. */
static void test_memory_of_each_device(void **state)
{
	struct embedding_plan x[EMBEDDING_PLACEMENTS];

	(void)state;
	plan(&two, x);
	assert_true(x[PLACE_BOTH_ENDS].memory[0] == 100 + 20 + 2 + 6);
	assert_true(x[PLACE_BOTH_ENDS].memory[1] == 100 + 20 + 2 + 8 + 3);
	assert_true(x[PLACE_BOTH_ENDS].peak == 133);
	assert_true(x[PLACE_SPLIT].memory[0] == 127.5 && x[PLACE_SPLIT].memory[1] == 127.5);
}

/* A V has one copy, and no exchange; every device does its work, and no schedule ends before the busiest has.
 */
static void test_the_v(void **state)
{
	struct embedding_problem p = two;
	struct embedding_plan x[EMBEDDING_PLACEMENTS];

	(void)state;
	p.micro_batches = 8;
	p.layers = 8;
	plan(&p, x);
	for (int k = PLACE_BOTH_ENDS; k <= PLACE_SPLIT; k++) {
		double busy = x[k].busy[0] + x[k].busy[1];

		assert_null(x[k].reason);
		assert_int_equal(x[k].layers[0] + x[k].layers[1], 8);
		assert_true(fabs(busy - 8 * (9 * 3 + (k == PLACE_SPLIT ? 0.5 : 0))) < 1e-9);
		assert_true(x[k].makespan >= fmax(x[k].busy[0], x[k].busy[1]));
	}
	assert_true(x[PLACE_ONE_DEVICE].schedule == SCHEDULE_ZB_V ||
	            x[PLACE_ONE_DEVICE].schedule == SCHEDULE_DUALPIPE_V);
	assert_true(x[PLACE_ONE_DEVICE].exchange == 0);
	/* nine layers' work on two devices: the one with the head has one layer less, or as many */
	assert_true(x[PLACE_ONE_DEVICE].layers[0] == 4 && x[PLACE_ONE_DEVICE].layers[1] == 4);
	/* not more than the other device and its ends, but for another number in flight */
	assert_true(x[PLACE_ONE_DEVICE].memory[0] - x[PLACE_ONE_DEVICE].memory[1] >= 8 + 3 - 8 * 4);
	p.layers = 3; /* a V of two devices has four stages */
	plan(&p, x);
	assert_non_null(strstr(x[PLACE_ONE_DEVICE].reason, "layers"));
}

/* Ouroboros: the first device has the head's 3 and two layers, 9 for each of four micro-batches; two are in
 * flight there. Never without leave. */
static void test_stale_gradients(void **state)
{
	struct embedding_problem p = two;
	struct embedding_plan x[EMBEDDING_PLACEMENTS];

	(void)state;
	p.micro_batches = 4;
	plan(&p, x);
	assert_non_null(x[PLACE_STALE].reason);
	assert_int_not_equal(embedding_best(x), PLACE_STALE);
	p.stale = true;
	plan(&p, x);
	assert_null(x[PLACE_STALE].reason);
	assert_true(x[PLACE_STALE].step == 36 && x[PLACE_STALE].exchange == 0);
	assert_true(x[PLACE_STALE].memory[0] == 100 + 20 + 8 + 3 + 2 * 2);
	/* on both ends the same work has to wait for its pipeline besides */
	assert_true(x[PLACE_STALE].step < x[PLACE_BOTH_ENDS].makespan);
}

static void test_what_is_not_tied_is_not_exchanged(void **state)
{
	struct embedding_problem p = two;
	struct embedding_plan x[EMBEDDING_PLACEMENTS];

	(void)state;
	p.shared_bytes = 0;
	plan(&p, x);
	assert_true(x[PLACE_BOTH_ENDS].step == 15);
	assert_true(x[PLACE_SPLIT].memory[0] == 100 + 20 + 2 + (6 + 8 + 3) / 2.0);
	assert_int_equal(embedding_best(x), PLACE_BOTH_ENDS);
}

/* Times ten times as long are steps ten times as long; a cap leaves out what is above it. */
static void test_scale_and_cap(void **state)
{
	struct embedding_problem p = two, slow;
	struct embedding_plan x[EMBEDDING_PLACEMENTS], y[EMBEDDING_PLACEMENTS];

	(void)state;
	p.micro_batches = 8;
	p.send = 0.125;
	slow = p;
	slow.layer.forward *= 16;
	slow.layer.backward *= 16;
	slow.head.forward *= 16;
	slow.head.backward *= 16;
	slow.exchange *= 16;
	slow.vocabulary *= 16;
	slow.send *= 16;
	plan(&p, x);
	plan(&slow, y);
	for (int k = PLACE_BOTH_ENDS; k <= PLACE_SPLIT; k++)
		assert_true(y[k].step == 16 * x[k].step && y[k].peak == x[k].peak);
	p.memory = 1;
	plan(&p, x);
	assert_int_equal(embedding_best(x), EMBEDDING_PLACEMENTS);
	p.memory = x[PLACE_SPLIT].peak; /* the leanest schedule of it */
	plan(&p, x);
	assert_true(x[PLACE_SPLIT].fits);
	assert_true(embedding_best(x) < EMBEDDING_PLACEMENTS);
}

static void refuses(int64_t stages, int64_t micro_batches, int64_t layers, const char *field)
{
	struct embedding_problem p = two;
	struct embedding_plan x[EMBEDDING_PLACEMENTS];
	struct sb_error err = {0};

	p.stages = stages;
	p.micro_batches = micro_batches;
	p.layers = layers;
	assert_int_equal(embedding_plans(&p, x, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, field);
}

static void test_refuses(void **state)
{
	(void)state;
	refuses(1, 4, 4, "stages");
	refuses(257, 4, 400, "stages");
	refuses(2, 0, 4, "micro_batches");
	refuses(256, 1 << 20, 400, "micro_batches");
	refuses(4, 4, 3, "layers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_micro_batch),
	    cmocka_unit_test(test_memory_of_each_device),
	    cmocka_unit_test(test_the_v),
	    cmocka_unit_test(test_stale_gradients),
	    cmocka_unit_test(test_what_is_not_tied_is_not_exchanged),
	    cmocka_unit_test(test_scale_and_cap),
	    cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
