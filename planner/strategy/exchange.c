#include "planner/strategy/exchange.h"

double exposed_seconds(const struct cost_problem *p, const struct strategy *s, double exchange, double window)
{
	if (!s->overlap_gradients)
		return exchange;
	return overlapped_seconds(&p->constants, exchange, window);
}

bool reduces_each(const struct cost_problem *p, const struct strategy *s)
{
	return s->zero >= 3 || (s->zero == 2 && strategy_micro_batches(s, p->sequences) > 1);
}

/* Of those who hold the same weights. */
static double replicas_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g,
                               struct parameters_held n, struct offload_passes window)
{
	double reduce, gather = 0, seconds, bytes = s->gradient_bytes;

	if (s->zero == 0) {
		reduce = exchange_all_reduce(&g->dense, bytes * n.dense) +
		         exchange_all_reduce(&g->experts, bytes * n.expert);
	} else {
		reduce = exchange_all_gather(&g->dense, bytes * n.dense) +
		         exchange_all_gather(&g->experts, bytes * n.expert);
		gather = s->zero >= 3 ? 0
		                      : exchange_all_gather(&g->dense, 2 * n.dense) +
		                            exchange_all_gather(&g->experts, 2 * n.expert);
	}
	if (reduces_each(p, s)) /* already part of the stage's time */
		reduce = 0;
	seconds = exposed_seconds(p, s, reduce, window.backward);
	return seconds + exposed_seconds(p, s, gather, window.forward);
}

/* With sequence parallelism each tensor rank has the gradients of norms, and of all else that it does not
 * share, for its own tokens: they are summed once a step (cost-model section 8). */
static double norms_seconds(const struct memory_model *m, const struct strategy *s, const struct groups *g,
                            const struct stage_run *run)
{
	double n = run->first + run->count == s->pp ? m->head_replicated : 0;

	if (!s->sequence_parallel)
		return 0;
	for (int k = 0; k < LAYER_KINDS; k++)
		n += (double)run->layers[k] * m->replicated[k];
	return exchange_all_reduce(&g->tensor, s->gradient_bytes * n);
}

/* An embedding that is also the head stands on both ends of a pipeline. */
static double tied_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g,
                           const struct stage_run *run)
{
	bool first = run->first == 0, last = run->first + run->count == s->pp;
	struct group ends = {.ranks = 2};

	if (!p->model.tied_embedding || s->pp == 1 || !(first || last))
		return 0;
	for (int i = 0; i < p->network.levels; i++)
		ends.inside[i] = g->pp.inside[i] >= g->pp.ranks ? 2 : 1;
	ends.inside[p->network.levels - 1] = 2;
	return all_reduce_seconds(&p->network, &ends,
	                          s->gradient_bytes * (double)(p->model.vocab * p->model.hidden) /
	                              (double)s->tp);
}

double exchange_seconds(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                        const struct groups *g, const struct stage_run *run, struct offload_passes window)
{
	return replicas_seconds(p, s, g, stage_parameters(p, m, s, run), window) +
	       norms_seconds(m, s, g, run) + tied_seconds(p, s, g, run);
}
