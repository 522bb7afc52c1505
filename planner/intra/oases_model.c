#include "planner/intra/oases_model.h"

#include "planner/strategy/space.h"

/* 16-bit weight, 32-bit gradient, 32-bit weight and two moments. */
#define STATE_BYTES 18
#define KEPT_TENSORS 3
/* Of one block a layer: the forward's, the replayed forward's and the backward's collective. */
#define COLLECTIVES 6

/* The MLP's products, forward, seconds. */
static double mlp_seconds(const struct cost_problem *p, double rows, double tp)
{
	const struct model *m = &p->model;
	double width = (double)m->ffn_hidden / tp, h = (double)m->hidden;

	return (m->gated_ffn ? 2 : 1) * gemm_seconds(p, rows, width, h) + gemm_seconds(p, rows, h, width);
}

static void set_times(const struct cost_problem *p, const struct strategy *half, const struct groups *g,
                      struct oases_degree *d)
{
	struct layer_time l = layer_seconds(p, half, g, LAYER_DENSE);
	struct layer_time before = embedding_seconds(p, half, g), after = head_seconds(p, half, g);
	double mlp = mlp_seconds(p, (double)half->micro_batch * (double)p->model.seq_len, (double)half->tp);
	double forward = l.parts[PART_RECOMPUTE]; /* all of a layer is replayed */

	d->forward[0] = forward - mlp;
	d->forward[1] = mlp;
	d->backward[0] = l.parts[PART_COMPUTE] - forward - 2 * mlp;
	d->backward[1] = 2 * mlp;
	d->communication = l.parts[PART_TENSOR] / COLLECTIVES;
	d->first_seconds = 2 * (before.forward + before.backward);
	d->last_seconds = 2 * (after.forward + after.backward);
}

/* What comes once a step, shared out over the blocks by their parameters, and the steps that make it up. */
static void set_rest(const struct cost_problem *p, const struct strategy *half, const struct groups *g,
                     int64_t steps, struct oases_degree *d)
{
	const struct model *m = &p->model;
	struct strategy whole = *half;
	struct layer_costs costs;
	const struct memory_model *memory = &costs.memory;
	struct stage_run run = {.count = 1, .layers = {[LAYER_DENSE] = m->layers}};
	struct stage_time once;
	double layer,
	    mlp = (double)(m->gated_ffn ? 3 : 2) * (double)(m->hidden * m->ffn_hidden) / (double)half->tp;
	double kept = KEPT_TENSORS * 2 * (double)d->sequences * (double)(m->seq_len * m->hidden);

	whole.micro_batch = d->sequences;
	costs = layer_costs_of(p, &whole, g);
	once = stage_seconds(p, &costs, &whole, g, &run);
	layer = memory->dense_parameters[LAYER_DENSE];
	for (int kind = 0; kind < 2; kind++) {
		double parameters = kind == 0 ? layer - mlp : mlp;

		d->bytes[kind] = STATE_BYTES * parameters + p->constants.fragmentation * kept;
		d->extra[kind] =
		    (once.exchange + once.optimizer) * parameters / layer / (double)(m->layers * steps);
	}
	d->first_bytes = STATE_BYTES * memory->embedding_parameters;
	d->runtime_bytes = STATE_BYTES * memory->head_parameters + p->constants.context_bytes +
	                   p->constants.fragmentation * (memory->transient + memory->last_transient);
}

int64_t oases_model_degrees(const struct search_request *r, int64_t steps,
                            struct oases_degree out[OASES_DEGREES_MAX])
{
	const struct cost_problem *p = &r->problem;
	int64_t devices = cluster_devices(&p->cluster), each = p->sequences / steps, count = 0;

	for (int64_t t = 1; t <= devices && count < OASES_DEGREES_MAX; t *= 2) {
		struct strategy s = strategy_default(&p->model, &p->cluster);
		struct groups g;

		if (devices % t != 0 || each % (devices / t) != 0 || each / (devices / t) % 2 != 0)
			continue;
		s.tp = t;
		s.dp = devices / t;
		s.micro_batch = each / s.dp / 2;
		s.recompute = RECOMPUTE_FULL;
		s.attention = r->attention;
		s.gradient_bytes = r->gradient_bytes;
		if (!allowed_value(r, ONLY_TP, s.tp) || !allowed_value(r, ONLY_DP, s.dp) ||
		    !allowed_value(r, ONLY_MICRO_BATCH, s.micro_batch) ||
		    strategy_fit(&p->model, &p->cluster, &s, p->sequences) != FIT_OK)
			continue;
		g = groups_of(&p->network, &s);
		out[count] = (struct oases_degree){.degree = t, .sequences = 2 * s.micro_batch};
		set_times(p, &s, &g, &out[count]);
		set_rest(p, &s, &g, steps, &out[count]);
		count++;
	}
	return count;
}
