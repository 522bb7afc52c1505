#include "planner/strategy/explain.h"

#include <math.h>
#include <stdlib.h>

void explanation_free(struct explanation *e)
{
	free(e->stages);
	*e = (struct explanation){0};
}

/* The same problem on links of one byte a second that nothing hides, with compute that takes no time: its
 * seconds are the bytes on the wire. */
static struct cost_problem in_bytes(const struct cost_problem *p)
{
	struct cost_problem bytes = *p;

	bytes.network =
	    (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1}, .latency = {0}};
	bytes.cluster.device.peak_flops = INFINITY;
	bytes.cluster.device.memory_bandwidth = INFINITY;
	bytes.constants.launch_seconds = 0;
	return bytes;
}

static double work_of(const struct stage_time *t)
{
	return t->forward + t->backward + t->head_forward + t->head_backward;
}

static const struct stage_run *busiest(const struct explanation *e)
{
	int64_t at = 0;

	for (int64_t i = 1; i < e->stage_count; i++)
		if (work_of(&e->stages[i].seconds) > work_of(&e->stages[at].seconds))
			at = i;
	return &e->stages[at].run;
}

/* Of a stage and one micro-batch. */
static double part_of(const struct layer_costs *l, const struct strategy *s, const struct stage_run *run,
                      enum part part)
{
	double sum = 0;

	for (int k = 0; k < LAYER_KINDS; k++)
		sum += (double)(run->layers[k] - run->kept[k]) * l->layer[k].parts[part] +
		       (double)run->kept[k] * l->kept[k].parts[part];
	if (run->first == 0)
		sum += l->embedding.parts[part];
	if (run->first + run->count == s->pp)
		sum += l->head.parts[part];
	return sum;
}

/* Once a step, and what sharded weights and gradients add to each micro-batch. */
static double gradient_bytes(const struct cost_problem *bytes, const struct layer_costs *l,
                             const struct strategy *s, const struct groups *g, const struct stage_run *run,
                             double micro_batches)
{
	struct strategy bare = *s;
	struct stage_time all, once;

	bare.overlap_gradients = false;
	all = stage_seconds(bytes, l, &bare, g, run);
	bare.zero = 0;
	once = stage_seconds(bytes, l, &bare, g, run);
	return all.exchange + micro_batches * (work_of(&all) - work_of(&once));
}

static void add_traffic(const struct cost_problem *p, const struct strategy *s, struct explanation *e)
{
	const struct cost_problem bytes = in_bytes(p);
	const struct groups g = groups_of(&bytes.network, s), real = groups_of(&p->network, s);
	const struct group *groups[TRAFFICS] = {&real.tp, &real.cp, &real.ep, &real.pp, &real.dp};
	const struct layer_costs l = layer_costs_of(&bytes, s, &g);
	const struct stage_run *run = busiest(e);
	double m = (double)strategy_micro_batches(s, p->sequences), sent = stage_send_bytes(p, s);
	double sends = s->pp > 1 ? 2 * m * (double)s->vpp : 0;

	for (int i = 0; i < TRAFFICS; i++)
		e->traffic[i] = (struct explained_traffic){groups[i]->ranks, groups[i]->inside[0], 0};
	e->traffic[TRAFFIC_TENSOR].bytes = m * part_of(&l, s, run, PART_TENSOR) + sends * (l.send - sent);
	e->traffic[TRAFFIC_CONTEXT].bytes = m * part_of(&l, s, run, PART_CONTEXT);
	e->traffic[TRAFFIC_EXPERT].bytes = m * part_of(&l, s, run, PART_EXPERT);
	e->traffic[TRAFFIC_PIPELINE].bytes = sends * sent;
	e->traffic[TRAFFIC_GRADIENTS].bytes = gradient_bytes(&bytes, &l, s, &g, run, m);
}

int strategy_explain(const struct cost_problem *p, const struct strategy *s, struct explanation *out,
                     struct sb_error *err)
{
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = layer_costs_of(p, s, &g);
	int64_t m = strategy_micro_batches(s, p->sequences);
	struct stage_run *runs = calloc(2 * (size_t)s->pp, sizeof(*runs));

	*out = (struct explanation){.stages = calloc((size_t)s->pp, sizeof(*out->stages))};
	if (!runs || !out->stages) {
		free(runs);
		explanation_free(out);
		return sb_no_memory(err);
	}
	out->stage_count = strategy_costed_runs(p, &l.memory, s, runs);
	for (int64_t i = 0; i < out->stage_count; i++) {
		out->stages[i].run = runs[i];
		out->stages[i].seconds = stage_seconds(p, &l, s, &g, &runs[i]);
		out->stages[i].memory = stage_memory(p, &l.memory, s, &runs[i], m);
	}
	free(runs);
	add_traffic(p, s, out);
	return SB_OK;
}
