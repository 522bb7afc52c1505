/* What makes a cluster better never makes its best plan worse, on small random problems. */
#include <stdlib.h>

#include "planner/cost/offload.h"
#include "tests/unit/planner/small_problems.h"

#define CHANGES 1000

/* What may make a cluster better. */
enum better {
	MORE_NODES,
	LARGER_NODES,
	MORE_MEMORY,
	FASTER_LINK,
	LOWER_LATENCY,
	LARGER_HOST,
	FASTER_HOST,
	FASTER_UPDATE
};

/* More devices in each node, on links that each have their rate as before. */
static void larger_nodes(struct cluster *c, int64_t more)
{
	int64_t nodes = c->supernode_devices / c->devices_per_node, links = c->links[LINK_NODE].mesh_links;

	c->devices_per_node += more;
	c->supernode_devices = nodes * c->devices_per_node;
	if (links > 0) {
		c->links[LINK_NODE].mesh_links += more;
		c->links[LINK_NODE].bytes_per_second *= (double)(links + more) / (double)links;
	}
}

static void make_better(struct search_request *r, enum better change)
{
	struct cluster *c = &r->problem.cluster;
	int scope = (int)below(LINK_SCOPES);

	if (scope == LINK_SUPERNODE && c->supernode_devices == 0)
		scope = LINK_CLUSTER;
	switch (change) {
	case MORE_NODES: c->nodes += 1 + below(3); break;
	case LARGER_NODES: larger_nodes(c, 1 + below(3)); break;
	case MORE_MEMORY: r->problem.memory_bytes += r->problem.memory_bytes / (1 + below(10)); break;
	case FASTER_LINK: c->links[scope].bytes_per_second *= between(1.01, 10); break;
	case LOWER_LATENCY: c->links[scope].latency_seconds *= between(0.01, 0.99); break;
	case LARGER_HOST: c->host_memory_bytes += c->host_memory_bytes / (1 + below(10)); break;
	case FASTER_HOST: c->host_link_bytes_per_second *= between(1.01, 10); break;
	case FASTER_UPDATE: c->host_memory_bandwidth *= between(1.01, 10); break;
	}
	refresh(r);
}

/* Some with grids of tensor ranks, some with a stack that overlaps this or that; latencies of each link. */
static struct search_request problem_to_better(uint64_t seed)
{
	struct search_request r = random_problem(seed);
	struct cluster *c = &r.problem.cluster;

	r.problem.memory_bytes = (int64_t)between(1.6e9, 8e9);
	if (seed % 5 == 0)
		r.only[ONLY_TENSOR] = (struct allowed){1, {1}};
	if (seed % 3 == 0)
		r.stack = (struct stack){.given = true,
		                         .gradients = below(2),
		                         .tensor = below(2),
		                         .expert = below(2),
		                         .sends = below(2),
		                         .dispatch_fp8 = below(2)};
	for (int i = 0; i < LINK_SCOPES; i++)
		c->links[i].latency_seconds = between(1e-7, 1e-4);
	if (seed % 2 == 0)
		random_host(&r);
	refresh(&r);
	return r;
}

/* More devices, more memory, of the host too, or a faster link of any level: never a slower plan. */
static void test_more_is_never_worse(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int feasible = 0, in_grids = 0, offloaded = 0, quicker[FASTER_UPDATE + 1] = {0};

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < CHANGES; seed++) {
		struct search_request r = problem_to_better(seed + 1000);
		enum better change = (enum better)(seed % 4 == 0 ? LARGER_HOST + below(3) : below(5));
		double before = best_seconds(&r, x), after;

		make_better(&r, change);
		after = best_seconds(&r, x);
		feasible += isfinite(before) != 0;
		quicker[change] += after < before;
		if (after > before * (1 + 1e-12))
			fail_msg("problem %llu, change %d: %.12g s became %.12g", (unsigned long long)seed,
			         (int)change, before, after);
		if (isinf(after))
			continue;
		assert_true(strategy_devices(&x->best.strategy) <= cluster_devices(&r.problem.cluster));
		in_grids += x->best.strategy.tp_x > 1;
		offloaded += offload_any(&x->best.strategy.offload);
	}
	assert_true(feasible > CHANGES / 4 && in_grids > 0 && offloaded > 0);
	for (int i = 0; i <= FASTER_UPDATE; i++)
		assert_true(quicker[i] > 0);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_more_is_never_worse)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
