/* Two-dimensional tensor parallelism: volumes, shapes, memory and constraints by hand, from cost-model
 * section 8 and MindSpore's description of its high-dimension tensor parallelism. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/cost/tensor_grid.h"
#include "planner/strategy/explain.h"
#include "planner/strategy/search.h"
#include "tests/unit/planner/costed.h"

static const struct model GPT = {
    .layers = 4, .hidden = 1024, .heads = 16, .ffn_hidden = 4096, .vocab = 8192, .seq_len = 2048};
/* 16-bit activations of one micro-batch of one sequence: 2 x 2048 x 1024. */
#define Y 4194304.0

static struct cost_problem problem_of(struct model m, double node, double network)
{
	struct cost_problem p = {.model = m, .sequences = 16, .memory_bytes = INT64_C(80000000000)};

	p.cluster =
	    (struct cluster){.nodes = 4,
	                     .devices_per_node = 8,
	                     .device = {312e12, 2e12, INT64_C(80000000000), FAMILY_AMPERE, true},
	                     .links = {[LINK_NODE] = {node, NAN, 0}, [LINK_CLUSTER] = {network, NAN, 0}},
	                     .compute_efficiency = NAN,
	                     .memory_efficiency = NAN,
	                     .link_efficiency = {NAN, NAN, NAN}};
	model_defaults(&p.model);
	p.constants = constants_for(&p.cluster);
	p.network = network_of(&p.cluster, &p.constants);
	return p;
}

/* tp = x * y, dp = 2, one stage. */
static struct strategy grid(const struct cost_problem *p, int64_t x, int64_t y)
{
	struct strategy s = strategy_default(&p->model, &p->cluster);

	s.tp = x * y;
	s.tp_x = x;
	s.dp = 2;
	s.sequence_parallel = true;
	s.attention = ATTENTION_FLASH;
	return s;
}

static void near(double value, double wanted)
{
	if (fabs(value - wanted) > 1e-9 * fabs(wanted))
		fail_msg("%.17g instead of %.17g", value, wanted);
}

static enum misfit fit(const struct cost_problem *p, const struct strategy *s)
{
	return strategy_fit(&p->model, &p->cluster, s, p->sequences);
}

static struct strategy_cost cost(const struct cost_problem *p, const struct strategy *s)
{
	struct strategy_cost c;

	assert_int_equal(fit(p, s), FIT_OK);
	assert_int_equal(strategy_cost(p, s, &c, NULL), SB_OK);
	return c;
}

/* 4096 tokens, 4096 by 16384 and back, 16 ranks: one dimension sends 2 * 15/16 * 4096 * 4096 elements,
 * 2 * 8 sends 2 * 4096 * (16384 + 7 * 4096) / 16. */
static void test_elements(void **state)
{
	(void)state;
	near(tensor_grid_elements((struct tensor_grid){1, 16}, 4096, 4096, 16384), 31457280);
	near(tensor_grid_elements((struct tensor_grid){2, 8}, 4096, 4096, 16384), 23068672);
	assert_true(tensor_grid_elements((struct tensor_grid){1, 1}, 4096, 4096, 16384) == 0);
	/* Square matrices and a square grid: 2 (sqrt P - 1) / P shares against (P - 1) / P. */
	for (int64_t side = 4; side <= 64; side++)
		assert_true(tensor_grid_elements((struct tensor_grid){side, side}, 4096, 8192, 8192) <
		            tensor_grid_elements((struct tensor_grid){1, side * side}, 4096, 8192, 8192));
}

/* What is one-dimensional is so to the last bit, whichever way it is said. */
static void test_a_side_of_one_is_one_dimension(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct strategy s = grid(&p, 1, i & 1 ? 8 : 2), plain;
		struct strategy_cost a, b;

		s.dp = 1;
		s.cp = i & 2 ? 2 : 1;
		s.pp = i & 4 ? 2 : 1;
		s.recompute = i & 8 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
		plain = s;
		plain.tp_x = 0;
		a = cost(&p, &s);
		b = cost(&p, &plain);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static double bytes_of(const struct cost_problem *p, const struct strategy *s, enum traffic t)
{
	EXPLANATION_AUTO e = {0};
	const struct strategy_cost c = cost_of(p, s);

	assert_int_equal(strategy_explain(p, s, &c, &e, NULL), SB_OK);
	return e.traffic[t].bytes;
}

/* 2 * 4, 4 layers, 8 micro-batches.
 * x, half of every tensor: query, key and value 3/4 Y, the output's input 1/4 Y, up and down 1 Y each: 3 Y /
 * 2 a pass; again the two inputs for the weights' gradients, 5/4 Y / 2; the sums of two norms, 4 bytes a
 * token of 2048 / 4, twice half of it, in each pass. The final norm likewise. y, 3/4 of every tensor: half
 * the hidden size, four times a pass, and two of them again: 10 * 3/8 Y. All 8: the embedding's scatter, the
 * head's two, and three of 4 bytes a token in the loss. K and V: one step of 2/8 Y forward, and twice that
 * backward. */
static void test_traffic_by_side(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);
	struct strategy s = grid(&p, 2, 4);
	double norm = 2 * 0.5 * 4 * 2048 / 4;

	(void)state;
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_X), 8 * (4 * (3 * Y + 1.25 * Y / 2 + 2 * 2 * norm) + 2 * norm));
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_Y), 8 * 4 * 10 * 3.0 / 8 * Y);
	near(bytes_of(&p, &s, TRAFFIC_TENSOR), 8 * (3 * 7.0 / 8 * Y + 3 * 2 * 7.0 / 8 * 4 * 2048));
	near(bytes_of(&p, &s, TRAFFIC_CONTEXT), 8 * 4 * 0.75 * Y);
	/* Full recomputation repeats a pass: without the inputs that are gathered again. */
	s.recompute = RECOMPUTE_FULL;
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_X),
	     8 * (4 * (4.5 * Y + 1.25 * Y / 2 + 3 * 2 * norm) + 2 * norm));
	near(bytes_of(&p, &s, TRAFFIC_CONTEXT), 8 * 4 * 1 * Y);
	s.tp_x = 1;
	assert_true(bytes_of(&p, &s, TRAFFIC_TENSOR_X) == 0 && bytes_of(&p, &s, TRAFFIC_TENSOR_Y) == 0);
}

/* A gated FFN scatters gate and up each; grouped queries make fewer keys: (16 + 2 * 4) / 16 Y / 4. */
static void test_gated_and_grouped(void **state)
{
	struct model m = GPT;
	struct cost_problem p;
	struct strategy s;
	double norm = 2 * 0.5 * 4 * 2048 / 4;

	(void)state;
	m.gated_ffn = true;
	m.kv_heads = 4;
	p = problem_of(m, 300e9, 25e9);
	s = grid(&p, 2, 4);
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_X),
	     8 * (4 * (2 * (1.5 / 4 + 0.25 + 3) / 2 * Y + 1.25 * Y / 2 + 2 * 2 * norm) + 2 * norm));
	near(bytes_of(&p, &s, TRAFFIC_CONTEXT), 8 * 4 * 3 * (2 * 4.0 / 16 / 8) * Y);
}

/* Latents of 256 and 128 + 64 columns are made on every y rank; 16 heads of 64 + 64 and 64 + 64 out of them.
 */
static void test_latent_attention(void **state)
{
	struct model m = GPT;
	struct cost_problem p;
	struct strategy s;
	double norm = 2 * 0.5 * 4 * 2048 / 4, column = Y / 1024, results, input = 16 * 64 / 4.0;

	(void)state;
	m.has_mla = true;
	m.mla = (struct mla){.q_rank = 256, .kv_rank = 128, .nope_dim = 64, .rope_dim = 64, .value_dim = 64};
	p = problem_of(m, 300e9, 25e9);
	s = grid(&p, 2, 4);
	results = 256 + 16 * 128 / 4.0 + 192 + 16 * 128 / 4.0 + input + 2 * 1024;
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_X),
	     8 * (4 * (2 * results / 2 * column + (input + 1024) / 2 * column + 2 * (2 + 2 * 4) * norm) +
	          2 * norm));
	m.mla.kv_rank = 129;
	p = problem_of(m, 300e9, 25e9);
	assert_int_equal(fit(&p, &s), MISFIT_WIDTH);
}

/* Experts: whole tokens come together over x and go apart, half of Y / 8 each time, both ways; nothing else
 * of the x ranks but attention's. */
static void test_experts(void **state)
{
	struct model m = GPT;
	struct cost_problem p;
	struct strategy s;
	double norm = 2 * 0.5 * 4 * 2048 / 4;

	(void)state;
	m.has_moe = true;
	m.moe = (struct moe){.experts = 8, .top_k = 2, .ffn_hidden = 512, .every = 1};
	p = problem_of(m, 300e9, 25e9);
	s = grid(&p, 2, 4);
	s.ep = 8;
	near(bytes_of(&p, &s, TRAFFIC_TENSOR_X),
	     8 * (4 * (2 * Y / 2 + 0.25 * Y / 2 + 4 * Y / 8 / 2 + 2 * 2 * norm) + 2 * norm));
	/* Two passes out and back of two experts a token, as with one dimension of as many ranks. */
	near(bytes_of(&p, &s, TRAFFIC_EXPERT), 8 * 4 * 4 * 2 * Y / 8 * 7 / 8);
	s.tp_x = 1;
	near(bytes_of(&p, &s, TRAFFIC_EXPERT), 8 * 4 * 4 * 2 * Y / 8 * 7 / 8);
}

static double products(const struct cost_problem *p, double x, double y)
{
	double h = 1024;

	return gemm_seconds(p, 2048, 3 * h / y, h / x) + gemm_seconds(p, 2048, h / x, h / y) +
	       gemm_seconds(p, 2048, 4 * h / y, h / x) + gemm_seconds(p, 2048, h / x, 4 * h / y);
}

/* The blocks of the weights are cut both ways; all else that a device computes is as in one dimension. */
static void test_products_are_cut_both_ways(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);
	struct strategy one = grid(&p, 1, 8), two = grid(&p, 2, 4);
	struct groups g = groups_of(&p.network, &one), k = groups_of(&p.network, &two);
	struct layer_time a = layer_seconds(&p, &one, &g, LAYER_DENSE);
	struct layer_time b = layer_seconds(&p, &two, &k, LAYER_DENSE);

	(void)state;
	near(b.parts[PART_COMPUTE] - a.parts[PART_COMPUTE], 3 * (products(&p, 2, 4) - products(&p, 1, 8)));
}

/* Everything that is kept is an eighth, norms go with the hidden columns: 12 h^2 / 8 + 2 h / 2 a layer. What
 * is gathered comes and goes: twice half the hidden size and twice a quarter of the FFN; K and V of a
 * neighbour. */
static void test_memory(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);
	struct strategy one = grid(&p, 1, 8), two = grid(&p, 2, 4);
	struct memory_model a = memory_model_of(&p, &one), b = memory_model_of(&p, &two);

	(void)state;
	near(b.dense_parameters[LAYER_DENSE], 12 * 1024.0 * 1024 / 8 + 2 * 1024 / 2.0);
	near(b.embedding_parameters, 8192 * 1024 / 8.0);
	near(b.head_parameters, 8192 * 1024 / 8.0 + 512);
	near(b.stored[LAYER_DENSE], a.stored[LAYER_DENSE]);
	near(b.kept_transient, 2 * (Y / 2 + Y) + 8 * 2048 * 1024.0 / 8);
	near(b.last_transient, a.last_transient);
}

static void test_constraints(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);
	struct strategy s = grid(&p, 2, 4);

	(void)state;
	assert_int_equal(fit(&p, &s), FIT_OK);
	s.tp_x = 3;
	assert_int_equal(fit(&p, &s), MISFIT_GRID);
	s.tp_x = 2;
	s.sequence_parallel = false;
	assert_int_equal(fit(&p, &s), MISFIT_GRID);
	s = grid(&p, 2, 4);
	s.attention = ATTENTION_UNFUSED;
	assert_int_equal(fit(&p, &s), MISFIT_GRID);
	/* Heads are cut by y alone: 4 of K and V for 16 ranks. */
	p.model.kv_heads = 4;
	s = grid(&p, 4, 4);
	assert_int_equal(fit(&p, &s), FIT_OK);
	s.tp_x = 2;
	assert_int_equal(fit(&p, &s), MISFIT_HEADS);
	/* 1032 columns in halves and quarters, but not in 16. */
	p.model.hidden = 1032;
	s = grid(&p, 16, 1);
	assert_int_equal(fit(&p, &s), MISFIT_WIDTH);
	p.model = GPT;
	model_defaults(&p.model);
	/* Ring attention halves each of the 2 x 2 shares of 2052 tokens: 256.5. */
	p.model.seq_len = 2052;
	s = grid(&p, 2, 2);
	s.cp = 2;
	s.dp = 1;
	assert_int_equal(fit(&p, &s), MISFIT_SEQUENCE);
}

/* x lies outside y: two ranks four apart, in a node of four in two nodes. */
static void test_groups(void **state)
{
	struct cost_problem p = problem_of(GPT, 300e9, 25e9);
	struct strategy s = grid(&p, 4, 4);
	struct groups g = groups_of(&p.network, &s);

	(void)state;
	assert_int_equal(g.tp_y.ranks, 4);
	assert_int_equal(g.tp_y.inside[0], 4);
	assert_int_equal(g.tp_x.ranks, 4);
	assert_int_equal(g.tp_x.inside[0], 2);
	assert_int_equal(g.tp.ranks, 16);
	assert_int_equal(g.tp.inside[0], 8);
	s.cp = 2; /* ranks 16 apart: another two nodes */
	s.dp = 1;
	g = groups_of(&p.network, &s);
	assert_int_equal(g.cp.ranks, 8);
	assert_int_equal(g.cp.inside[0], 2);
}

/* 16 devices, many micro-batches: where links are slow between the nodes, eight ranks in
 * each node beat every grid of 16. On a flat network 4 * 4 of square matrices send less than 16 in a row. */
static void test_the_network_decides(void **state)
{
	struct model m = {
	    .layers = 8, .hidden = 8192, .heads = 64, .ffn_hidden = 8192, .vocab = 8192, .seq_len = 2048};
	struct cost_problem p = problem_of(m, 300e9, 5e9), flat;
	struct strategy s = grid(&p, 1, 8);
	double inside;

	(void)state;
	p.cluster.nodes = 2;
	p.sequences = 64;
	inside = cost(&p, &s).step_seconds;
	for (int64_t x = 2; x <= 16; x *= 2) {
		s = grid(&p, x, 16 / x);
		s.dp = 1;
		assert_true(cost(&p, &s).step_seconds > inside);
	}
	m.kv_heads = 4;
	flat = problem_of(m, 100e9, 100e9);
	s = grid(&flat, 4, 4);
	assert_int_equal(fit(&flat, &s), FIT_OK);
	near(bytes_of(&flat, &s, TRAFFIC_TENSOR_Y), 8 * 8 * 10 * (3.0 / 4 / 4) * 8 * Y);
	{
		double sent = bytes_of(&flat, &s, TRAFFIC_TENSOR_X) + bytes_of(&flat, &s, TRAFFIC_TENSOR_Y) +
		              bytes_of(&flat, &s, TRAFFIC_CONTEXT);

		/* One dimension: ten times 15/16 of all of it. */
		assert_true(sent < 8 * 8 * 10 * (15.0 / 16) * 8 * Y);
	}
}

static void search(const struct cost_problem *p, struct search_request *r, struct search_result *out)
{
	r->problem = *p;
	r->attention = ATTENTION_FLASH;
	r->gradient_bytes = 4;
	r->alternatives = 5;
	assert_int_equal(strategy_search(r, out, NULL), SB_OK);
}

/* One sequence, four heads of K and V, and a network as fast as the node: 32 devices are of use in a grid
 * only. Unasked it is not tried. */
static void test_a_request_is_needed(void **state)
{
	struct model m = GPT;
	struct search_request r = {0};
	static struct search_result x;
	struct cost_problem p;
	int64_t candidates;
	double plain;

	(void)state;
	m.hidden = 8192;
	m.ffn_hidden = 8192;
	m.kv_heads = 4;
	m.layers = 2;
	p = problem_of(m, 300e9, 300e9);
	p.sequences = 1;
	r.only[ONLY_CP] = (struct allowed){1, {1}};
	search(&p, &r, &x);
	candidates = x.candidates;
	plain = x.best.cost.step_seconds;
	assert_int_equal(x.best.strategy.tp_x, 1);
	r.only[ONLY_TENSOR] = (struct allowed){1, {0}};
	search(&p, &r, &x);
	assert_int_equal(x.candidates, candidates);
	assert_true(x.best.cost.step_seconds == plain);
	r.only[ONLY_TENSOR] = (struct allowed){1, {1}};
	search(&p, &r, &x);
	assert_true(x.candidates > candidates);
	assert_true(x.best.strategy.tp_x > 1 && x.best.cost.step_seconds < plain && x.optimal);
	r.only[ONLY_TENSOR].count = 0;
	r.only[ONLY_TP_X] = (struct allowed){1, {2}};
	search(&p, &r, &x);
	assert_int_equal(x.best.strategy.tp_x, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_elements),
	    cmocka_unit_test(test_a_side_of_one_is_one_dimension),
	    cmocka_unit_test(test_traffic_by_side),
	    cmocka_unit_test(test_gated_and_grouped),
	    cmocka_unit_test(test_latent_attention),
	    cmocka_unit_test(test_experts),
	    cmocka_unit_test(test_products_are_cut_both_ways),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_constraints),
	    cmocka_unit_test(test_groups),
	    cmocka_unit_test(test_the_network_decides),
	    cmocka_unit_test(test_a_request_is_needed),
	};

	return cmocka_run_group_tests_name("tensor grid", tests, NULL, NULL);
}
