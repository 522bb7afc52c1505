#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/methods/mist.h"

#define GIB 1073741824.0

/* Two L4 in a node share the data; a layer of 1 s forward and 2 s backward, 1 GiB of weights and of gradients
 * and 6 GiB of optimizer; 3 GiB of activations, 1 GiB when checkpointed. */
static struct mist_shape shape_of(void)
{
	return (struct mist_shape){.stages = 2,
	                           .micro_batch = 1,
	                           .dp = 2,
	                           .tp = 1,
	                           .micro_batches = 8,
	                           .nodes = 1,
	                           .inside = 2,
	                           .compute = {1, 2},
	                           .full = {GIB, GIB, 6 * GIB},
	                           .kept = {3 * GIB, GIB},
	                           .factor = 1.025,
	                           .capacity = 40 * GIB};
}

static struct mist_problem problem_of(const struct cost_problem *cost)
{
	return (struct mist_problem){.cost = cost, .machine = *mist_machine_of("l4-24g"), .offload = true};
}

/* Steady: 1 + 2 s. First forward: gathers 1 GiB, 0.168791 s (test_mist_machine); scaled by the pair's
 * factors 1.1676 and 1: 0.168791 + (1.1676 - 0.168791) / 1.1676 = 1.024229. Last backward: reduce-scatter
 * 0.185670: 0.185670 + (2.3352 - 0.185670) / 1.1676 = 2.026651. Checkpointed: 1 s more each backward:
 * 0.185670 + (3.5028 - 0.185670) / 1.1676 = 3.026651. */
static void test_a_layer_by_hand(void **state)
{
	struct cost_problem cost = {0};
	struct mist_problem p = problem_of(&cost);
	struct mist_shape x = shape_of();
	struct mist_stage s = {.micro_batch = 1, .dp = 2, .tp = 1, .shard = {false, false, true}};
	struct mist_layer l = mist_layer_of(&p, &x, &s);

	(void)state;
	assert_true(fabs(l.stable[0] - 3) < 1e-9 && fabs(l.stable[1] - 4) < 1e-9);
	assert_true(fabs(l.delta[0] - (1.024229 + 2.026651 - 3)) < 1e-5);
	assert_true(fabs(l.delta[1] - (1.024229 + 3.026651 - 4)) < 1e-5);
	assert_true(fabs(l.states / GIB - 5) < 1e-9 && l.buffers == 0);
}

/* Weights and gradients sharded: two whole layers of both are at hand; 0.025 each of fragmentation. Half of
 * the optimizer on the host: 6 / 2 x 1/2 stays, and 0.03. */
static void test_states_by_hand(void **state)
{
	struct cost_problem cost = {0};
	struct mist_problem p = problem_of(&cost);
	struct mist_shape x = shape_of();
	struct mist_stage s = {
	    .micro_batch = 1, .dp = 2, .tp = 1, .shard = {true, true, true}, .offload = {0, 0, .5, 0}};
	struct mist_layer l = mist_layer_of(&p, &x, &s);

	(void)state;
	assert_true(fabs(l.states / GIB - (.5 + .5 + 1.5)) < 1e-9);
	assert_true(fabs(l.buffers / GIB - 4) < 1e-9);
	assert_true(fabs(l.factor - (1.025 + .025 + .025 + .03)) < 1e-9);
	/* gathered in every pass */
	assert_true(l.stable[0] > 3 && l.delta[0] > 0);
}

/* Stage 0 of 2 holds two micro-batches: 4 layers of (5 + 2 x 3) GiB x 1.025 = 45.1 GiB are too many for 40.
 * One checkpointed layer saves 2 x 2 x 1.025 = 4.1 and runs again 3 x 1.025: 44.075; two: 39.975. Stage 1
 * holds one: 4 x 8 x 1.025 = 32.8. */
static void test_as_few_checkpointed_as_fit(void **state)
{
	struct cost_problem cost = {0};
	struct mist_problem p = problem_of(&cost);
	struct mist_shape x = shape_of();
	struct mist_stage s = {.micro_batch = 1, .dp = 2, .tp = 1, .shard = {false, false, true}};
	struct mist_layer l = mist_layer_of(&p, &x, &s);

	(void)state;
	assert_true(fabs(mist_stage_bytes(&x, &l, 0, 4, 0) / GIB - 45.1) < 1e-9);
	assert_true(fabs(mist_stage_bytes(&x, &l, 0, 4, 1) / GIB - 44.075) < 1e-9);
	assert_true(fabs(mist_stage_bytes(&x, &l, 0, 4, 2) / GIB - 39.975) < 1e-9);
	assert_int_equal(mist_least_checkpointed(&x, &l, 0, 4), 2);
	assert_int_equal(mist_least_checkpointed(&x, &l, 1, 4), 0);
	assert_int_equal(mist_least_checkpointed(&x, &l, 0, 8), -1);
}

/* A stage that fits only when all of its layers are checkpointed, to the byte: 4 x (5 + 2 x 1) + 3 = 31 GiB x
 * 1.025. */
static void test_what_just_fits_is_found(void **state)
{
	struct cost_problem cost = {0};
	struct mist_problem p = problem_of(&cost);
	struct mist_shape x = shape_of();
	struct mist_stage s = {.micro_batch = 1, .dp = 2, .tp = 1, .shard = {false, false, true}};
	struct mist_layer l = mist_layer_of(&p, &x, &s);

	(void)state;
	x.capacity = mist_stage_bytes(&x, &l, 0, 4, 4);
	assert_true(fabs(x.capacity / GIB - 31 * 1.025) < 1e-9);
	assert_int_equal(mist_least_checkpointed(&x, &l, 0, 4), 4);
	x.capacity = nextafter(x.capacity, 0);
	assert_int_equal(mist_least_checkpointed(&x, &l, 0, 4), -1);
}

/* search-algorithms section 9: 8 micro-batches over three stages of 2, 5 and 3 s, with 1, 4 and 9 s more in
 * their first and last: 7 x 5 + (2 + 5 + 3) + max(1, 4 - 2, 9 - 2 - 5) = 47. A delta of the last stage hides
 * behind the stages before it; with 1 s more it does not. */
static void test_the_tail_by_hand(void **state)
{
	struct mist_stage stage[3] = {
	    {.stable = 2, .delta = 1}, {.stable = 5, .delta = 4}, {.stable = 3, .delta = 9}};
	struct mist_plan plan = {.stages = 3, .micro_batches = 8, .stage = stage};
	struct mist_parts parts = mist_parts_of(&plan);

	(void)state;
	assert_true(parts.steady == 35 && parts.fill == 10 && parts.ends == 2);
	stage[2].delta = 10;
	assert_true(mist_parts_of(&plan).ends == 3);
	stage[0].delta = 4;
	assert_true(mist_parts_of(&plan).ends == 4);
	/* one micro-batch: no steady state */
	plan.micro_batches = 1;
	assert_true(mist_parts_of(&plan).steady == 0);
}

/* The same through stages and layers: 2 micro-batches of a layer of 1 + 2 s, whose first and last add
 * 0.050880 s (test_a_layer_by_hand). Two stages of 2 and 3 layers: 1 x 9 + (6 + 9) + max(2 x 0.050880, 3 x
 * 0.050880 - 6). A single micro-batch is first and last at once: all is in the steady time. */
static void test_a_stage_with_the_last_micro_batch(void **state)
{
	struct cost_problem cost = {0};
	struct mist_problem p = problem_of(&cost);
	struct mist_shape x = shape_of();
	struct mist_stage s[2] = {{.micro_batch = 1, .dp = 2, .tp = 1, .shard = {false, false, true}}};
	struct mist_plan plan = {.stages = 2, .micro_batches = 2, .stage = s};
	struct mist_layer l;
	struct mist_parts parts;

	(void)state;
	x.micro_batches = 2;
	l = mist_layer_of(&p, &x, &s[0]);
	for (int64_t i = 0; i < 2; i++) {
		struct stage_option o = mist_stage_seconds(&x, &l, i, 2 + i, 0);

		s[i].stable = o.stable;
		s[i].delta = o.delta;
	}
	parts = mist_parts_of(&plan);
	assert_true(fabs(parts.steady - 9) < 1e-9 && fabs(parts.fill - 15) < 1e-9);
	assert_true(fabs(parts.ends - 2 * 0.050880) < 1e-5);
	x.micro_batches = 1;
	l = mist_layer_of(&p, &x, &s[0]);
	assert_true(fabs(mist_stage_seconds(&x, &l, 0, 2, 0).stable - 2 * 3.050880) < 1e-5);
	assert_true(mist_stage_seconds(&x, &l, 0, 2, 0).delta == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_layer_by_hand),
	    cmocka_unit_test(test_states_by_hand),
	    cmocka_unit_test(test_as_few_checkpointed_as_fit),
	    cmocka_unit_test(test_what_just_fits_is_found),
	    cmocka_unit_test(test_the_tail_by_hand),
	    cmocka_unit_test(test_a_stage_with_the_last_micro_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
