#ifndef SB_TESTS_UNIT_PLANNER_SMALL_PROBLEMS_H
#define SB_TESTS_UNIT_PLANNER_SMALL_PROBLEMS_H
/* Random problems for the strategy search, small enough to enumerate. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "base/num.h"
#include "planner/strategy/search.h"

static uint64_t state_of_random;

static inline int64_t below(int64_t n)
{
	state_of_random = state_of_random * 6364136223846793005U + 1442695040888963407U;
	return (int64_t)((state_of_random >> 33) % (uint64_t)n);
}

static inline int64_t pick(const int64_t *list, int64_t n)
{
	return list[below(n)];
}
#define PICK(...)                                                                                            \
	pick((const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static inline double between(double low, double high)
{
	return low * pow(high / low, (double)below(1000) / 999);
}

static inline void refresh(struct search_request *r)
{
	struct cost_problem *p = &r->problem;

	assert_int_equal(cluster_check(&p->cluster, NULL), SB_OK);
	p->constants = constants_for(&p->cluster);
	p->network = network_of(&p->cluster, &p->constants);
}

/* A host that may be too small, or too slow to pay; half of them update what they hold. */
static inline void random_host(struct search_request *r)
{
	struct cluster *c = &r->problem.cluster;

	c->host_memory_bytes = (int64_t)between(1e8, 1e12);
	c->host_link_bytes_per_second = between(1e9, 1e12);
	c->host_link_devices = below(3);
	c->host_memory_bandwidth = below(2) ? between(1e10, 1e13) : 0;
	if (below(4) == 0)
		r->only[ONLY_OFFLOAD] = (struct allowed){2, {below(OFFLOADABLES), below(OFFLOADABLES)}};
}

static inline struct search_request random_problem(uint64_t seed)
{
	struct search_request r = {.gradient_bytes = 4, .alternatives = 5, .frontier = SEARCH_FRONTIER_MOST};
	struct cost_problem *p = &r.problem;
	struct model *m = &p->model;
	struct cluster *c = &p->cluster;

	state_of_random = seed * 7919 + 17;
	for (int i = 0; i < 8; i++)
		below(2);
	m->layers = 1 + below(5);
	m->heads = PICK(1, 2, 3, 4, 6);
	m->hidden = m->heads * PICK(256, 512);
	m->ffn_hidden = m->hidden * PICK(2, 3, 4);
	m->vocab = PICK(1000, 32000, 128000);
	m->seq_len = PICK(256, 512, 1024);
	m->gated_ffn = below(2);
	m->has_moe = below(2);
	m->moe.experts = PICK(2, 4, 6);
	m->moe.top_k = 1 + below(2);
	m->moe.ffn_hidden = PICK(64, 1024, 1536);
	m->moe.first_dense = m->layers > 1 ? below(m->layers > 3 ? 3 : 2) : 0;
	m->moe.shared_experts = below(2);
	if (m->has_moe && seed % 5 == 1)
		m->moe.imbalance = between(1, 2);
	if (m->has_moe && seed % 3 == 0) {
		m->moe.groups = m->moe.experts / PICK(1, 2);
		m->moe.top_groups = m->moe.groups > 1 ? PICK(1, 2) : 1;
		m->moe.top_k = sb_smaller(m->moe.top_k, m->moe.top_groups * (m->moe.experts / m->moe.groups));
	}
	model_defaults(m);
	assert_int_equal(model_check(m, NULL), SB_OK);
	*c = (struct cluster){.nodes = PICK(1, 2, 2, 3), .devices_per_node = PICK(1, 2, 3, 4, 5)};
	if (m->has_moe && c->nodes * c->devices_per_node > 8)
		c->nodes = 2;
	c->compute_efficiency = c->memory_efficiency = NAN;
	for (int i = 0; i < LINK_SCOPES; i++)
		c->links[i].latency_seconds = c->link_efficiency[i] = NAN;
	c->device = (struct device){.peak_flops = 1e14,
	                            .memory_bandwidth = 1e12,
	                            .memory_bytes = (int64_t)1 << 40,
	                            .flash_attention = true};
	c->links[LINK_NODE].bytes_per_second = between(1e10, 3e11);
	c->links[LINK_CLUSTER].bytes_per_second = between(1e9, 1e11);
	if (c->nodes > 1 && below(3) == 0) {
		c->supernode_devices = 2 * c->devices_per_node;
		c->links[LINK_SUPERNODE].bytes_per_second = between(1e10, 1e11);
	}
	if (seed % 4 == 1)
		c->links[LINK_NODE].mesh_links = c->devices_per_node - 1;
	m->bidirectional = seed % 5 == 2;
	r.attention = below(2) ? ATTENTION_FLASH : ATTENTION_UNFUSED;
	p->sequences = PICK(2, 4, 6);
	p->memory_bytes = c->device.memory_bytes;
	if (below(2)) /* ZeRO 2 and 3 in a pipeline too */
		r.only[ONLY_ZERO] = (struct allowed){4, {0, 1, 2, 3}};
	refresh(&r);
	return r;
}
/* Of the best strategy; INFINITY where none fits. */
static inline double best_seconds(const struct search_request *r, struct search_result *x)
{
	int rc = strategy_search(r, x, NULL);

	assert_true(rc == SB_OK || rc == SB_EINFEASIBLE);
	return rc == SB_OK ? x->best.cost.step_seconds : INFINITY;
}
#endif
