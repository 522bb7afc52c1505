#ifndef SB_TESTS_UNIT_PLANNER_CHUNKS_H
#define SB_TESTS_UNIT_PLANNER_CHUNKS_H
/* Which cuts into chunks the search's space has. */
#include <math.h>

#include "planner/strategy/strategy.h"

/* With chunks, is the last stage, head and one more layer included, the longest? */
static inline bool shorter_pays(const struct strategy *s, const struct model *m)
{
	struct layer_flops f = model_layer_flops(m, m->has_moe ? LAYER_MOE : LAYER_DENSE);
	int64_t last = strategy_stage_layers(s, m->layers, s->pp - 1) + 1;

	last += (int64_t)fmin(8, ceil(model_head_flops(m) / (f.linear + model_kappa(m) * f.scores)));
	for (int64_t i = 0; s->vpp > 1 && i < s->pp - 1; i++) {
		if (strategy_stage_layers(s, m->layers, i) >= last)
			return false;
	}
	return true;
}

/* No fewer chunks are cut evenly into as short ones, and there are no experts; or only the first is shorter,
 * which `rest` before the last leave. */
static inline bool chunks_differ(const struct strategy *s, const struct model *m, int64_t rest)
{
	int64_t layers = m->layers;

	if (s->vpp == 1 || (rest + 1) % (s->pp * s->vpp - 1) == 0)
		return true;
	if (m->has_moe)
		return false;
	for (int64_t v = 1; v < s->vpp; v++) {
		if ((layers + s->pp * v - 1) / (s->pp * v) <=
		    (layers + s->pp * s->vpp - 1) / (s->pp * s->vpp))
			return false;
	}
	return true;
}
#endif
