/* Parallel folding: experts divided over the ranks of a stage in their own way (systems 3.12). */
#include <stdlib.h>

#include "tests/unit/planner/small_problems.h"

/* Systems 3.12: 64 devices in 4 stages leave 16 ranks a stage: 15 triples (t, c, d) for attention, 15 (et, e,
 * ed) for the experts, every pair of which can be run. */
static void test_folded_pairs(void **state)
{
	struct search_request r = random_problem(0);
	struct model *m = &r.problem.model;
	int pairs = 0;

	(void)state;
	*m = (struct model){.layers = 8,
	                    .hidden = 2048,
	                    .heads = 16,
	                    .ffn_hidden = 4096,
	                    .vocab = 32000,
	                    .seq_len = 8192,
	                    .has_moe = true,
	                    .moe = {.experts = 16, .top_k = 2, .ffn_hidden = 1024}};
	model_defaults(m);
	r.problem.cluster.nodes = 8;
	r.problem.cluster.devices_per_node = 8;
	r.problem.cluster.supernode_devices = 0;
	for (int64_t t = 1; t <= 16; t++) {
		for (int64_t c = 1; c <= 16; c++) {
			for (int64_t et = 1; et <= 16; et++) {
				for (int64_t e = 1; e <= 16; e++) {
					struct strategy s = strategy_default(m, &r.problem.cluster);

					s.tp = t;
					s.cp = c;
					s.dp = 16 / (t * c);
					s.pp = 4;
					s.etp = et;
					s.ep = e;
					s.sequence_parallel = t > 1;
					s.attention = ATTENTION_FLASH;
					if (s.dp * t * c == 16 && 16 % (et * e) == 0)
						pairs +=
						    strategy_fit(m, &r.problem.cluster, &s, 64) == FIT_OK;
				}
			}
		}
	}
	assert_int_equal(pairs, 225);
}

/* t = 2, d = 8, e = 8, et = 1, ed = 2 on nodes of 8: the experts' all-to-all stays inside a node, which
 * without folding (e within d, 2 ranks apart) it cannot. */
static void test_folded_experts_stay_in_their_node(void **state)
{
	struct search_request r = random_problem(0);
	struct cluster *c = &r.problem.cluster;
	struct strategy s = strategy_default(&r.problem.model, c);
	struct groups g;

	(void)state;
	c->nodes = 8;
	c->devices_per_node = 8;
	c->supernode_devices = 0;
	c->links[LINK_NODE].bytes_per_second = 1e11;
	c->links[LINK_CLUSTER].bytes_per_second = 1e10;
	refresh(&r);
	s.tp = 2;
	s.dp = 8;
	s.pp = 4;
	s.ep = 8;
	g = groups_of(&r.problem.network, &s);
	assert_int_equal(g.ep.ranks, 8);
	assert_int_equal(g.ep.inside[0], 8);
	assert_int_equal(g.edp.ranks, 2);
	/* the 8 ranks of the attention's own data group lie 4 to a node */
	assert_int_equal(g.dp.inside[0], 4);
}

/* Every plan without folding is in the space with it: the best with it is never slower. */
static void test_folding_is_never_slower(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int compared = 0, faster = 0;

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct search_request r = random_problem(seed + 5000);
		double folded;

		if (!r.problem.model.has_moe || strategy_search(&r, x, NULL) != SB_OK)
			continue;
		folded = x->best.cost.step_seconds;
		r.unfolded = true;
		if (strategy_search(&r, x, NULL) != SB_OK)
			continue;
		assert_int_equal(x->best.strategy.etp, x->best.strategy.tp);
		assert_int_equal(x->best.strategy.dp % x->best.strategy.ep, 0);
		assert_true(folded <= x->best.cost.step_seconds * (1 + 1e-12));
		compared++;
		faster += folded < 0.999 * x->best.cost.step_seconds;
	}
	assert_true(compared > 50 && faster > 0);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_folded_pairs),
	    cmocka_unit_test(test_folding_is_never_slower),
	    cmocka_unit_test(test_folded_experts_stay_in_their_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
