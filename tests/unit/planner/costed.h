#ifndef SB_TESTS_UNIT_PLANNER_COSTED_H
#define SB_TESTS_UNIT_PLANNER_COSTED_H
#include "planner/strategy/cost.h"
#include "tests/setting.h"

/* Problems of the cost model on presets, and what a strategy costs there. */

static inline struct cost_problem problem_on(struct model m, const char *preset, int64_t nodes,
                                             int64_t sequences)
{
	struct cost_problem p = {.model = m, .cluster = cluster_on(preset, nodes), .sequences = sequences};

	model_defaults(&p.model);
	p.constants = constants_for(&p.cluster);
	p.network = network_of(&p.cluster, &p.constants);
	p.memory_bytes = p.cluster.device.memory_bytes;
	return p;
}

/* Of a strategy that must be possible. */
static inline struct strategy_cost cost_of(const struct cost_problem *p, const struct strategy *s)
{
	struct strategy_cost c;

	assert_int_equal(strategy_fit(&p->model, &p->cluster, s, p->sequences), FIT_OK);
	assert_int_equal(strategy_cost(p, s, &c, NULL), SB_OK);
	return c;
}
#endif
