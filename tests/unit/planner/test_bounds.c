/* What the search relies on: bounds of the simulated step on both sides, and costs of a micro-batch that it
 * remembers. */
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/walk.h"
#include "tests/unit/planner/costed.h"
#include "tests/unit/planner/small_problems.h"

#define MOST_STAGES 8
#define LAYERS 16

static void lies_between(const struct cost_problem *p, const struct strategy *s)
{
	const struct groups g = groups_of(&p->network, s);
	const struct layer_costs l = layer_costs_of(p, s, &g);
	int64_t m = strategy_micro_batches(s, p->sequences), count;
	struct stage_run runs[2 * MOST_STAGES];
	double step = cost_of(p, s).step_seconds;

	assert_true(s->pp <= MOST_STAGES);
	count = strategy_costed_runs(p, &l.memory, s, runs);
	assert_true(bound_seconds(p, &l, s, &g, runs, count, m) <= step * (1 + 1e-12));
	if (upper_seconds(p, &l, s, &g, runs, count, m) < step * (1 - 1e-12))
		fail_msg("pp %d, vpp %d, %d micro-batches: %.9g s, above its upper bound", (int)s->pp,
		         (int)s->vpp, (int)m, step);
}

/* All stages but the last recompute their layers, and the last one has the head, some layers long: the first
 * ones wait for it, and it for them. From pp micro-batches to where the steady state is extrapolated. */
static void test_a_step_lies_between_its_bounds(void **state)
{
	struct cost_problem p = problem_on(model_preset("llama3-8b")->model, "dgx-h100", 1, 1);
	struct strategy s = strategy_default(&p.model, &p.cluster);
	int seen = 0;

	(void)state;
	p.model.layers = LAYERS;
	s.recompute = RECOMPUTE_FULL;
	for (s.pp = 1; s.pp <= MOST_STAGES; s.pp *= 2) {
		int64_t recomputed[MOST_STAGES] = {0};

		for (int64_t i = 0; i < s.pp - 1; i++)
			recomputed[i] = LAYERS / s.pp;
		s.stage_recompute = recomputed;
		for (s.vpp = 1; s.vpp <= (s.pp > 1 ? LAYERS / s.pp : 1); s.vpp *= 2) {
			for (int64_t groups = 1; groups <= 4096; groups *= 4) {
				p.sequences = groups * s.pp;
				lies_between(&p, &s);
				seen++;
			}
		}
	}
	assert_int_equal(seen, 7 * (1 + 4 + 3 + 2));
}

static const struct known_costs *known(struct search *x, const struct strategy *s)
{
	const struct groups g = groups_of(&x->r->problem.network, s);

	return search_costs(x, s, &g);
}

/* Llama 3 8B, one sequence of 8192 tokens: stages send and receive activations of 4096 columns in 16 bit, a
 * single stage does not, though all else of a micro-batch is the same. */
static void test_buffers_of_a_pipeline(void **state)
{
	struct search_request r = {.problem = problem_on(model_preset("llama3-8b")->model, "dgx-h100", 1, 8),
	                           .gradient_bytes = 4};
	struct search_result *out = calloc(1, sizeof(*out));
	SEARCH_AUTO x = {.r = &r, .out = out, .reached = INFINITY};
	struct strategy s = strategy_default(&r.problem.model, &r.problem.cluster);
	double staged;

	(void)state;
	assert_non_null(out);
	r.attention = s.attention;
	assert_int_equal(search_prepare(&x, NULL), SB_OK);
	s.pp = 2;
	staged = known(&x, &s)->costs.memory.transient;
	s.pp = 1;
	assert_true(fabs(staged - known(&x, &s)->costs.memory.transient - 2 * 2.0 * 8192 * 4096) < 1);
	free(out);
}

/* Random ranks on nodes of up to 12 devices, some in supernodes. */
static struct strategy random_ranks(struct search_request *r)
{
	struct cluster *c = &r->problem.cluster;
	struct strategy s = strategy_default(&r->problem.model, c);

	c->nodes = 2 + below(4);
	c->devices_per_node = 2 + below(11);
	c->supernode_devices = c->links[LINK_SUPERNODE].bytes_per_second > 0 ? 2 * c->devices_per_node : 0;
	if (c->links[LINK_NODE].mesh_links > 0)
		c->links[LINK_NODE].mesh_links = c->devices_per_node - 1;
	refresh(r);
	s.tp = PICK(1, 2, 3, 4, 6, 8, 9);
	s.cp = PICK(1, 1, 2, 4);
	s.dp = PICK(1, 2, 3, 5);
	s.pp = PICK(1, 2, 3);
	s.sequence_parallel = s.tp > 1;
	if (r->problem.model.has_moe) {
		s.ep = PICK(1, 2, 3, 6);
		s.etp = PICK(1, 1, 2, 3);
	}
	return s;
}

/* However a strategy's ranks lie, a micro-batch takes no less than on the nearest groups. */
static void test_no_placement_is_below_the_nearest(void **state)
{
	struct search_result *out = calloc(1, sizeof(*out));
	int seen = 0, idle = 0;

	(void)state;
	assert_non_null(out);
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct search_request r = random_problem(seed);
		struct strategy s = random_ranks(&r);
		SEARCH_AUTO x = {.r = &r, .out = out, .reached = INFINITY};
		struct placements all = {0};
		struct node_range nodes;
		double least;

		if (strategy_devices(&s) > cluster_devices(&r.problem.cluster) ||
		    s.tp * s.cp * s.dp % (s.ep * s.etp) != 0)
			continue;
		assert_int_equal(search_prepare(&x, NULL), SB_OK);
		least = search_least_work(&x, &s, true)->of.all;
		nodes = node_range_of(&r.problem.cluster, &s);
		for (s.node_devices = nodes.least; s.node_devices <= nodes.most; s.node_devices++) {
			const struct node_range one = {s.node_devices, s.node_devices};
			double nearest = search_least_work_on(&x, &s, one, true)->of.all;

			all.count = 0;
			assert_true(nearest >= least * (1 - 1e-12));
			assert_true(add_placements(&r.problem.network, &s, 0, &all) >= 0);
			for (size_t i = 0; i < all.count; i++) {
				double work;

				memcpy(s.order, all.at[i].order, sizeof(s.order));
				work = search_costs(&x, &s, &all.at[i].groups)->work.of.all;
				if (work < nearest * (1 - 1e-12))
					fail_msg(
					    "problem %llu, %lld devices of each node: %.12g s, above its "
					    "bound",
					    (unsigned long long)seed, (long long)s.node_devices, work);
				seen++;
			}
			idle += s.node_devices < r.problem.cluster.devices_per_node;
		}
		free(all.at);
	}
	assert_true(seen > 2000 && idle > 1000);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_step_lies_between_its_bounds),
	    cmocka_unit_test(test_buffers_of_a_pipeline),
	    cmocka_unit_test(test_no_placement_is_below_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
