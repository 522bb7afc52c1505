/* Pipelines in other orders than 1F1B, by the closed forms of cost-model sections 6.2 and 10. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/strategy/explain.h"
#include "tests/unit/planner/costed.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* Equal stages whose ends weigh next to nothing, on links that take no time; four micro-batches a stage. */
static struct cost_problem problem_of(int64_t pp)
{
	struct model m = {.layers = 2 * pp,
	                  .hidden = 4096,
	                  .heads = 32,
	                  .ffn_hidden = 16384,
	                  .vocab = 1,
	                  .seq_len = 2048,
	                  .has_moe = true,
	                  .moe = {.experts = 8, .top_k = 2, .ffn_hidden = 4096}};
	struct cost_problem p = problem_on(m, "dgx-h100", 8, 4 * pp);

	p.constants.launch_seconds = p.constants.gemm_half_flop = p.constants.straggler = 0;
	for (int l = 0; l < p.network.levels; l++) {
		p.network.bandwidth[l] = INFINITY;
		p.network.latency[l] = 0;
	}
	p.network.start = 0;
	return p;
}

/* Forward, whole backward and gradients of the weights of a stage of two layers. */
struct passes {
	double f, b, w;
};
static struct passes passes_of(const struct cost_problem *p, const struct strategy *s)
{
	struct groups g = groups_of(&p->network, s);
	struct layer_time l = layer_seconds(p, s, &g, LAYER_MOE);

	return (struct passes){2 * l.forward, 2 * l.backward, 2 * l.weight};
}

/* With products alone, so that forward, gradients of inputs and gradients of weights take the same:
 * DualPipe's published bubble is that of its order for F = B alone (schedules.md). */
static void test_bubbles(void **state)
{
	(void)state;
	for (int64_t pp = 4; pp <= 8; pp += 4) {
		struct cost_problem p = problem_of(pp);
		struct strategy s = strategy_default(&p.model, &p.cluster);
		struct passes x;
		struct strategy_cost c;

		p.cluster.device.memory_bandwidth = p.constants.flash_share = INFINITY;
		s.attention = ATTENTION_FLASH;
		s.pp = pp;
		x = passes_of(&p, &s);
		c = cost_of(&p, &s);
		near(c.breakdown.bubble, ((double)pp - 1) * (x.f + x.b), 0.01);
		s.schedule = PIPELINE_ZB_H1;
		c = cost_of(&p, &s);
		/* (p - 1) (F + B - 2 W) and, below, (p / 2 - 1) (FB + B - 3 W), with B the whole backward
		 * pass: DeepSeek-V3, table 2 */
		near(c.breakdown.bubble, ((double)pp - 1) * (x.f + x.b - 2 * x.w), 0.01);
		s.schedule = PIPELINE_DUALPIPE;
		c = cost_of(&p, &s);
		near(c.breakdown.bubble, ((double)pp / 2 - 1) * ((x.f + x.b) + x.b - 3 * x.w), 0.01);
		near(c.breakdown.compute, 4 * (double)pp * (x.f + x.b), 1e-4);
		assert_true(c.bound_seconds <= c.step_seconds && c.simulated);
	}
}

/* DualPipe: two copies of the stages' weights, and p + 1 micro-batches in flight; ZB-H1 as 1F1B. */
static void test_memory(void **state)
{
	struct cost_problem p = problem_of(8);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost plain, dual;
	EXPLANATION_AUTO e = {0};

	(void)state;
	s.pp = 8;
	plain = cost_of(&p, &s); /* eight micro-batches in flight on the first stage */
	s.schedule = PIPELINE_ZB_H1;
	near(cost_of(&p, &s).memory.activations, plain.memory.activations, 1e-9);
	s.schedule = PIPELINE_DUALPIPE;
	dual = cost_of(&p, &s);
	near(dual.memory.activations, plain.memory.activations * 9 / 8, 1e-9);
	near(dual.memory.weights, 2 * plain.memory.weights,
	     1e-2); /* the first stage's device has the last, too */
	assert_int_equal(strategy_explain(&p, &s, &dual, &e, NULL), SB_OK);
	near(memory_total(&e.stages[0].memory), memory_total(&dual.memory), 0.05);
}

/* Two devices of a pipeline hold each stage, and sum its gradients over both (DeepSeek-V3, section 3.2.1: two
 * copies of the parameters). On a network of one byte a second, with dp 2 and gradients of 4 bytes: 2 * 3/4
 * of them go over the 4 that hold the dense weights, and as much for the experts, of which ep 2 leaves every
 * device half and 2 devices hold each: 2 * 1/2. A device has a stage and its mirror: all of a model of two
 * stages. With ZeRO 3 its weights are half of a device's of one replica. */
static void test_both_copies_are_reduced(void **state)
{
	struct cost_problem p = problem_of(2);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct parameters l = model_layer_parameters(&p.model, LAYER_MOE),
	                  e = model_embedding_parameters(&p.model), o = model_head_parameters(&p.model);
	double dense = 4 * (double)(l.tensor + l.replicated) +
	               (double)(e.tensor + e.replicated + o.tensor + o.replicated),
	       experts = 4 * (double)l.expert, whole;

	(void)state;
	p.network = (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1}};
	s.pp = 2;
	s.dp = s.ep = 2;
	s.gradient_bytes = 4;
	s.schedule = PIPELINE_DUALPIPE;
	near(cost_of(&p, &s).breakdown.gradient_exchange,
	     2 * 3 / 4.0 * 4 * dense + 2 * 1 / 2.0 * 4 * experts / 2, 1e-9);
	s.dp = s.ep = 1;
	near(cost_of(&p, &s).breakdown.gradient_exchange, 2 * 1 / 2.0 * 4 * (dense + experts), 1e-9);
	whole = cost_of(&p, &s).memory.weights;
	s.zero = 3;
	near(cost_of(&p, &s).memory.weights, whole / 2, 1e-12);
}

/* Experts' traffic is hidden in pairs: never slower, and the parts add up. */
static void test_pairs_hide(void **state)
{
	struct cost_problem p = problem_of(4);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost plain, paired;
	struct breakdown_seconds b;

	(void)state;
	p.network = network_of(&p.cluster, &p.constants);
	p.sequences *= 4;
	s.pp = 4;
	s.dp = s.ep = 4;
	s.zero = 1;
	s.schedule = PIPELINE_DUALPIPE;
	plain = cost_of(&p, &s);
	s.overlap_expert = true;
	paired = cost_of(&p, &s);
	assert_true(paired.step_seconds < plain.step_seconds);
	assert_true(paired.breakdown.expert_parallel < plain.breakdown.expert_parallel);
	near(paired.breakdown.compute, plain.breakdown.compute, 1e-12);
	b = paired.breakdown;
	near(b.compute + b.recompute + b.tensor_parallel + b.context_parallel + b.expert_parallel +
	         b.pipeline_send + b.bubble + b.gradient_exchange + b.optimizer + b.offload + b.other,
	     paired.step_seconds, 1e-9);
	s.overlap_sends = true;
	assert_true(cost_of(&p, &s).step_seconds <= paired.step_seconds);
}

static void all_exposed(const struct cost_problem *p, struct strategy s, enum traffic which)
{
	for (s.schedule = PIPELINE_1F1B; s.schedule <= PIPELINE_DUALPIPE; s.schedule++) {
		EXPLANATION_AUTO e = {0};
		const struct strategy_cost c = cost_of(p, &s);

		assert_int_equal(strategy_explain(p, &s, &c, &e, NULL), SB_OK);
		assert_true(e.traffic[which].seconds > 0);
		near(e.traffic[which].exposed, e.traffic[which].seconds, 1e-9);
	}
}

/* Without an overlap all that is sent is waited for: the seconds of the links are those of the breakdown, on
 * unlike stages too (7 layers on 4), whose ends send for the embedding and the head. */
static void test_traffic(void **state)
{
	struct cost_problem p = problem_of(4);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	p.model.layers = 7;
	p.network = network_of(&p.cluster, &p.constants);
	p.sequences *= 4;
	s.pp = 4;
	s.dp = s.ep = 2;
	all_exposed(&p, s, TRAFFIC_EXPERT);
	all_exposed(&p, s, TRAFFIC_PIPELINE);
	s.ep = 1;
	s.tp = 2;
	all_exposed(&p, s, TRAFFIC_TENSOR);
}

/* An even number of stages and of micro-batches, two of these a stage; no chunks, nothing on the host. */
static void test_what_fits(void **state)
{
	struct cost_problem p = problem_of(4);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const struct model *m = &p.model;

	(void)state;
	s.pp = 4;
	s.schedule = PIPELINE_DUALPIPE;
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 8), FIT_OK);
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 6), MISFIT_SCHEDULE);
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 9), MISFIT_SCHEDULE);
	s.vpp = 2;
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 8), MISFIT_SCHEDULE);
	s.vpp = 1;
	s.offload.optimizer = 1;
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 8), MISFIT_SCHEDULE);
	s.offload.optimizer = 0;
	s.pp = 3;
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 8), MISFIT_SCHEDULE);
	s.schedule = PIPELINE_ZB_H1;
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 8), FIT_OK);
	assert_int_equal(strategy_fit(m, &p.cluster, &s, 2), MISFIT_SCHEDULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bubbles),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_pairs_hide),
	    cmocka_unit_test(test_traffic),
	    cmocka_unit_test(test_both_copies_are_reduced),
	    cmocka_unit_test(test_what_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
