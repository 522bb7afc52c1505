/* Section 8 of the research page cost-model: what each dimension sends, on links of one byte a second and
 * devices whose compute takes no time, so that seconds are bytes and nothing is hidden. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "tests/unit/planner/costed.h"

/* Of one sequence. */
#define TOKENS 2048.0
#define HIDDEN 4096.0
#define WHOLE (2 * TOKENS * HIDDEN) /* y: its activations in 16 bit */

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

/* 32 heads of 128, 8 of keys and values; 8 experts, two a token, in every layer when asked for. */
static struct cost_problem problem_of(bool experts)
{
	const struct model m = {.layers = 8,
	                        .hidden = (int64_t)HIDDEN,
	                        .heads = 32,
	                        .kv_heads = 8,
	                        .ffn_hidden = 16384,
	                        .vocab = 32000,
	                        .seq_len = (int64_t)TOKENS,
	                        .gated_ffn = true,
	                        .has_moe = experts,
	                        .moe = {.experts = 8, .top_k = 2, .ffn_hidden = 4096}};
	struct cost_problem p = problem_on(m, "dgx-h100", 8, 64);

	p.cluster.device.peak_flops = p.cluster.device.memory_bandwidth = INFINITY;
	p.constants.launch_seconds = 0;
	p.network = (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1}};
	return p;
}

static struct layer_time layer(const struct cost_problem *p, const struct strategy *s, enum layer_kind kind)
{
	const struct groups g = groups_of(&p->network, s);

	return layer_seconds(p, s, &g, kind);
}

/* Over 4 ranks: two all-reduces each way of 2 (t - 1) / t y; with sequence parallelism as much in gathers and
 * scatters, and 2 (t - 1) / t y once more for the products' inputs in the backward pass; a replayed layer
 * sends its forward pass again. Of two sequences twice as much, of a context rank its share. */
static void test_tensor_ranks(void **state)
{
	const double ring = 3 / 4.0 * WHOLE;
	struct cost_problem p = problem_of(false);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	s.tp = 4;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_TENSOR], 4 * 2 * ring, 1e-12);
	near(layer(&p, &s, LAYER_DENSE).forward, 2 * 2 * ring, 1e-12);
	s.recompute = RECOMPUTE_FULL;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_TENSOR], 6 * 2 * ring, 1e-12);
	s.recompute = RECOMPUTE_NONE;
	s.sequence_parallel = true;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_TENSOR], (8 + 2) * ring, 1e-12);
	s.micro_batch = 2;
	s.cp = 4;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_TENSOR], (8 + 2) * ring / 2, 1e-12);
}

/* The embedding is summed over the ranks that hold its rows (or scattered); the loss adds up a maximum, a
 * target and a sum of 4 bytes a token, and the head's product sums the gradient of its input, which sequence
 * parallelism has gathered before. */
static void test_ends(void **state)
{
	const double ring = 3 / 4.0 * WHOLE, loss = 3 * 2 * 3 / 4.0 * 4 * TOKENS;
	struct cost_problem p = problem_of(false);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	struct groups g;

	(void)state;
	s.tp = 4;
	g = groups_of(&p.network, &s);
	near(embedding_seconds(&p, &s, &g).parts[PART_TENSOR], 2 * ring, 1e-12);
	near(head_seconds(&p, &s, &g).parts[PART_TENSOR], 2 * ring + loss, 1e-12);
	s.sequence_parallel = true;
	near(embedding_seconds(&p, &s, &g).parts[PART_TENSOR], ring, 1e-12);
	near(head_seconds(&p, &s, &g).parts[PART_TENSOR], 2 * ring + loss, 1e-12);
}

/* Four all-to-alls of k b s h elements of 2 bytes, of which (e - 1) / e leave: with tensor ranks each sends
 * its share. Experts cut in two gather their T_r tokens from the other rank and scatter what they made of
 * them, each way: 4 (e_t - 1) T_r h of 2 bytes. */
static void test_experts(void **state)
{
	struct cost_problem p = problem_of(true);
	struct strategy s = strategy_default(&p.model, &p.cluster);

	(void)state;
	s.dp = s.ep = 8;
	near(layer(&p, &s, LAYER_MOE).parts[PART_EXPERT], 4 * 7 / 8.0 * 2 * WHOLE, 1e-12);
	s.tp = 2;
	s.sequence_parallel = true;
	near(layer(&p, &s, LAYER_MOE).parts[PART_EXPERT], 4 * 7 / 8.0 * 2 * WHOLE / 2, 1e-12);
	s.ep = 1;
	s.etp = 2;
	near(layer(&p, &s, LAYER_MOE).parts[PART_EXPERT], 4 * 2 * WHOLE / 2, 1e-12);
}

/* Ring attention over 4 ranks: three blocks of keys and values forward, and back these and their gradients:
 * 3 (c - 1) 2 * 2 b (s / c) g d bytes; tensor ranks have a share of the heads. */
static void test_context_ranks(void **state)
{
	struct cost_problem p = problem_of(false);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const double block = 2 * 2 * TOKENS / 4 * 8 * 128;

	(void)state;
	s.cp = 4;
	s.attention = ATTENTION_FLASH;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_CONTEXT], 3 * 3 * block, 1e-12);
	near(layer(&p, &s, LAYER_DENSE).forward, 3 * block, 1e-12);
	s.tp = 2;
	near(layer(&p, &s, LAYER_DENSE).parts[PART_CONTEXT], 3 * 3 * block / 2, 1e-12);
}

/* Between stages each tensor rank sends y / t; without sequence parallelism the receivers gather it, y in
 * all. Two chunks a stage send twice. */
static void test_stages(void **state)
{
	struct cost_problem p = problem_of(false);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const struct stage_run run = {.first = 1, .count = 1, .layers = {2}};
	struct layer_costs l;
	struct groups g;

	(void)state;
	s.pp = 4;
	s.tp = 4;
	g = groups_of(&p.network, &s);
	near(stage_send_seconds(&p, &s, &g), WHOLE, 1e-12);
	s.sequence_parallel = true;
	near(stage_send_seconds(&p, &s, &g), WHOLE / 4, 1e-12);
	l = layer_costs_of(&p, &s, &g);
	near(stage_seconds(&p, &l, &s, &g, &run).sends, 2 * WHOLE / 4, 1e-12);
	s.vpp = 2;
	near(stage_seconds(&p, &l, &s, &g, &run).sends, 2 * 2 * WHOLE / 4, 1e-12);
}

/* Per stage of two layers and dp 4: gradients of 4 bytes once, summed (2 (D - 1) / D) or, from ZeRO 1 on,
 * scattered, with the 16-bit weights gathered; with ZeRO 3 weights are gathered in both passes of each
 * micro-batch, and gradients scattered. */
static void test_replicas(void **state)
{
	struct cost_problem p = problem_of(false);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	const struct parameters one = model_layer_parameters(&p.model, LAYER_DENSE);
	const struct stage_run run = {.first = 1, .count = 1, .layers = {2}};
	const double n = 2 * (double)(one.tensor + one.replicated), ring = 3 / 4.0 * n;
	struct layer_costs l;
	struct stage_time t;
	struct groups g;

	(void)state;
	s.pp = 4;
	s.dp = 4;
	s.gradient_bytes = 4;
	g = groups_of(&p.network, &s);
	l = layer_costs_of(&p, &s, &g);
	near(stage_seconds(&p, &l, &s, &g, &run).exchange, 2 * ring * 4, 1e-12);
	s.zero = 1;
	near(stage_seconds(&p, &l, &s, &g, &run).exchange, ring * (4 + 2), 1e-12);
	s.zero = 3;
	t = stage_seconds(&p, &l, &s, &g, &run);
	near(t.forward + t.backward - t.sends, ring * (2 + 2 + 4), 1e-9);
	near(t.exchange + 1, 1, 0);
}

/* Sequence parallelism sums once what all 4 tensor ranks hold: two norms of h a layer, on the last stage the
 * final one, and a router of h x 8 where there are experts. */
static void test_norms(void **state)
{
	(void)state;
	for (int experts = 0; experts < 2; experts++) {
		const struct cost_problem p = problem_of(experts);
		struct strategy s = strategy_default(&p.model, &p.cluster);
		const enum layer_kind k = experts ? LAYER_MOE : LAYER_DENSE;
		struct stage_run run = {.first = 1, .count = 1};
		const double n = 2 * (2 * HIDDEN + (experts ? 8 * HIDDEN : 0));
		struct layer_costs l;
		struct groups g;

		run.layers[k] = 2;
		s.pp = s.tp = 4;
		s.etp = experts ? 4 : 1; /* else tensor ranks hold experts in common, too */
		s.gradient_bytes = 4;
		g = groups_of(&p.network, &s);
		l = layer_costs_of(&p, &s, &g);
		assert_true(stage_seconds(&p, &l, &s, &g, &run).exchange == 0);
		s.sequence_parallel = true;
		near(stage_seconds(&p, &l, &s, &g, &run).exchange, 2 * 3 / 4.0 * 4 * n, 1e-12);
		run.first = 3;
		near(stage_seconds(&p, &l, &s, &g, &run).exchange, 2 * 3 / 4.0 * 4 * (n + HIDDEN), 1e-12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tensor_ranks), cmocka_unit_test(test_ends),
	    cmocka_unit_test(test_experts),      cmocka_unit_test(test_context_ranks),
	    cmocka_unit_test(test_stages),       cmocka_unit_test(test_replicas),
	    cmocka_unit_test(test_norms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
