#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "planner/cost/offload.h"
#include "planner/strategy/search.h"
#include "tests/unit/planner/chunks.h"
#include "planner/strategy/space.h"
#include "tests/unit/planner/costed.h"

static struct search_request request(const char *model, const char *cluster, int64_t nodes, int64_t sequences)
{
	struct search_request r = {.problem =
	                               problem_on(model_preset(model)->model, cluster, nodes, sequences),
	                           .gradient_bytes = 4,
	                           .alternatives = 5};

	r.attention = strategy_attention(&r.problem.model, &r.problem.cluster);
	return r;
}

static struct search_request small(int64_t devices, int64_t layers, int64_t vocab)
{
	struct search_request r = request("llama3-8b", "dgx-a100-80g", 1, 8);

	r.problem.cluster.host_memory_bytes = 0; /* nothing is offloaded: test_space.c has that */
	r.problem.cluster.devices_per_node = 4;
	r.problem.cluster.nodes = devices / 4;
	r.problem.network = network_of(&r.problem.cluster, &r.problem.constants);
	r.problem.model.layers = layers;
	r.problem.model.vocab = vocab;
	r.problem.model.seq_len = 1024;
	r.problem.memory_bytes = 16000000000;
	return r;
}

struct brute {
	const struct search_request *r;
	double best, least;
	int64_t weighed;
};

static void weigh(struct brute *b, const struct strategy *s)
{
	const struct cost_problem *p = &b->r->problem;
	struct strategy_cost c;

	if (strategy_fit(&p->model, &p->cluster, s, p->sequences) != FIT_OK)
		return;
	assert_int_equal(strategy_cost(p, s, &c, NULL), SB_OK);
	b->weighed++;
	b->least = fmin(b->least, memory_total(&c.memory));
	if (c.fits)
		b->best = fmin(b->best, c.step_seconds);
	assert_true(c.bound_seconds <= c.step_seconds);
}

static void options(struct brute *b, struct strategy s)
{
	int most = s.pp > 1 ? 1 : 3;

	for (int sp = 0; sp < (s.tp > 1 ? 2 : 1); sp++) {
		for (int rec = 0; rec < RECOMPUTES; rec++) {
			for (s.zero = 0; s.zero <= (s.dp * s.cp > 1 ? most : 0); s.zero++) {
				s.sequence_parallel = sp;
				s.recompute = (enum recompute)rec;
				s.overlap_gradients = s.zero > 0;
				weigh(b, &s);
			}
		}
	}
}

static void cuts(struct brute *b, struct strategy s)
{
	const struct model *model = &b->r->problem.model;
	int64_t layers = model->layers, m = 8 / s.dp / s.micro_batch;

	for (s.vpp = 1; s.vpp == 1 || (s.pp > 1 && m % s.pp == 0 && s.pp * s.vpp <= layers + 2); s.vpp++) {
		for (s.last_fewer = 0; s.last_fewer <= (s.pp > 1 ? 8 : 0); s.last_fewer++) {
			int64_t last = layers / (s.pp * s.vpp) - s.last_fewer, others = s.pp * s.vpp - 1;

			if ((s.last_fewer == 0 || (last >= (s.vpp == 1) && shorter_pays(&s, model))) &&
			    (chunks_differ(&s, model, layers - last) || (layers - last) % others == 0))
				options(b, s);
		}
	}
}

/* Every strategy, one by one, by nested loops that share nothing with the search but the cost. */
static struct brute brute_force(const struct search_request *r)
{
	struct brute b = {.r = r, .best = INFINITY, .least = INFINITY};
	int64_t devices = cluster_devices(&r->problem.cluster);
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);

	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	for (s.tp = 1; s.tp <= 8; s.tp *= 2) {
		for (s.cp = 1; s.cp <= 4; s.cp *= 2) {
			for (s.pp = 1; s.pp <= r->problem.model.layers; s.pp++) {
				for (s.dp = 1; s.dp <= 8; s.dp *= 2) {
					for (s.micro_batch = 1; s.micro_batch <= 8; s.micro_batch *= 2) {
						if (s.tp * s.cp * s.pp * s.dp > devices)
							continue;
						s.vpp = 1;
						s.order[2] = DIM_DP;
						s.order[3] = DIM_PP;
						cuts(&b, s);
						s.order[2] = DIM_PP;
						s.order[3] = DIM_DP;
						cuts(&b, s);
					}
				}
			}
		}
	}
	return b;
}

static void equals_brute_force(struct search_request r)
{
	struct search_result *x = malloc(sizeof(*x));
	struct brute b = brute_force(&r);

	assert_non_null(x);
	assert_true(b.weighed > 1000);
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	if (fabs(x->best.cost.step_seconds / b.best - 1) > 1e-12)
		fail_msg("search %.9g, brute force %.9g of %lld", x->best.cost.step_seconds, b.best,
		         (long long)b.weighed);
	assert_true(x->least_memory >= b.least * (1 - 1e-12));
	assert_true(x->optimal);
	assert_true(x->lower_bound <= x->best.cost.step_seconds);
	free(x);
}

static void test_equals_brute_force(void **state)
{
	(void)state;
	equals_brute_force(small(8, 8, 128256)); /* the head weighs several layers */
	equals_brute_force(small(8, 6, 32000));
	equals_brute_force(small(12, 4, 1000));
}

static void test_tight_memory_equals_brute_force(void **state)
{
	struct search_request r = small(8, 8, 32000);

	(void)state;
	r.problem.memory_bytes = 9000000000;
	equals_brute_force(r);
}

/* With nothing feasible nothing may be skipped: the least memory found is the least there is. */
static void test_least_memory_equals_brute_force(void **state)
{
	struct search_request r = small(8, 6, 32000);
	struct search_result *x = malloc(sizeof(*x));
	struct brute b;

	(void)state;
	assert_non_null(x);
	r.problem.memory_bytes = 1000000;
	b = brute_force(&r);
	assert_true(isinf(b.best));
	assert_int_equal(strategy_search(&r, x, NULL), SB_EINFEASIBLE);
	assert_true(fabs(x->least_memory / b.least - 1) < 1e-12);
	free(x);
}

/* A token of this model takes 2 x 1024 x 32000 = 65.5 MFLOP in the head, 2 x 8 x 1024^2 = 16.8 in a layer's
 * products, and 4 x 4096 x 1024 = 16.8 in its scores, of which a causal model has half: the head weighs 2.6
 * layers, and 1.95 where all tokens attend to all. */
static void test_what_the_head_weighs(void **state)
{
	struct model m = {
	    .layers = 45, .hidden = 1024, .heads = 16, .ffn_hidden = 2048, .vocab = 32000, .seq_len = 4096};

	(void)state;
	model_defaults(&m);
	assert_int_equal(most_last_fewer(&m), 3);
	m.bidirectional = true;
	assert_int_equal(most_last_fewer(&m), 2);
}

static void test_more_devices_are_never_worse(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	double before = INFINITY;

	(void)state;
	assert_non_null(x);
	for (int64_t nodes = 2; nodes <= 9; nodes++) {
		struct search_request r = request("llama3-8b", "dgx-h100", nodes, 96);

		assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
		assert_true(x->best.cost.step_seconds <= before);
		assert_true(strategy_devices(&x->best.strategy) <= 8 * nodes);
		before = x->best.cost.step_seconds;
	}
	/* Nor where a node's devices divide worse. */
	before = INFINITY;
	for (int64_t each = 4; each <= 10; each++) {
		struct search_request r = request("llama3-8b", "dgx-h100", 4, 96);

		r.problem.cluster.devices_per_node = each;
		r.problem.network = network_of(&r.problem.cluster, &r.problem.constants);
		assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
		assert_true(x->best.cost.step_seconds <= before);
		before = x->best.cost.step_seconds;
	}
	free(x);
}

static void check_result(const struct search_request *r, const struct search_result *x)
{
	const struct cost_problem *p = &r->problem;

	assert_true(x->best.cost.fits);
	assert_true(x->lower_bound <= x->best.cost.step_seconds);
	for (int i = 0; i < x->alternative_count; i++) {
		assert_int_equal(
		    strategy_fit(&p->model, &p->cluster, &x->alternatives[i].strategy, p->sequences), FIT_OK);
		assert_true(x->alternatives[i].cost.fits);
		assert_true(x->alternatives[i].cost.step_seconds >= x->best.cost.step_seconds);
		/* the same work under other names is no alternative to the one before */
		for (int k = 0; k < i; k++)
			assert_true(fabs(x->alternatives[i].cost.bound_seconds /
			                     x->alternatives[k].cost.bound_seconds -
			                 1) > 1e-10);
	}
	assert_true(x->frontier_count > 0);
	assert_true(x->frontier[0].cost.step_seconds == x->best.cost.step_seconds);
	for (int i = 1; i < x->frontier_count; i++) {
		assert_true(x->frontier[i].cost.step_seconds > x->frontier[i - 1].cost.step_seconds);
		assert_true(memory_bytes_of(&x->frontier[i].cost.memory) <
		            memory_bytes_of(&x->frontier[i - 1].cost.memory));
	}
}

static void test_answers_are_sound(void **state)
{
	static const struct {
		const char *model, *cluster;
		int64_t nodes, sequences;
	} cases[] = {{"gpt3-175b", "dgx-a100-80g", 128, 1536},
	             {"mixtral-8x7b", "dgx-h100", 8, 256},
	             {"deepseek-v3", "h800-8", 64, 1024},
	             {"llama3-405b", "dgx-h100", 256, 2048},
	             {"qwen3-30b-a3b", "atlas-910b", 4, 128},
	             {"deepseek-v2", "cloudmatrix384", 48, 384},
	             /* the lowest bounds here are loose ones: the fastest plan is not among them */
	             {"qwen3-235b-a22b", "gb200-nvl72", 14, 1536}};
	struct search_result *x = malloc(sizeof(*x)), *y = malloc(sizeof(*y));

	(void)state;
	assert_true(x && y);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct search_request r =
		    request(cases[i].model, cases[i].cluster, cases[i].nodes, cases[i].sequences);

		assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
		check_result(&r, x);
		/* The same again, to the last figure. */
		assert_int_equal(strategy_search(&r, y, NULL), SB_OK);
		assert_true(x->best.cost.step_seconds == y->best.cost.step_seconds);
		assert_int_equal(x->candidates, y->candidates);
		assert_int_equal(x->alternative_count, y->alternative_count);
		assert_int_equal(x->frontier_count, y->frontier_count);
	}
	free(x);
	free(y);
}

static void test_infeasible_says_what_is_missing(void **state)
{
	struct search_request r = request("megatron-310b", "dgx-a100-80g", 1, 2160);
	struct search_result *x = malloc(sizeof(*x));
	struct sb_error err = {0};
	int64_t effort = 0, nodes = 0;

	(void)state;
	assert_non_null(x);
	r.problem.cluster.host_memory_bytes = 0;
	assert_int_equal(strategy_search(&r, x, &err), SB_EINFEASIBLE);
	assert_string_equal(err.word, "infeasible");
	/* 8 devices share 18 bytes a parameter of the layers at the very least. */
	assert_true(x->least_memory > 18.0 * 12 * 96 * 16384 * 16384 / 8);
	assert_int_equal(strategy_nearest_nodes(&r, &effort, &nodes, &err), SB_OK);
	assert_true(nodes > 1);
	r.problem.cluster.nodes = nodes;
	assert_int_equal(strategy_search(&r, x, &err), SB_OK);
	r.problem.cluster.nodes = nodes - 1;
	assert_int_equal(strategy_search(&r, x, &err), SB_EINFEASIBLE);
	free(x);
}

/* 310B on one node: the host that is told to do is the least that does. */
static void test_least_host(void **state)
{
	struct search_request r = request("megatron-310b", "dgx-a100-80g", 1, 2160);
	struct search_result *x = malloc(sizeof(*x));
	struct sb_error err = {0};
	int64_t effort = 0, host = 0;

	(void)state;
	assert_non_null(x);
	assert_int_equal(strategy_search(&r, x, &err), SB_EINFEASIBLE);
	assert_true(x->rejected[REJECT_HOST].count > 0);
	assert_int_equal(strategy_nearest_host(&r, &effort, &host, &err), SB_OK);
	/* What 18 bytes a parameter of the layers leave beside the devices. */
	assert_true((double)host > 18.0 * 12 * 96 * 16384 * 16384 - 8.0 * (double)r.problem.memory_bytes);
	r.problem.cluster.host_memory_bytes = host;
	assert_int_equal(strategy_search(&r, x, &err), SB_OK);
	assert_true(offload_any(&x->best.strategy.offload) && x->best.cost.host_bytes <= (double)host);
	r.problem.cluster.host_memory_bytes = host - 1;
	assert_int_equal(strategy_search(&r, x, &err), SB_EINFEASIBLE);
	r.only[ONLY_OFFLOAD] = (struct allowed){1, {OFFLOADABLES}};
	assert_int_equal(strategy_nearest_host(&r, &effort, &host, &err), SB_OK);
	assert_int_equal(host, 0);
	free(x);
}

/* Twelve sequences in micro-batches of two do not fill four interleaved stages: 6 % 4; in those of three they
 * do.
 */
static void test_a_larger_batch_may_fill_the_pipeline(void **state)
{
	struct search_request r = request("llama3-8b", "dgx-h100", 1, 12);
	struct search_result *x = malloc(sizeof(*x));

	(void)state;
	assert_non_null(x);
	r.only[ONLY_DP] = (struct allowed){1, {1}};
	r.only[ONLY_PP] = (struct allowed){1, {4}};
	r.only[ONLY_VPP] = (struct allowed){1, {2}};
	r.only[ONLY_MICRO_BATCH] = (struct allowed){2, {2, 3}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_int_equal(x->best.strategy.micro_batch, 3);
	free(x);
}

static void test_constraints_hold(void **state)
{
	struct search_request r = request("llama3-8b", "dgx-h100", 4, 128);
	struct search_result *x = malloc(sizeof(*x));
	double best;

	(void)state;
	assert_non_null(x);
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	best = x->best.cost.step_seconds;
	r.only[ONLY_TP] = (struct allowed){2, {4, 8}};
	r.only[ONLY_RECOMPUTE] = (struct allowed){1, {RECOMPUTE_FULL}};
	r.only[ONLY_ZERO] = (struct allowed){1, {0}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_true(x->best.strategy.tp == 4 || x->best.strategy.tp == 8);
	assert_int_equal(x->best.strategy.recompute, RECOMPUTE_FULL);
	assert_int_equal(x->best.strategy.zero, 0);
	assert_true(x->best.cost.step_seconds >= best);
	r.only[ONLY_TP] = (struct allowed){1, {7}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_EIMPOSSIBLE);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equals_brute_force),
	    cmocka_unit_test(test_tight_memory_equals_brute_force),
	    cmocka_unit_test(test_least_memory_equals_brute_force),
	    cmocka_unit_test(test_what_the_head_weighs),
	    cmocka_unit_test(test_more_devices_are_never_worse),
	    cmocka_unit_test(test_answers_are_sound),
	    cmocka_unit_test(test_infeasible_says_what_is_missing),
	    cmocka_unit_test(test_least_host),
	    cmocka_unit_test(test_a_larger_batch_may_fill_the_pipeline),
	    cmocka_unit_test(test_constraints_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
