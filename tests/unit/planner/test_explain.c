#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "planner/strategy/explain.h"
#include "tests/unit/planner/costed.h"

/* Expected bytes by hand, from the table of volumes (cost-model section 8). */

static struct cost_problem problem_of(struct model m)
{
	struct cost_problem p = {.model = m, .sequences = 16, .memory_bytes = INT64_C(80000000000)};

	p.cluster =
	    (struct cluster){.nodes = 4,
	                     .devices_per_node = 8,
	                     .device = {312e12, 2e12, INT64_C(80000000000), FAMILY_AMPERE, true},
	                     .links = {[LINK_NODE] = {300e9, NAN, 0}, [LINK_CLUSTER] = {25e9, NAN, 0}},
	                     .compute_efficiency = NAN,
	                     .memory_efficiency = NAN,
	                     .link_efficiency = {NAN, NAN, NAN}};
	model_defaults(&p.model);
	p.constants = constants_for(&p.cluster);
	p.network = network_of(&p.cluster, &p.constants);
	return p;
}

static const struct model GPT = {
    .layers = 4, .hidden = 1024, .heads = 16, .ffn_hidden = 4096, .vocab = 8192, .seq_len = 2048};
/* 16-bit activations of one micro-batch of one sequence: 2 x 2048 x 1024. */
#define Y 4194304.0

static struct explained_traffic traffic_of(const struct cost_problem *p, const struct strategy *s,
                                           enum traffic t)
{
	EXPLANATION_AUTO e = {0};
	const struct strategy_cost c = cost_of(p, s);

	assert_int_equal(strategy_explain(p, s, &c, &e, NULL), SB_OK);
	return e.traffic[t];
}

static double bytes_of(const struct cost_problem *p, const struct strategy *s, enum traffic t)
{
	return traffic_of(p, s, t).bytes;
}

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-9 * fabs(wanted);
}

static void tensor_ranks_reduce_four_times_a_layer(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	/* all-reduce: 2 x 7/8 of the tensor. Four layers of four, the embedding's, the head's input gradient,
	 * and three of 4 bytes a token in the loss; 8 micro-batches of the two replicas. */
	double once = 2 * 7.0 / 8 * (4 * 4 * Y + Y + Y + 3 * 4 * 2048);

	(void)state;
	s.tp = 8;
	s.dp = 2;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_TENSOR), 8 * once));
	/* full recomputation repeats the two of the forward pass */
	s.recompute = RECOMPUTE_FULL;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_TENSOR), 8 * (once + 2 * 7.0 / 8 * 4 * 2 * Y)));
	assert_true(bytes_of(&p, &s, TRAFFIC_PIPELINE) == 0 && bytes_of(&p, &s, TRAFFIC_CONTEXT) == 0);
	s.tp = 1;
	assert_true(bytes_of(&p, &s, TRAFFIC_TENSOR) == 0);
}

static void stages_send_their_part_each_way(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	s.pp = 2;
	s.tp = 2;
	/* 16 micro-batches, forward and backward, half of the tensor by each tensor rank */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_PIPELINE), 16 * 2 * Y / 2));
	s.vpp = 2;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_PIPELINE), 2 * 16 * 2 * Y / 2));
}

static void replicas_exchange_gradients_and_weights(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct parameters layer = model_layer_parameters(&p.model, LAYER_DENSE),
	                  first = model_embedding_parameters(&p.model),
	                  last = model_head_parameters(&p.model);
	double n = 4.0 * (double)(layer.tensor + layer.replicated) +
	           (double)(first.tensor + first.replicated + last.tensor + last.replicated);

	(void)state;
	s.dp = 4;
	s.gradient_bytes = 4;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 2 * 3.0 / 4 * 4 * n));
	s.zero = 1;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 3.0 / 4 * (4 + 2) * n));
	s.overlap_gradients = true; /* hidden, but sent */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 3.0 / 4 * (4 + 2) * n));
	s.zero = 3; /* weights in both passes of 4 micro-batches, gradients in each */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 4 * 3.0 / 4 * (2 + 2 + 4) * n));
	s.zero = 2; /* gradients in each of them, weights once */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 3.0 / 4 * (4 * 4 + 2) * n));
	s.micro_batch = 4; /* nothing to accumulate: as ZeRO 1 */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), 3.0 / 4 * (4 + 2) * n));
}

/* Four layers on one stage, two of them recomputed: those two alone repeat the forward pass's two. */
static void layers_that_are_not_recomputed_send_once(void **state)
{
	const int64_t two = 2;
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double all, none;

	(void)state;
	s.tp = 8;
	s.dp = 2;
	none = bytes_of(&p, &s, TRAFFIC_TENSOR);
	s.recompute = RECOMPUTE_FULL;
	all = bytes_of(&p, &s, TRAFFIC_TENSOR);
	assert_true(near(all - none, 8 * 2 * 7.0 / 8 * 4 * 2 * Y));
	s.stage_recompute = &two;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_TENSOR), (all + none) / 2));
	/* with room for all, as few as must be are none */
	s.stage_recompute = NULL;
	s.recompute_fit = true;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_TENSOR), none));
}

/* The ends of a pipeline with tied embeddings sum the gradients of 8192 x 1024 weights once a step, however
 * often ZeRO-3 gathers: 4 bytes each, 2 x 1/2 of them. */
static void tied_ends_exchange_once_a_step(void **state)
{
	struct model tied = GPT;
	struct cost_problem one, two;
	struct strategy s;
	double untied;

	(void)state;
	one = problem_of(GPT);
	s = strategy_default(&one.model, &one.cluster);
	s.pp = 2;
	s.dp = 4;
	s.zero = 3;
	s.gradient_bytes = 4;
	untied = bytes_of(&one, &s, TRAFFIC_GRADIENTS);
	tied.tied_embedding = true;
	two = problem_of(tied);
	assert_true(near(bytes_of(&two, &s, TRAFFIC_GRADIENTS), untied + 4.0 * 8192 * 1024));
}

/* ZeRO-2 in a pipeline scatters the gradients of all four micro-batches, 3/4 of 4 bytes each, and gathers the
 * weights once: ZeRO-1 has one scatter and one gather. */
static void zero_2_in_a_pipeline_reduces_each(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double once;

	(void)state;
	s.pp = 2;
	s.dp = 4;
	s.zero = 1;
	s.gradient_bytes = 4;
	once = bytes_of(&p, &s, TRAFFIC_GRADIENTS); /* 3/4 x (4 + 2) a parameter */
	s.zero = 2;
	assert_true(near(bytes_of(&p, &s, TRAFFIC_GRADIENTS), once / 6 * (4 * 4 + 2)));
}

static void experts_send_each_token_to_its_top_k(void **state)
{
	struct model m = GPT;
	struct strategy s;
	struct cost_problem p;

	(void)state;
	m.has_moe = true;
	m.moe = (struct moe){.experts = 8, .top_k = 2, .ffn_hidden = 512, .every = 1};
	p = problem_of(m);
	s = strategy_default(&p.model, &p.cluster);
	s.dp = 4;
	s.ep = 4;
	/* dispatch and combine, both passes: 4 x k tokens, 3/4 of them elsewhere; 4 layers, 4 micro-batches
	 */
	assert_true(near(bytes_of(&p, &s, TRAFFIC_EXPERT), 4 * 4 * 4 * 2 * 3.0 / 4 * Y));
}

/* 16 micro-batches of a quarter of n weights and half of n gradients. The weights come for both passes, the
 * gradients go in the backward pass and come to be added to: each micro-batch 2 x 2 x n/4 + 2 x 4 x n/2, of
 * which 4 x n/2 go out. The device updates half of the states: 12 x n/2 and 4 x n/2 bytes come, 12 x n/2 and
 * 2 x n/4 go. On a link of 10 GB/s a pass takes its longer direction: 2 x n/4, then 2 x n/4 + 4 x n/2. */
static void the_host_link_is_told(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	double n = model_parameters(&p.model);
	struct explained_traffic t;

	(void)state;
	assert_true(bytes_of(&p, &s, TRAFFIC_HOST) == 0);
	p.cluster.host_memory_bytes = INT64_C(1) << 40;
	p.cluster.host_link_bytes_per_second = 1e10;
	s.offload = (struct offload){.weights = .25, .gradients = .5, .optimizer = .5};
	t = traffic_of(&p, &s, TRAFFIC_HOST);
	assert_true(near(t.bytes, 16 * (n + 4 * n) + 6 * n + 2 * n + 6 * n + n / 2));
	assert_true(near(t.seconds, (16 * (n / 2 + n / 2 + 2 * n) + 8 * n) / 1e10));
	/* one alone behind it does not wait, two take turns */
	p.cluster.host_link_devices = 2;
	assert_true(near(traffic_of(&p, &s, TRAFFIC_HOST).seconds, t.seconds));
	s.dp = 2;
	p.sequences *= 2;
	assert_true(near(traffic_of(&p, &s, TRAFFIC_HOST).seconds, 2 * t.seconds));
	assert_true(near(bytes_of(&p, &s, TRAFFIC_HOST), t.bytes));
}

/* Nothing hides them and nothing starts them: the bytes at 75 % of the 300 GB/s inside a node. */
static void seconds_are_those_of_the_links(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct explained_traffic t;

	(void)state;
	s.tp = 8;
	p.constants.collective_seconds = p.constants.node_latency = 0;
	p.network = network_of(&p.cluster, &p.constants);
	t = traffic_of(&p, &s, TRAFFIC_TENSOR);
	assert_true(near(t.seconds, t.bytes / (0.75 * 300e9)));
}

static void stages_add_up(void **state)
{
	struct cost_problem p = problem_of(GPT);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	EXPLANATION_AUTO e = {0};
	struct strategy_cost c;
	int64_t stages = 0, layers = 0;
	double fullest = 0;

	(void)state;
	s.pp = 4;
	s.dp = 2;
	c = cost_of(&p, &s);
	assert_int_equal(strategy_explain(&p, &s, &c, &e, NULL), SB_OK);
	for (int64_t i = 0; i < e.stage_count; i++) {
		assert_int_equal(e.stages[i].run.first, stages);
		stages += e.stages[i].run.count;
		layers += e.stages[i].run.count * e.stages[i].run.layers[LAYER_DENSE];
		fullest = fmax(fullest, memory_total(&e.stages[i].memory));
	}
	assert_int_equal(stages, 4);
	assert_int_equal(layers, 4);
	assert_true(near(fullest, memory_total(&c.memory)));
	assert_true(e.traffic[TRAFFIC_PIPELINE].ranks == 4 && e.traffic[TRAFFIC_GRADIENTS].ranks == 2);
	assert_true(e.traffic[TRAFFIC_GRADIENTS].ranks_inside == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tensor_ranks_reduce_four_times_a_layer),
	    cmocka_unit_test(stages_send_their_part_each_way),
	    cmocka_unit_test(replicas_exchange_gradients_and_weights),
	    cmocka_unit_test(layers_that_are_not_recomputed_send_once),
	    cmocka_unit_test(tied_ends_exchange_once_a_step),
	    cmocka_unit_test(zero_2_in_a_pipeline_reduces_each),
	    cmocka_unit_test(experts_send_each_token_to_its_top_k),
	    cmocka_unit_test(the_host_link_is_told),
	    cmocka_unit_test(seconds_are_those_of_the_links),
	    cmocka_unit_test(stages_add_up),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
