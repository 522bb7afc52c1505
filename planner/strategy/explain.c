#include "planner/strategy/explain.h"

#include <math.h>
#include <stdlib.h>

#include "planner/cost/offload.h"
#include "planner/strategy/scheduled.h"

void explanation_free(struct explanation *e)
{
	free(e->stages);
	*e = (struct explanation){0};
}

/* The same problem with compute that takes no time: nothing hides an exchange. */
static struct cost_problem without_compute(const struct cost_problem *p)
{
	struct cost_problem bare = *p;

	bare.cluster.device.peak_flops = INFINITY;
	bare.cluster.device.memory_bandwidth = INFINITY;
	bare.constants.launch_seconds = 0;
	return bare;
}

/* On links of one byte a second: its seconds are the bytes on the wire. */
static struct cost_problem in_bytes(const struct cost_problem *p)
{
	struct cost_problem bytes = without_compute(p);

	bytes.network =
	    (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {1}, .latency = {0}};
	bytes.cluster.host_link_bytes_per_second = 1;
	bytes.cluster.host_link_devices = 1;
	return bytes;
}

/* With nothing left that takes time but the link to the host. slowdown: 1 = of both directions the longer
 * one counts, 2 = both. */
static struct cost_problem host_link_only(const struct cost_problem *p, double slowdown)
{
	struct cost_problem host = *p;

	host.network =
	    (struct network){.levels = 1, .domain = {INT64_MAX}, .bandwidth = {INFINITY}, .latency = {0}};
	host.constants.overlap_slowdown = slowdown;
	if (host.cluster.host_memory_bandwidth > 0)
		host.cluster.host_memory_bandwidth = INFINITY;
	return host;
}

static const struct stage_run *run_of(const struct explanation *e, int64_t stage)
{
	int64_t at = 0;

	while (at + 1 < e->stage_count && e->stages[at + 1].run.first <= stage)
		at++;
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
static double gradients_of(const struct cost_problem *p, const struct layer_costs *l,
                           const struct strategy *s, const struct groups *g, const struct stage_run *run,
                           double micro_batches)
{
	struct strategy bare = *s;
	struct stage_time all, once;

	bare.overlap_gradients = false;
	bare.offload = (struct offload){0};
	all = stage_seconds(p, l, &bare, g, run);
	bare.zero = 0;
	once = stage_seconds(p, l, &bare, g, run);
	return all.exchange + micro_batches * (stage_work(&all) - stage_work(&once));
}

static double host_of(const struct cost_problem *p, double slowdown, const struct strategy *s,
                      const struct stage_run *run, double micro_batches)
{
	const struct cost_problem host = host_link_only(p, slowdown);
	const struct groups g = groups_of(&host.network, s);
	const struct layer_costs l = layer_costs_of(&host, s, &g);
	struct stage_time t;

	if (!offload_any(&s->offload))
		return 0;
	t = stage_seconds(&host, &l, s, &g, run);
	return micro_batches * t.offload + t.offload_update;
}

/* What tensor ranks exchange in a micro-batch, by the sides of their grid; what all of them do together is
 * `all`, and so is everything in one dimension. */
static void split_tensor(const struct cost_problem *p, const struct strategy *s, const struct stage_run *run,
                         double all, double out[TRAFFICS])
{
	const struct group alone = {.ranks = 1, .inside = {1, 1, 1}};
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l;
	double rest;

	out[TRAFFIC_TENSOR] = all;
	out[TRAFFIC_TENSOR_X] = out[TRAFFIC_TENSOR_Y] = 0;
	if (tensor_grid_of(s).x == 1)
		return;
	g.tp_x = alone;
	l = layer_costs_of(p, s, &g);
	rest = part_of(&l, s, run, PART_TENSOR);
	out[TRAFFIC_TENSOR_X] = all - rest;
	g.tp_y = alone;
	l = layer_costs_of(p, s, &g);
	out[TRAFFIC_TENSOR] = part_of(&l, s, run, PART_TENSOR);
	out[TRAFFIC_TENSOR_Y] = rest - out[TRAFFIC_TENSOR];
}

/* Of a stage and m micro-batches of a problem without compute, in its own unit. */
static void traffic_of(const struct cost_problem *p, const struct strategy *s, const struct stage_run *run,
                       double m, double out[TRAFFICS])
{
	const struct groups g = groups_of(&p->network, s);
	const struct layer_costs l = layer_costs_of(p, s, &g);
	double sends = s->pp > 1 ? 2 * m * (double)s->vpp : 0;
	double sent = send_seconds(&p->network, &g.pp, stage_send_bytes(p, s));

	split_tensor(p, s, run, part_of(&l, s, run, PART_TENSOR), out);
	for (int i = TRAFFIC_TENSOR; i <= TRAFFIC_TENSOR_Y; i++)
		out[i] *= m;
	out[TRAFFIC_TENSOR] += sends * (l.send - sent);
	out[TRAFFIC_CONTEXT] = m * part_of(&l, s, run, PART_CONTEXT);
	out[TRAFFIC_EXPERT] = m * part_of(&l, s, run, PART_EXPERT);
	out[TRAFFIC_PIPELINE] = sends * sent;
	out[TRAFFIC_GRADIENTS] = gradients_of(p, &l, s, &g, run, m);
}

/* A device of DualPipe holds its stage's mirror, too, and half of the micro-batches come to each. */
static void device_traffic(const struct cost_problem *p, const struct strategy *s,
                           const struct explanation *e, int64_t device, double out[TRAFFICS])
{
	double m = (double)strategy_micro_batches(s, p->sequences), mirror[TRAFFICS] = {0};

	if (s->schedule != PIPELINE_DUALPIPE) {
		traffic_of(p, s, run_of(e, device), m, out);
		return;
	}
	traffic_of(p, s, run_of(e, device), m / 2, out);
	traffic_of(p, s, run_of(e, s->pp - 1 - device), m / 2, mirror);
	for (int i = 0; i < TRAFFIC_HOST; i++)
		out[i] += mirror[i];
}

/* A send's gather by tensor ranks is theirs. */
static void exposed_of(const struct cost_problem *p, const struct strategy *s,
                       const struct breakdown_seconds *b, double out[TRAFFICS])
{
	const struct groups g = groups_of(&p->network, s);
	double both = stage_send_seconds(p, s, &g),
	       sent = send_seconds(&p->network, &g.pp, stage_send_bytes(p, s));
	double sends = both > 0 ? b->pipeline_send * sent / both : 0;
	bool grid = tensor_grid_of(s).x > 1;

	out[TRAFFIC_TENSOR] = grid ? NAN : b->tensor_parallel + b->pipeline_send - sends;
	out[TRAFFIC_TENSOR_X] = out[TRAFFIC_TENSOR_Y] = grid ? NAN : 0;
	out[TRAFFIC_CONTEXT] = b->context_parallel;
	out[TRAFFIC_EXPERT] = b->expert_parallel;
	out[TRAFFIC_PIPELINE] = sends;
	out[TRAFFIC_GRADIENTS] = b->gradient_exchange;
	out[TRAFFIC_HOST] = b->offload;
}

static void add_traffic(const struct cost_problem *p, const struct strategy *s, const struct strategy_cost *c,
                        struct explanation *e)
{
	const struct cost_problem bytes = in_bytes(p), bare = without_compute(p);
	const struct groups g = groups_of(&p->network, s);
	const struct group shared = {.ranks = 1, .inside = {1}};
	/* One replica alone has gradients to sum over its tensor ranks only, those of norms. */
	const struct group *gradients = g.dp.ranks > 1 ? &g.dp : &g.tp_y;
	const struct group *groups[TRAFFICS] = {&g.tp, &g.tp_x, &g.tp_y,   &g.cp,
	                                        &g.ep, &g.pp,   gradients, &shared};
	const struct stage_run *run = run_of(e, c->busiest_stage);
	double moved[TRAFFICS], seconds[TRAFFICS], exposed[TRAFFICS];
	double m = (double)strategy_micro_batches(s, p->sequences);

	device_traffic(&bytes, s, e, c->busiest_stage, moved);
	device_traffic(&bare, s, e, c->busiest_stage, seconds);
	moved[TRAFFIC_HOST] = host_of(&bytes, 2, s, run, m);
	seconds[TRAFFIC_HOST] = host_of(&bare, 1, s, run, m);
	exposed_of(p, s, &c->breakdown, exposed);
	for (int i = 0; i < TRAFFICS; i++)
		e->traffic[i] = (struct explained_traffic){groups[i]->ranks, groups[i]->inside[0], moved[i],
		                                           seconds[i], exposed[i]};
}

/* In other orders than 1F1B: of the device of the first stage of each run. */
static int device_memory(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                         const struct stage_run *runs, struct explanation *io, struct sb_error *err)
{
	struct memory_parts *memory = malloc((size_t)s->pp * sizeof(*memory));
	int rc = memory ? scheduled_memory(p, s, l, runs, io->stage_count, memory, err) : sb_no_memory(err);

	for (int64_t i = 0; rc == SB_OK && i < io->stage_count; i++)
		io->stages[i].memory = memory[runs[i].first];
	free(memory);
	return rc;
}

int strategy_explain(const struct cost_problem *p, const struct strategy *s, const struct strategy_cost *c,
                     struct explanation *out, struct sb_error *err)
{
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = layer_costs_of(p, s, &g);
	int64_t m = strategy_micro_batches(s, p->sequences);
	struct stage_run *runs = calloc(2 * (size_t)s->pp, sizeof(*runs));
	int rc;

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
	rc = s->schedule == PIPELINE_1F1B ? SB_OK : device_memory(p, s, &l, runs, out, err);
	free(runs);
	if (rc == SB_OK)
		add_traffic(p, s, c, out);
	else
		explanation_free(out);
	return rc;
}
