#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/frontier/thin.h"
#include "tests/unit/planner/small_graphs.h"

/* The options of each point add up to it. */
static void check_options(const struct option_graph *g, const struct option_front *f)
{
	for (size_t i = 0; i < f->count; i++) {
		uint16_t options[NODES];
		double memory, time;

		assert_int_equal(option_front_options(f, g, i, options), SB_OK);
		option_graph_sum(g, options, &memory, &time);
		assert_true(memory == f->points[i].memory && time == f->points[i].time);
		assert_true(i == 0 || (memory > f->points[i - 1].memory && time < f->points[i - 1].time));
	}
}

static void test_random_graphs(void **state)
{
	uint64_t r = 7;
	struct pareto_point *all = calloc(PLANS, sizeof(*all));
	int infeasible = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		OPTION_FRONT_AUTO f = {0};
		struct small s;
		size_t n;
		int rc;

		make(&s, &r, 1 + i % NODES, (int64_t)draw(&r, EDGES));
		n = brute(&s.g, all);
		rc = option_graph_solve(&s.g, OPTION_WORK, &f);
		infeasible += n == 0;
		assert_int_equal(rc, n == 0 ? SB_EINFEASIBLE : SB_OK);
		assert_int_equal(f.count, n);
		for (size_t k = 0; k < n; k++)
			assert_true(f.points[k].memory == all[k].memory && f.points[k].time == all[k].time);
		check_options(&s.g, &f);
		assert_true(n == 0 || (f.whole && f.guessed == 0));
	}
	assert_true(infeasible > 0);
	free(all);
}

/* A chain of which no two neighbours go together: no table has a point. For UBSan: such a table has no array,
 * and not even 0 may be added to that. */
static void test_nothing_can_be_chosen(void **state)
{
	static const double none[] = {INFINITY, INFINITY, INFINITY, INFINITY}, time[] = {1, 2};
	const struct option_node nodes[] = {{2, time, NULL}, {2, time, NULL}, {2, time, NULL}};
	const struct option_edge edges[] = {{0, 1, none, NULL}, {1, 2, none, NULL}};
	const struct option_graph g = {nodes, edges, 3, 2, 0, NULL};
	OPTION_FRONT_AUTO f = {0};

	(void)state;
	assert_int_equal(option_graph_solve(&g, OPTION_WORK, &f), SB_EINFEASIBLE);
	assert_int_equal(f.count, 0);
	assert_int_equal(pareto_reduce(NULL, 0), 0);
}

/* What is dropped is never needed: of the plans without it the Pareto set is the same; what is left can be
 * best. By hand: b takes 1 s more than a as a node and saves at most 1 s on the edge, c needs less memory, d
 * saves 2 s beside one of the neighbour's options, e can never be taken. */
static void test_options_that_are_never_needed(void **state)
{
	static const double time[] = {3, 4, 5, 4, 1}, memory[] = {5, 5, 4, 5, 5}, other[] = {0, 0};
	static const double pairs[] = {1, 2, 0, 2, 3, 3, 1, 0, INFINITY, INFINITY};
	const struct option_node nodes[] = {{5, time, memory}, {2, other, NULL}};
	const struct option_edge edge = {0, 1, pairs, NULL};
	const struct option_graph g = {nodes, &edge, 2, 1, 0, NULL};
	struct thin_graph thin;

	(void)state;
	assert_int_equal(thin_graph(&g, 1e6, &thin), SB_OK);
	assert_int_equal(thin.nodes[0].options, 3);
	for (int i = 0; i < 3; i++) /* a, c, d */
		assert_int_equal(thin.left[0][i], i == 0 ? 0 : i + 1);
	assert_int_equal(thin.nodes[1].options, 2);
	assert_true(thin.nodes[0].time[2] == 4 && thin.edges[0].time[2 * 2 + 1] == 0);
	thin_free(&thin);
	/* without work nothing is dropped */
	assert_int_equal(thin_graph(&g, 0, &thin), SB_OK);
	assert_int_equal(thin.nodes[0].options, 5);
	thin_free(&thin);
}

/* Too little work for sets: the points of weighted sums are plans of the set, both ends among them, and for
 * no memory is the bound above the best plan, nor a point below it. */
static void test_weighted_sums(void **state)
{
	uint64_t r = 11;
	struct pareto_point *all = calloc(PLANS, sizeof(*all));
	int some = 0, cut = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		OPTION_FRONT_AUTO whole = {0};
		OPTION_FRONT_AUTO f = {0};
		struct small s;
		size_t n, at = 0;

		make(&s, &r, NODES, 4 + (int64_t)draw(&r, 3));
		n = brute(&s.g, all);
		if (n == 0)
			continue;
		assert_int_equal(option_graph_solve(&s.g, OPTION_WORK, &whole), SB_OK);
		if (option_graph_solve(&s.g, whole.work - 1, &f) != SB_OK)
			continue;
		assert_false(f.whole);
		cut += f.cut_short;
		some++;
		check_options(&s.g, &f);
		assert_true(f.points[0].memory == all[0].memory);
		assert_true(f.points[f.count - 1].time == all[n - 1].time);
		for (size_t k = 0; k < n; k++) {
			assert_true(option_front_bound(&f, &s.g, all[k].memory) <= all[k].time * (1 + 1e-12));
			if (at < f.count && f.points[at].memory == all[k].memory &&
			    f.points[at].time == all[k].time)
				at++;
		}
		assert_int_equal(at, f.count);
		assert_true(isinf(option_front_bound(&f, &s.g, all[0].memory - 1)));
	}
	assert_true(some > 50);
	assert_true(cut < some);
	free(all);
}

/* Memory rounded up: no point is below the Pareto set, and for each point of it there is one as fast within
 * its memory and a step for each node (search-algorithms.md 2.4). */
static void test_rounded(void **state)
{
	uint64_t r = 13;
	struct pareto_point *all = calloc(PLANS, sizeof(*all));

	(void)state;
	for (int i = 0; i < 100; i++) {
		OPTION_FRONT_AUTO f = {0};
		struct small s;
		size_t n;
		double error;

		make(&s, &r, NODES, 6);
		for (int64_t k = 0; k < s.g.edge_count; k++)
			s.edges[k].memory = NULL;
		n = brute(&s.g, all);
		s.g.memory_step = 4;
		error = s.g.memory_step * (double)s.g.node_count;
		if (n == 0 || option_graph_solve(&s.g, OPTION_WORK, &f) != SB_OK)
			continue;
		check_options(&s.g, &f);
		for (size_t k = 0; k < n; k++) {
			int64_t best = option_front_within(&f, all[k].memory + error);

			assert_true(best >= 0 && f.points[best].time <= all[k].time);
			best = option_front_within(&f, all[k].memory);
			assert_true(best < 0 || f.points[best].time >= all[k].time);
		}
	}
	free(all);
}

/* The trap of search-algorithms.md 2.3: plans that are told apart by (compute, communication) and whose
 * memory is looked at in the end. Node by node the first option computes and sends least and needs 10, the
 * second takes longer in both and needs 1; three nodes within 15 is only had by taking the second twice. */
static void test_fastest_does_not_fit(void **state)
{
	static const double compute[] = {1, 2}, communication[] = {1, 3}, memory[] = {10, 1};
	double time[] = {compute[0] + communication[0], compute[1] + communication[1]}, none[4] = {0};
	struct option_node nodes[3];
	struct option_edge edges[] = {{0, 1, none, NULL}, {1, 2, none, NULL}};
	struct option_graph g = {nodes, edges, 3, 2, 0, NULL};
	OPTION_FRONT_AUTO f = {0};

	(void)state;
	for (int n = 0; n < 3; n++)
		nodes[n] = (struct option_node){2, time, memory};
	assert_int_equal(option_graph_solve(&g, OPTION_WORK, &f), SB_OK);
	/* times 2 and 5: (3, 15), (12, 12), (21, 9), (30, 6) */
	assert_int_equal(f.count, 4);
	assert_true(option_front_within(&f, 15) == 1 && f.points[1].time == 12 && f.points[1].memory == 12);
	assert_true(option_front_within(&f, 2) == -1 && f.points[3].time == 6);
}

/* A graph in which every node meets every other: a table over all would have 8^19 cells. Some nodes are
 * guessed, it is said so, and the bound stays below. */
static void test_dense(void **state)
{
	enum { N = 20, S = 8 };
	struct option_node nodes[N];
	struct option_edge edges[N * (N - 1) / 2];
	static double time[N][S], memory[N][S], pair[N * (N - 1) / 2][S * S];
	struct option_graph g = {nodes, edges, N, 0, 0, NULL};
	uint64_t r = 17;
	OPTION_FRONT_AUTO f = {0};

	(void)state;
	for (int n = 0; n < N; n++) {
		nodes[n] = (struct option_node){S, time[n], memory[n]};
		for (int o = 0; o < S; o++) {
			time[n][o] = draw(&r, 50);
			memory[n][o] = draw(&r, 20);
		}
		for (int k = 0; k < n; k++) {
			edges[g.edge_count] = (struct option_edge){k, n, pair[g.edge_count], NULL};
			for (int i = 0; i < S * S; i++)
				pair[g.edge_count][i] = draw(&r, 12);
			g.edge_count++;
		}
	}
	assert_int_equal(option_graph_solve(&g, 1e7, &f), SB_OK);
	assert_true(f.guessed > 0 && !f.whole && f.count > 0 && f.work <= 5.1e7);
	assert_false(f.cut_short);
	assert_true(option_front_bound(&f, &g, INFINITY) <= f.points[f.count - 1].time);
}

/* The largest that may come, 4096 nodes of 64 options: within the work, with the fastest plan proved. */
static void test_largest_chain(void **state)
{
	enum { S = 64 };
	static double time[8][S], memory[8][S], pair[8][S * S];
	struct option_node *nodes = calloc(OPTION_NODES_MAX, sizeof(*nodes));
	struct option_edge *edges = calloc(OPTION_NODES_MAX, sizeof(*edges));
	struct option_graph g = {nodes, edges, OPTION_NODES_MAX, OPTION_NODES_MAX - 1, 0, NULL};
	uint64_t r = 19;
	OPTION_FRONT_AUTO f = {0};

	(void)state;
	for (int k = 0; k < 8; k++) {
		for (int o = 0; o < S; o++) {
			time[k][o] = 1 + draw(&r, 1000000);
			memory[k][o] = draw(&r, 1000000);
		}
		for (int i = 0; i < S * S; i++)
			pair[k][i] = draw(&r, 1000000);
	}
	for (int64_t n = 0; n < OPTION_NODES_MAX; n++) {
		nodes[n] = (struct option_node){S, time[n % 8], memory[n % 8]};
		edges[n] = (struct option_edge){n, n + 1, pair[n * 3 % 8], NULL};
	}
	assert_int_equal(option_graph_solve(&g, OPTION_WORK, &f), SB_OK);
	assert_true(f.guessed == 0 && f.count >= 2 && f.work <= 5.1 * OPTION_WORK);
	assert_true(option_front_bound(&f, &g, INFINITY) >= f.points[f.count - 1].time * (1 - 1e-9));
	free(nodes);
	free(edges);
}

static void test_sets(void **state)
{
	/* by hand: (3, 5) is beaten by (2, 5), (4, 6) by both, (6, 1) stays */
	struct pareto_point x[] = {
	    {.memory = 4, .time = 6}, {.memory = 2, .time = 5}, {.memory = 3, .time = 5}};
	struct pareto_point y[] = {{.memory = 1, .time = 9}, {.memory = 6, .time = 1}}, out[5];

	(void)state;
	assert_int_equal(pareto_reduce(x, 3), 1);
	assert_int_equal(pareto_union(x, 1, y, 2, out), 3);
	assert_true(out[0].memory == 1 && out[1].time == 5 && out[2].memory == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sets),
	    cmocka_unit_test(test_random_graphs),
	    cmocka_unit_test(test_nothing_can_be_chosen),
	    cmocka_unit_test(test_options_that_are_never_needed),
	    cmocka_unit_test(test_weighted_sums),
	    cmocka_unit_test(test_rounded),
	    cmocka_unit_test(test_fastest_does_not_fit),
	    cmocka_unit_test(test_dense),
	    cmocka_unit_test(test_largest_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
