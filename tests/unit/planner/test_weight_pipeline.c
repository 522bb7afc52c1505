#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/pipeline/weight_pipeline.h"

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* 24 devices in 3 nodes and a plain transformer: 12 h^2 elements a layer. */
static struct cost_problem problem(int64_t seq_len, double between)
{
	struct cost_problem p = {
	    .model = {.layers = 48,
	              .hidden = 4096,
	              .heads = 32,
	              .ffn_hidden = 16384,
	              .vocab = 32000,
	              .seq_len = seq_len},
	    .cluster = {.nodes = 3,
	                .devices_per_node = 8,
	                .device = {312e12, 2039e9, 80000000000, FAMILY_AMPERE, true},
	                .links = {[LINK_NODE] = {200e9, NAN, 0}, [LINK_CLUSTER] = {between, NAN, 0}},
	                .compute_efficiency = NAN,
	                .memory_efficiency = NAN,
	                .link_efficiency = {NAN, NAN, NAN}},
	    .sequences = 1536};

	model_defaults(&p.model);
	p.constants = constants_for(&p.cluster);
	p.network = network_of(&p.cluster, &p.constants);
	p.memory_bytes = p.cluster.device.memory_bytes;
	return p;
}

static struct weight_comparison compared(const struct cost_problem *p, enum recompute recompute)
{
	const struct weight_options o = {.micro_batch = 1, .recompute = recompute};
	struct weight_comparison x;

	assert_int_equal(weight_compare(p, &o, &x, NULL), SB_OK);
	return x;
}

/* systems.md 3.8, check: P = 24, b = 1, s = 16384, h = 4096. */
static void test_volumes_and_threshold(void **state)
{
	struct cost_problem p = problem(16384, 25e9);
	struct weight_comparison x = compared(&p, RECOMPUTE_FULL);

	(void)state;
	assert_true(x.way[WAY_1F1B].elements == 3221225472);
	assert_true(x.way[WAY_WEIPIPE].elements == 603979776);
	assert_true(x.way[WAY_TAWPIPE].elements == 402653184);
	/* three gathers of 12 h^2, of which each device has a 24th already */
	assert_true(near(x.way[WAY_FSDP].elements, 603979776 * 23.0 / 24));
	assert_true(x.threshold_tokens == 2048 && x.tokens == 16384);
	/* at the threshold both send the same */
	p = problem(2048, 25e9);
	x = compared(&p, RECOMPUTE_FULL);
	assert_true(x.way[WAY_1F1B].elements == x.way[WAY_TAWPIPE].elements);
}

/* 1536 micro-batches, 64 a device: 23 / 1559; (2 * 24 + 64) / ((3 * 64 + 2) * 24 + 64) = 112 / 4720. */
static void test_bubbles(void **state)
{
	struct cost_problem p = problem(16384, 25e9);
	struct weight_comparison x = compared(&p, RECOMPUTE_FULL);

	(void)state;
	assert_true(near(x.way[WAY_1F1B].bubble_share, 23.0 / 1559));
	assert_true(near(x.way[WAY_WEIPIPE].bubble_share, 23.0 / 1559));
	assert_true(near(x.way[WAY_TAWPIPE].bubble_share, 112.0 / 4720));
	assert_true(x.way[WAY_FSDP].bubble_share == 0);
}

/* Weights that are passed under compute: on a fast network only the bubble is lost, on a slow one the step is
 * the transfers', in proportion to what is sent. */
static void test_steps(void **state)
{
	struct cost_problem fast = problem(16384, 1e15), slow = problem(16384, 1e8);
	struct weight_comparison x, y = compared(&slow, RECOMPUTE_FULL);
	struct weight_cost taw;

	(void)state;
	fast.constants.straggler = fast.constants.step_seconds = 0;
	x = compared(&fast, RECOMPUTE_FULL);
	taw = x.way[WAY_TAWPIPE];
	assert_true(taw.step_seconds >= taw.compute_seconds / (1 - taw.bubble_share));
	assert_true(taw.step_seconds < 1.1 * taw.compute_seconds / (1 - taw.bubble_share));
	assert_true(taw.compute_seconds == x.way[WAY_WEIPIPE].compute_seconds);
	/* 64 rounds of 48 layers and 24 h^2 elements of two bytes, over what software reaches of the link */
	taw = y.way[WAY_TAWPIPE];
	assert_true(near(taw.sent_bytes, 64.0 * 48 * 2 * 402653184));
	assert_true(taw.network_seconds >= taw.sent_bytes / 1e8);
	assert_true(taw.step_seconds >= taw.network_seconds);
	assert_true(y.way[WAY_WEIPIPE].network_seconds > 1.49 * taw.network_seconds);
	assert_true(y.way[WAY_WEIPIPE].network_seconds < 1.51 * taw.network_seconds);
	/* one device of a pipeline sends its activations and gradients, 1536 of each */
	assert_true(near(y.way[WAY_1F1B].sent_bytes, 2.0 * 1536 * 2 * 16384 * 4096));
}

/* Two weights in transit against one: a weight is two layers of 12 h^2 and their norms, two bytes each. */
static void test_memory(void **state)
{
	struct cost_problem p = problem(16384, 25e9);
	struct weight_comparison x;
	const struct memory_parts *wei = &x.way[WAY_WEIPIPE].memory, *taw = &x.way[WAY_TAWPIPE].memory;

	(void)state;
	p.constants.fragmentation = 1;
	x = compared(&p, RECOMPUTE_FULL);
	assert_true(near(wei->workspace - taw->workspace, 2 * 2 * (12.0 * 4096 * 4096 + 2 * 4096)));
	assert_true(wei->activations == x.way[WAY_FSDP].memory.activations);
	/* nothing recomputed does not fit here: a layer keeps more than 34 s h bytes, 48 of them 110 GB */
	assert_false(compared(&p, RECOMPUTE_NONE).way[WAY_TAWPIPE].fits);
	x = compared(&p, RECOMPUTES);
	assert_true(x.way[WAY_TAWPIPE].fits && x.way[WAY_TAWPIPE].strategy.recompute == RECOMPUTE_FULL);
}

/* An interface that eight devices share slows only what all of them use. */
static void test_shared_interface(void **state)
{
	struct cost_problem p = problem(16384, 1e9);
	const struct weight_options o = {1, RECOMPUTE_FULL, true};
	struct weight_comparison own = compared(&p, RECOMPUTE_FULL), shared;

	(void)state;
	assert_int_equal(weight_compare(&p, &o, &shared, NULL), SB_OK);
	assert_true(shared.way[WAY_FSDP].network_seconds > 5 * own.way[WAY_FSDP].network_seconds);
	assert_true(shared.way[WAY_TAWPIPE].step_seconds == own.way[WAY_TAWPIPE].step_seconds);
	assert_true(shared.way[WAY_1F1B].step_seconds == own.way[WAY_1F1B].step_seconds);
}

/* systems.md 3.8: weight i lives on rank (i mod D) (P / D) + i div D. */
static void test_storage(void **state)
{
	static const int64_t ranks[] = {0, 8, 16, 1, 9, 17, 2};
	bool taken[24] = {false};
	int64_t first;

	(void)state;
	for (int64_t i = 0; i < 7; i++)
		assert_int_equal(weight_rank(i, 24, 3), ranks[i]);
	for (int64_t i = 0; i < 24; i++) {
		assert_false(taken[weight_rank(i, 24, 3)]);
		taken[weight_rank(i, 24, 3)] = true;
	}
	/* 10 layers on 4: 3, 3, 2, 2 */
	assert_int_equal(weight_layers(1, 10, 4, &first), 3);
	assert_int_equal(first, 3);
	assert_int_equal(weight_layers(3, 10, 4, &first), 2);
	assert_int_equal(first, 8);
}

/* More devices than layers: no pipeline of stages, but weights can be passed. */
static void test_fewer_layers_than_devices(void **state)
{
	struct cost_problem p = problem(2048, 25e9);
	struct weight_comparison x;

	(void)state;
	p.model.layers = 16;
	x = compared(&p, RECOMPUTE_FULL);
	assert_int_equal(x.way[WAY_1F1B].misfit, MISFIT_STAGES);
	assert_int_equal(x.way[WAY_TAWPIPE].misfit, FIT_OK);
	assert_int_equal(x.weights, 16);
	p.sequences = 1000; /* 24 devices do not divide it */
	assert_int_equal(compared(&p, RECOMPUTE_FULL).way[WAY_TAWPIPE].misfit, MISFIT_BATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_volumes_and_threshold),
	    cmocka_unit_test(test_bubbles),
	    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_shared_interface),
	    cmocka_unit_test(test_storage),
	    cmocka_unit_test(test_fewer_layers_than_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
