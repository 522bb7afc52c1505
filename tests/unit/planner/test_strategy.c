#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/unit/planner/costed.h"
#include "planner/strategy/cost.h"

static double sum(const struct breakdown_seconds *b)
{
	return b->compute + b->recompute + b->tensor_parallel + b->context_parallel + b->expert_parallel +
	       b->pipeline_send + b->bubble + b->gradient_exchange + b->optimizer + b->other;
}

static void test_no_communication_at_degree_one(void **state)
{
	struct cost_problem p = problem_on(model_preset("llama3-8b")->model, "dgx-h100", 1, 4);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost c = cost_of(&p, &s);

	(void)state;
	assert_true(c.breakdown.tensor_parallel == 0 && c.breakdown.context_parallel == 0);
	assert_true(c.breakdown.expert_parallel == 0 && c.breakdown.pipeline_send == 0);
	assert_true(c.breakdown.gradient_exchange == 0 && c.breakdown.recompute == 0);
	assert_true(c.breakdown.bubble == 0);
	/* a step of many micro-batches has no bubble either, to the last bit */
	s.micro_batch = 1;
	p.sequences = 231;
	c = cost_of(&p, &s);
	assert_true(c.breakdown.bubble == 0);
}

static void test_breakdown_sums_to_the_step(void **state)
{
	struct cost_problem p = problem_on(model_preset("mixtral-8x7b")->model, "dgx-h100", 8, 128);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	s.dp = 4;
	s.tp = 2;
	s.pp = 4;
	s.vpp = 2;
	s.ep = 4;
	s.cp = 2;
	s.sequence_parallel = true;
	s.recompute = RECOMPUTE_FULL;
	for (s.zero = 0; s.zero <= 1; s.zero++) {
		struct strategy_cost c = cost_of(&p, &s);

		assert_true(fabs(sum(&c.breakdown) / c.step_seconds - 1) < 1e-9);
		assert_true(c.bound_seconds <= c.step_seconds);
		assert_true(c.hfu > c.mfu);
	}
}

/* T >= FLOP / (devices x peak): no model may promise more than the hardware has. */
static void test_never_faster_than_the_peak(void **state)
{
	const struct model_preset *q;

	(void)state;
	for (size_t i = 0; (q = model_preset_at(i)); i++) {
		struct cost_problem p = problem_on(q->model, "dgx-a100-80g", 1, 8);
		struct strategy s = strategy_default(&p.model, &p.cluster);
		struct strategy_cost c = cost_of(&p, &s);
		double least = model_step_flops(&p.model, 8, 0.5) / p.cluster.device.peak_flops;

		assert_true(c.step_seconds >= least);
		assert_true(c.mfu > 0 && c.mfu < 1);
	}
}

static void test_faster_hardware_never_slows(void **state)
{
	struct cost_problem p = problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 16, 64);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost slow, fast;

	(void)state;
	s.dp = 2;
	s.tp = 8;
	s.pp = 8;
	s.vpp = 2;
	s.recompute = RECOMPUTE_SELECTIVE;
	s.sequence_parallel = true;
	slow = cost_of(&p, &s);
	for (int i = 0; i < LINK_SCOPES; i++)
		p.cluster.links[i].bytes_per_second *= 2;
	p.network = network_of(&p.cluster, &p.constants);
	fast = cost_of(&p, &s);
	assert_true(fast.step_seconds < slow.step_seconds);
	p.cluster.device.peak_flops *= 2;
	p.cluster.device.memory_bandwidth *= 2;
	assert_true(cost_of(&p, &s).step_seconds < fast.step_seconds);
}

static void test_order_is_free_on_a_flat_network(void **state)
{
	struct cost_problem p = problem_on(model_preset("llama3-8b")->model, "dgx-a100-80g", 8, 64);
	struct strategy s = strategy_default(&p.model, &p.cluster), t;
	double want;

	(void)state;
	p.cluster.links[LINK_CLUSTER] = p.cluster.links[LINK_NODE];
	p.constants.network_share = p.constants.node_share;
	p.constants.network_latency = p.constants.node_latency;
	p.network = network_of(&p.cluster, &p.constants);
	s.dp = 4;
	s.tp = 4;
	s.pp = 4;
	want = cost_of(&p, &s).step_seconds;
	t = s;
	for (int i = 0; i < DIMS; i++)
		t.order[i] = s.order[DIMS - 1 - i];
	assert_true(fabs(cost_of(&p, &t).step_seconds / want - 1) < 1e-12);
}

static void test_order_matters_between_nodes(void **state)
{
	struct cost_problem p = problem_on(model_preset("llama3-8b")->model, "dgx-a100-80g", 8, 64);
	struct strategy s = strategy_default(&p.model, &p.cluster), t;

	(void)state;
	s.dp = 8;
	s.tp = 8;
	t = s;
	t.order[0] = DIM_DP;
	t.order[2] = DIM_TP; /* tensor ranks on different nodes: much slower */
	assert_true(cost_of(&p, &t).step_seconds > 2 * cost_of(&p, &s).step_seconds);
}

static void test_more_micro_batches_shrink_the_bubble(void **state)
{
	double before = 1;

	(void)state;
	for (int64_t m = 8; m <= 64; m *= 2) {
		struct cost_problem p = problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 8, m);
		struct strategy s = strategy_default(&p.model, &p.cluster);
		struct strategy_cost c;

		s.tp = 8;
		s.pp = 8;
		c = cost_of(&p, &s);
		assert_true(c.breakdown.bubble / c.step_seconds < before);
		before = c.breakdown.bubble / c.step_seconds;
	}
}

/* Above 2^16 operations the steady state is extrapolated: doubling the batch must add exactly its work. */
static void test_long_schedules_extrapolate(void **state)
{
	struct cost_problem p = problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 8, 8192);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct strategy_cost one, two, exact;
	double slope;

	(void)state;
	s.tp = 8;
	s.pp = 8;
	one = cost_of(&p, &s);
	assert_false(one.simulated);
	p.sequences = 16384;
	two = cost_of(&p, &s);
	p.sequences = 2048;
	exact = cost_of(&p, &s);
	assert_true(exact.simulated);
	slope = (two.step_seconds - one.step_seconds) / 8192;
	assert_true(fabs(one.step_seconds - (8192 - 2048) * slope - exact.step_seconds) < 1e-6);
}

static enum misfit fit(const struct cost_problem *p, const struct strategy *s)
{
	return strategy_fit(&p->model, &p->cluster, s, p->sequences);
}

static void test_integer_constraints(void **state)
{
	struct cost_problem p = problem_on(model_preset("llama3-8b")->model, "dgx-h100", 2, 12);
	struct strategy s = strategy_default(&p.model, &p.cluster), t = s;

	(void)state;
	t.tp = 16;
	assert_int_equal(fit(&p, &t), MISFIT_HEADS); /* 8 KV heads */
	t = s;
	t.dp = 5;
	assert_int_equal(fit(&p, &t), MISFIT_BATCH);
	t.dp = 32;
	assert_int_equal(fit(&p, &t), MISFIT_DEVICES);
	t.dp = INT64_MAX;
	assert_int_equal(fit(&p, &t), MISFIT_DEVICES);
	t = s;
	t.cp = 3;
	assert_int_equal(fit(&p, &t), MISFIT_SEQUENCE);
	t.cp = 2;
	t.attention = ATTENTION_UNFUSED;
	assert_int_equal(fit(&p, &t), MISFIT_ATTENTION);
	t = s;
	t.ep = 2;
	assert_int_equal(fit(&p, &t), MISFIT_NO_EXPERTS);
	t = s;
	t.vpp = 2;
	assert_int_equal(fit(&p, &t), MISFIT_INTERLEAVE);
	t.pp = 4;
	assert_int_equal(fit(&p, &t), FIT_OK);
	t.vpp = 9;
	assert_int_equal(fit(&p, &t), MISFIT_STAGES);
	for (int i = 1; i < MISFITS; i++) {
		assert_true(strlen(misfit_word((enum misfit)i)) > 0);
		assert_true(strlen(misfit_text((enum misfit)i)) > 0);
	}
}

/* Micro-batches that are no multiple of the stages: of four stages a last group of one deadlocks on three
 * chunks, not on two; of six one of two does on both. One group that is short of full is refused anyway. */
static void test_short_last_groups_that_deadlock(void **state)
{
	static const struct {
		int64_t pp, vpp, micro_batches;
		enum misfit f;
	} rows[] = {{4, 2, 9, FIT_OK},      {4, 3, 9, MISFIT_INTERLEAVE},     {4, 3, 10, FIT_OK},
	            {6, 2, 13, FIT_OK},     {6, 2, 14, MISFIT_INTERLEAVE},    {6, 2, 7, MISFIT_INTERLEAVE},
	            {6, 2, 100000, FIT_OK}, {6, 2, 100004, MISFIT_INTERLEAVE}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost_problem p =
		    problem_on(model_preset("llama3-8b")->model, "dgx-h100", 1, rows[i].micro_batches);
		struct strategy s = strategy_default(&p.model, &p.cluster);

		s.pp = rows[i].pp;
		s.vpp = rows[i].vpp;
		assert_int_equal(fit(&p, &s), rows[i].f);
	}
}

static void test_cuts(void **state)
{
	struct strategy s = {.pp = 4, .vpp = 1};
	const int64_t even[] = {31, 31, 32, 32}, lighter[] = {32, 32, 33, 29};
	int64_t total = 0;

	(void)state;
	/* 126 layers: what does not divide goes behind the first stages, never on the last. */
	s.last_fewer = 0;
	assert_int_equal(strategy_stage_layers(&s, 126, 3), 31);
	for (int64_t i = 0; i < 4; i++)
		total += strategy_stage_layers(&s, 126, i);
	assert_int_equal(total, 126);
	s.last_fewer = 2;
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(strategy_stage_layers(&s, 126, i), lighter[i]);
	s.slice_layers = even;
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(strategy_stage_layers(&s, 126, i), even[i]);
}

/* By hand, on DGX A100: an all-reduce of a few bytes takes 45 us and 2 log2(devices) hops, of 1 us in a node,
 * else of 10 us; one of them, in float16 two. Stragglers 0.5 % a doubling beyond a node. */
static void test_what_all_devices_agree_on(void **state)
{
	static const struct {
		int64_t devices;
		bool float16;
		double agree, stragglers;
	} rows[] = {{1, true, 0, 0},
	            {8, false, 45e-6 + 2 * 3 * 1e-6, 0},
	            {8, true, 2 * (45e-6 + 2 * 3 * 1e-6), 0},
	            {1024, false, 45e-6 + 2 * 10 * 10e-6, 7 * 0.005}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cost_problem p =
		    problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 128, 1024);
		struct strategy s = strategy_default(&p.model, &p.cluster);

		p.model.float16 = rows[i].float16;
		s.dp = rows[i].devices;
		assert_true(fabs(cost_outside(&p, &s, 2) - 2 * (1 + rows[i].stragglers) - rows[i].agree) <
		            1e-12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_communication_at_degree_one),
	    cmocka_unit_test(test_breakdown_sums_to_the_step),
	    cmocka_unit_test(test_never_faster_than_the_peak),
	    cmocka_unit_test(test_faster_hardware_never_slows),
	    cmocka_unit_test(test_order_is_free_on_a_flat_network),
	    cmocka_unit_test(test_order_matters_between_nodes),
	    cmocka_unit_test(test_more_micro_batches_shrink_the_bubble),
	    cmocka_unit_test(test_long_schedules_extrapolate),
	    cmocka_unit_test(test_integer_constraints),
	    cmocka_unit_test(test_short_last_groups_that_deadlock),
	    cmocka_unit_test(test_cuts),
	    cmocka_unit_test(test_what_all_devices_agree_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
