/* Ranks that do not fill nodes evenly, what replicas hold in common, and stages of unequal layers. */
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/layout.h"
#include "tests/unit/planner/small_problems.h"

/* A dense model on nodes of that many devices. */
static struct search_request dense(int64_t nodes, int64_t devices_per_node, int64_t heads, int64_t sequences)
{
	struct search_request r = random_problem(0);

	r.problem.model = (struct model){.layers = 4,
	                                 .hidden = 128 * heads,
	                                 .heads = heads,
	                                 .ffn_hidden = 512 * heads,
	                                 .vocab = 32000,
	                                 .seq_len = 1024};
	model_defaults(&r.problem.model);
	r.problem.cluster.nodes = nodes;
	r.problem.cluster.devices_per_node = devices_per_node;
	r.problem.cluster.supernode_devices = 0;
	r.problem.cluster.links[LINK_NODE].bytes_per_second = 3e11;
	r.problem.cluster.links[LINK_SUPERNODE].bytes_per_second = 0;
	r.problem.cluster.links[LINK_CLUSTER].bytes_per_second = 1e10;
	r.problem.sequences = sequences;
	r.attention = ATTENTION_FLASH;
	refresh(&r);
	return r;
}

/* 80 devices on nodes of 6: no order of tp 2, dp 20 and pp 2 fills nodes evenly, and some are faster. */
static void test_orders_that_do_not_fill_nodes(void **state)
{
	struct search_request r = dense(14, 6, 32, 240);
	struct search_result *x = malloc(sizeof(*x));
	double slowest = 0;

	(void)state;
	assert_non_null(x);
	r.only[ONLY_TP] = r.only[ONLY_PP] = (struct allowed){1, {2}};
	r.only[ONLY_DP] = (struct allowed){1, {20}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	for (int code = 0; code < 256; code++) {
		const int at[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
		struct strategy s = x->best.strategy;
		struct strategy_cost c;
		int seen = 0;

		for (int i = 0; i < DIMS; i++) {
			seen |= 1 << at[i];
			s.order[i] = (enum dimension)at[i];
		}
		if (seen != 15)
			continue;
		assert_int_equal(strategy_cost(&r.problem, &s, &c, NULL), SB_OK);
		assert_true(c.step_seconds >= x->best.cost.step_seconds * (1 - 1e-12));
		slowest = fmax(slowest, c.step_seconds);
	}
	assert_true(slowest > 1.01 * x->best.cost.step_seconds);
	free(x);
}

static int64_t examined(const struct network *n, const struct strategy *s)
{
	const struct groups g = groups_of(n, s);
	const struct group *all[] = {&g.tp, &g.cp, &g.pp, &g.dp, &g.ep, &g.etp, &g.edp};
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sum += all[i]->examined;
	return sum;
}

/* An order whose groups lie as another's is left out, but the ranks gone through to see that took their time,
 * too: a search that forgets them takes many times the effort it is allowed. 2 x 3 x 5 ranks on nodes of 6 in
 * each of the six orders of tp, dp and pp. */
static void test_all_orders_count(void **state)
{
	static const enum dimension orders[][DIMS] = {
	    {DIM_TP, DIM_CP, DIM_DP, DIM_PP}, {DIM_TP, DIM_CP, DIM_PP, DIM_DP},
	    {DIM_DP, DIM_CP, DIM_TP, DIM_PP}, {DIM_DP, DIM_CP, DIM_PP, DIM_TP},
	    {DIM_PP, DIM_CP, DIM_TP, DIM_DP}, {DIM_PP, DIM_CP, DIM_DP, DIM_TP}};
	struct search_request r = dense(5, 6, 32, 240);
	struct strategy s = strategy_default(&r.problem.model, &r.problem.cluster);
	struct placements kept = {0};
	int64_t of_all, of_kept = 0, sum = 0;

	(void)state;
	s.tp = 2;
	s.dp = 3;
	s.pp = 5;
	of_all = add_placements(&r.problem.network, &s, 0, &kept);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		memcpy(s.order, orders[i], sizeof(s.order));
		sum += examined(&r.problem.network, &s);
	}
	for (size_t i = 0; i < kept.count; i++) {
		memcpy(s.order, kept.at[i].order, sizeof(s.order));
		of_kept += examined(&r.problem.network, &s);
	}
	assert_int_equal(of_all, sum);
	assert_true(kept.count < 6 && of_kept < sum);
	free(kept.at);
}

/* Four times eight tensor ranks on four nodes of nine. On all devices the second eight have one rank in the
 * first node and seven in the second; on eight of each, eight in one. Fewer are too few for 32 ranks; and
 * each has the two orders of tp and dp, of which dp first costs otherwise. */
static void test_one_device_of_each_node_idle(void **state)
{
	struct search_request r = dense(4, 9, 32, 240);
	struct strategy s = strategy_default(&r.problem.model, &r.problem.cluster);
	struct placements all = {0};

	(void)state;
	s.tp = 8;
	s.dp = 4;
	assert_int_equal(node_range_of(&r.problem.cluster, &s).least, 8);
	assert_int_equal(node_range_of(&r.problem.cluster, &s).most, 9);
	assert_int_equal(order_count(&s), 2);
	assert_true(add_placements(&r.problem.network, &s, 0, &all) >= 0);
	s.node_devices = 8;
	assert_true(add_placements(&r.problem.network, &s, 0, &all) >= 0);
	assert_int_equal(all.count, 3);
	assert_int_equal(all.at[0].node_devices, 0);
	assert_int_equal(all.at[0].groups.tp.inside[0], 1);
	assert_int_equal(all.at[1].node_devices, 8);
	assert_int_equal(all.at[1].groups.tp.inside[0], 8);
	assert_int_equal(all.at[2].groups.dp.inside[0], 4);
	free(all.at);
	s.node_devices = 7;
	assert_int_equal(strategy_fit(&r.problem.model, &r.problem.cluster, &s, 240), MISFIT_DEVICES);
	s.node_devices = 10;
	assert_int_equal(strategy_fit(&r.problem.model, &r.problem.cluster, &s, 240), MISFIT_NODE);
	s.node_devices = 8;
	assert_int_equal(strategy_fit(&r.problem.model, &r.problem.cluster, &s, 240), FIT_OK);
}

/* 36 heads on one node of 8 and one sequence: six tensor ranks leave two devices over and cross no node; 8
 * does not divide the heads. */
static void test_tensor_ranks_that_do_not_fill_a_node(void **state)
{
	struct search_request r = dense(1, 8, 36, 1);
	struct search_result *x = malloc(sizeof(*x));

	(void)state;
	assert_non_null(x);
	r.only[ONLY_CP] = r.only[ONLY_PP] = (struct allowed){1, {1}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_int_equal(x->best.strategy.tp, 6);
	free(x);
}

/* Where nothing is held twice, sharding it and hiding its exchange changes nothing. Experts that lie whole on
 * each of four tensor ranks are held four times: their gradients are reduced over these, under the backward
 * pass from ZeRO 1 on, and the search knows it. */
static void test_zero_on_one_replica(void **state)
{
	struct search_request r = dense(1, 4, 32, 4);
	struct search_result *x = malloc(sizeof(*x));
	struct strategy s = strategy_default(&r.problem.model, &r.problem.cluster);
	struct strategy_cost none, one;
	struct model *m = &r.problem.model;

	(void)state;
	assert_non_null(x);
	s.tp = 4;
	s.sequence_parallel = true;
	assert_int_equal(strategy_cost(&r.problem, &s, &none, NULL), SB_OK);
	s.zero = 1;
	s.overlap_gradients = true;
	assert_int_equal(strategy_cost(&r.problem, &s, &one, NULL), SB_OK);
	assert_true(one.step_seconds == none.step_seconds);
	assert_true(memory_total(&one.memory) == memory_total(&none.memory));
	m->has_moe = true;
	m->moe = (struct moe){.experts = 4, .top_k = 1, .ffn_hidden = 4096};
	model_defaults(m);
	assert_int_equal(strategy_cost(&r.problem, &s, &one, NULL), SB_OK);
	r.only[ONLY_TP] = (struct allowed){1, {4}};
	r.only[ONLY_EP] = r.only[ONLY_ETP] = (struct allowed){1, {1}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_true(x->best.cost.step_seconds <= one.step_seconds);
	r.only[ONLY_ZERO] = (struct allowed){1, {1}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_int_equal(x->best.strategy.zero, 1);
	free(x);
}

/* Three light dense layers, then ten with experts, in four stages: no stage need hold more than ceil(10 / 4)
 * of these, which an equal share of 13 layers cannot do: 3, 3, 3 and 4, or the dense ones count as much. */
static void test_dense_layers_lengthen_the_first_stage(void **state)
{
	struct search_request r = dense(1, 4, 4, 64);
	struct search_result *x = malloc(sizeof(*x));
	struct model *m = &r.problem.model;
	int64_t at = 0;

	(void)state;
	assert_non_null(x);
	m->layers = 13;
	m->has_moe = true;
	m->moe = (struct moe){.experts = 4, .top_k = 2, .ffn_hidden = 8192, .first_dense = 3};
	model_defaults(m);
	r.only[ONLY_PP] = (struct allowed){1, {4}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	for (int64_t i = 0; i < 4; i++) {
		int64_t from = at;

		at += strategy_stage_layers(&x->best.strategy, m->layers, i);
		assert_true(model_layers_of(m, at, LAYER_MOE) - model_layers_of(m, from, LAYER_MOE) <= 3);
	}
	assert_int_equal(at, 13);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_orders_that_do_not_fill_nodes),
	    cmocka_unit_test(test_all_orders_count),
	    cmocka_unit_test(test_one_device_of_each_node_idle),
	    cmocka_unit_test(test_tensor_ranks_that_do_not_fill_a_node),
	    cmocka_unit_test(test_zero_on_one_replica),
	    cmocka_unit_test(test_dense_layers_lengthen_the_first_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
