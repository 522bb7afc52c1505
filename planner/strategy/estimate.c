#include "planner/strategy/cost.h"

#include <math.h>
#include <stdlib.h>

#include "planner/cost/offload.h"
#include "planner/schedule/schedule.h"
#include "planner/strategy/scheduled.h"

#define EXACT_OPERATIONS (1 << 16)   /* beyond it the steady state is extrapolated */
#define LARGEST_OPERATIONS (1 << 22) /* beyond it the closed form answers */
#define STEADY_FROM 4                /* micro-batches per stage after which the schedule repeats */

/* The stages of one strategy, expanded. */
struct expansion {
	struct stage_run *runs;
	struct stage_time *times; /* of each run */
	double *forward, *backward;
	double *end;
	double alone; /* seconds of a step beyond the simulation (alone_seconds()) */
	int64_t count;
};

static void free_expansion(struct expansion *x)
{
	free(x->runs);
	free(x->times);
	free(x->forward);
	free(x->backward);
	free(x->end);
}

static int expand(const struct cost_problem *p, const struct layer_costs *l, const struct strategy *s,
                  const struct groups *g, struct expansion *x, struct sb_error *err)
{
	size_t stages = (size_t)s->pp, cells = stages * (size_t)s->vpp;

	x->runs = calloc(2 * stages, sizeof(*x->runs));
	x->times = calloc(stages, sizeof(*x->times));
	x->forward = calloc(cells, sizeof(*x->forward));
	x->backward = calloc(cells, sizeof(*x->backward));
	x->end = calloc(stages, sizeof(*x->end));
	if (!x->runs || !x->times || !x->forward || !x->backward || !x->end)
		return sb_no_memory(err);
	x->count = strategy_costed_runs(p, &l->memory, s, x->runs);
	for (int64_t r = 0; r < x->count; r++) {
		struct stage_time t = x->times[r] = stage_seconds(p, l, s, g, &x->runs[r]);

		x->alone += (double)x->runs[r].count * alone_seconds(&t);
		for (int64_t i = x->runs[r].first; i < x->runs[r].first + x->runs[r].count; i++) {
			for (int64_t j = 0; j < s->vpp; j++) {
				struct pass_time one = chunk_seconds(p, l, s, &x->runs[r], &t, j);

				x->forward[j * s->pp + i] = one.forward;
				x->backward[j * s->pp + i] = one.backward;
			}
		}
	}
	/* The embedding belongs to the first chunk of all, the head to the last. */
	x->forward[0] += l->embedding.forward;
	x->backward[0] += l->embedding.backward;
	x->forward[cells - 1] += l->head.forward;
	x->backward[cells - 1] += l->head.backward;
	return SB_OK;
}

static int simulate(const struct strategy *s, int64_t micro_batches, const double *forward,
                    const double *backward, double *end, struct sb_error *err)
{
	const struct schedule_shape shape = strategy_schedule_shape(s, micro_batches);

	return schedule_ends(&shape, forward, backward, end, err);
}

/* Too large to simulate: every stage waits for the slowest (cost-model section 10, uneven form). */
static void closed_form(const struct strategy *s, const double *forward, const double *backward,
                        int64_t micro_batches, double *end)
{
	double sum = 0, slowest = 0, all;

	for (int64_t i = 0; i < s->pp; i++) {
		double work = 0;

		for (int64_t j = 0; j < s->vpp; j++)
			work += forward[j * s->pp + i] + backward[j * s->pp + i];
		sum += work;
		slowest = fmax(slowest, work);
	}
	all = (double)micro_batches * slowest + (sum - slowest) / (double)s->vpp;
	for (int64_t i = 0; i < s->pp; i++)
		end[i] = all;
}

int pipeline_ends(const struct strategy *s, int64_t micro_batches, const double *forward,
                  const double *backward, double *out_end, bool *out_simulated, struct sb_error *err)
{
	double each = 2 * (double)s->pp * (double)s->vpp, *longer;
	int64_t few = STEADY_FROM * s->pp + micro_batches % s->pp;
	int rc;

	*out_simulated = each * (double)micro_batches <= EXACT_OPERATIONS || few + s->pp >= micro_batches;
	if (*out_simulated && each * (double)micro_batches <= LARGEST_OPERATIONS)
		return simulate(s, micro_batches, forward, backward, out_end, err);
	*out_simulated = false;
	if (each * (double)(few + s->pp) > LARGEST_OPERATIONS) {
		closed_form(s, forward, backward, micro_batches, out_end);
		return SB_OK;
	}
	longer = calloc((size_t)s->pp, sizeof(*longer));
	rc = longer ? simulate(s, few, forward, backward, out_end, err) : sb_no_memory(err);
	if (rc == SB_OK)
		rc = simulate(s, few + s->pp, forward, backward, longer, err);
	for (int64_t i = 0; rc == SB_OK && i < s->pp; i++)
		out_end[i] += (longer[i] - out_end[i]) * (double)(micro_batches - few) / (double)s->pp;
	free(longer);
	return rc;
}

static void add_parts(double parts[LAYER_PARTS], const struct layer_time *t, double times)
{
	for (int i = 0; i < LAYER_PARTS; i++)
		parts[i] += times * t->parts[i];
}

static int64_t busiest_run(const struct expansion *x)
{
	int64_t r = 0;

	for (int64_t i = 1; i < x->count; i++) {
		if (stage_work(&x->times[i]) > stage_work(&x->times[r]))
			r = i;
	}
	return r;
}

/* The busiest stage's time by what it was spent on; the rest of the step is the pipeline's bubble. */
static struct breakdown_seconds split(const struct layer_costs *l, const struct strategy *s,
                                      const struct expansion *x, int64_t micro_batches, double passes,
                                      double optimizer)
{
	double parts[LAYER_PARTS] = {0}, m = (double)micro_batches, inside = 0, work, alone;
	struct breakdown_seconds b = {.optimizer = optimizer};
	int64_t r = busiest_run(x);

	for (int k = 0; k < LAYER_KINDS; k++) {
		add_parts(parts, &l->layer[k], (double)(x->runs[r].layers[k] - x->runs[r].kept[k]));
		add_parts(parts, &l->kept[k], (double)x->runs[r].kept[k]);
	}
	if (x->runs[r].first == 0)
		add_parts(parts, &l->embedding, 1);
	if (x->runs[r].first + x->runs[r].count == s->pp)
		add_parts(parts, &l->head, 1);
	for (int i = 0; i < LAYER_PARTS; i++)
		inside += parts[i];
	work = stage_work(&x->times[r]);
	alone = alone_seconds(&x->times[r]);
	b.compute = m * parts[PART_COMPUTE];
	b.recompute = m * parts[PART_RECOMPUTE];
	b.tensor_parallel = m * parts[PART_TENSOR];
	b.context_parallel = m * parts[PART_CONTEXT];
	b.expert_parallel = m * parts[PART_EXPERT] + (x->times[r].paired ? 1 : m) * x->times[r].alone_expert;
	b.pipeline_send = m * x->times[r].sends + x->times[r].alone_sends;
	b.offload = m * x->times[r].offload;
	/* What sharded weights and gradients add to every micro-batch counts as exchange. */
	b.gradient_exchange = x->times[r].exchange;
	if (s->zero >= 2)
		b.gradient_exchange += fmax(0, m * (work - inside - x->times[r].sends) - b.offload -
		                                   (x->times[r].paired ? 0 : m * x->times[r].alone_expert));
	/* One stage has no bubble: what is left there is rounding. */
	b.bubble = s->pp > 1 ? fmax(0, passes - m * work - alone - x->times[r].exchange) : 0;
	return b;
}

static double recomputed_flops(const struct cost_problem *p, const struct strategy *s,
                               const struct expansion *x)
{
	double flops = 0;

	for (int k = 0; k < LAYER_KINDS; k++) {
		struct layer_flops f = model_layer_flops(&p->model, (enum layer_kind)k);
		double n = 0;

		for (int64_t r = 0; r < x->count; r++)
			n += (double)(x->runs[r].count * (x->runs[r].layers[k] - x->runs[r].kept[k]));
		if (s->recompute == RECOMPUTE_FULL)
			flops += n * (f.linear + f.scores);
		else if (s->recompute == RECOMPUTE_SELECTIVE && s->attention == ATTENTION_UNFUSED)
			flops += n * f.scores;
	}
	return flops * (double)p->sequences;
}

static void rates(const struct cost_problem *p, const struct strategy *s, const struct expansion *x,
                  struct strategy_cost *c)
{
	double model = model_step_flops(&p->model, p->sequences, 1);
	double peak = c->step_seconds * (double)strategy_devices(s) * p->cluster.device.peak_flops;

	c->tokens_per_second = (double)p->sequences * (double)p->model.seq_len / c->step_seconds;
	c->mfu = model / peak;
	c->hfu = (model + recomputed_flops(p, s, x)) / peak;
}

/* Of a pipeline in 1F1B, straight or interleaved. */
static int cost_expanded(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                         const struct groups *g, struct expansion *x, struct strategy_cost *c,
                         struct sb_error *err)
{
	int64_t m = strategy_micro_batches(s, p->sequences);
	double passes = 0, optimizer = 0, away = 0, inner;
	int rc = pipeline_ends(s, m, x->forward, x->backward, x->end, &c->simulated, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t r = 0; r < x->count; r++) {
		for (int64_t i = x->runs[r].first; i < x->runs[r].first + x->runs[r].count; i++)
			passes = fmax(passes, x->end[i] + x->times[r].exchange);
		if (x->times[r].optimizer > optimizer) {
			optimizer = x->times[r].optimizer;
			away = x->times[r].offload_update;
		}
	}
	passes += x->alone;
	c->bound_seconds = bound_seconds(p, l, s, g, x->runs, x->count, m);
	c->busiest_stage = x->runs[busiest_run(x)].first;
	c->breakdown = split(l, s, x, m, passes, optimizer - away);
	c->breakdown.offload += away;
	inner = passes + optimizer;
	c->step_seconds = fmax(cost_outside(p, s, inner), c->bound_seconds);
	c->breakdown.other = fmax(0, c->step_seconds - inner);
	c->memory = peak_memory(p, l, s, x->runs, x->count, m, &c->fullest_stage);
	return SB_OK;
}

static int cost_any(const struct cost_problem *p, const struct strategy *s, struct expansion *x,
                    struct strategy_cost *out, struct sb_error *err)
{
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = layer_costs_of(p, s, &g);
	struct strategy_cost c = {0};
	int rc = expand(p, &l, s, &g, x, err);

	if (rc == SB_OK)
		rc = s->schedule == PIPELINE_1F1B
		         ? cost_expanded(p, s, &l, &g, x, &c, err)
		         : scheduled_cost(p, s, &l, x->runs, x->times, x->count, &c, err);
	if (rc != SB_OK)
		return rc;
	c.host_bytes = offload_node_bytes(&p->cluster, s, &c.memory);
	c.host_fits = c.host_bytes <= (double)p->cluster.host_memory_bytes;
	c.fits = c.host_fits && memory_total(&c.memory) <= (double)p->memory_bytes;
	rates(p, s, x, &c);
	*out = c;
	return SB_OK;
}

int strategy_cost(const struct cost_problem *p, const struct strategy *s, struct strategy_cost *out,
                  struct sb_error *err)
{
	struct expansion x = {0};
	int rc = cost_any(p, s, &x, out, err);

	free_expansion(&x);
	return rc;
}
