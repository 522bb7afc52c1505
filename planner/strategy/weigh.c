#include <math.h>
#include <string.h>

#include "planner/cost/offload.h"
#include "planner/strategy/weigh.h"

/* One layout: its experts' divisions, batches, cuts, orders and options. */

/* Strategies of one batch and division of the experts. */
static int64_t all_of_batch(const struct weighing *w)
{
	return (int64_t)w->pipeline->cuts * zero_levels(w->x->r, &w->s) * w->all_placements * w->x->modes;
}

/* One division of the experts in one batch. */
static void weigh_division(struct weighing *w, struct division *d, int64_t m)
{
	struct search *x = w->x;
	double quick;

	w->s.recompute = RECOMPUTE_NONE;
	w->s.offload = (struct offload){0};
	w->s.node_devices = w->fewest;
	w->least = d->memory;
	x->effort++;
	quick = least_seconds(x, &w->s, w->pipeline, search_least_work(x, &w->s, true)->of, m);
	if (!search_wants(x, quick, d->memory)) {
		reject(w, REJECT_SLOWER, all_of_batch(w), quick);
		return;
	}
	list_bodies(w, m, quick);
	d->too_large = !x->batch_fits;
	x->any_fits = x->any_fits || x->body_count > 0;
	if (x->body_count == 0 || x->memory_only)
		return;
	weigh_placements(w, d, m);
}

/* What may leave a stage, activations aside, if it needed no buffers. */
static double away_bytes(const struct search *x, const struct memory_parts *m)
{
	const double part[] = {m->weights, m->gradients, m->optimizer};
	double bytes = 0;

	for (int i = OFFLOAD_WEIGHTS; i <= OFFLOAD_OPTIMIZER; i++)
		bytes += x->away >> i & 1 ? part[i] : 0;
	return bytes;
}

/* What the host can take from a device at most: a byte of activations takes its fragments with it. */
static double host_share(const struct search *x, const struct strategy *s)
{
	const struct cost_problem *p = &x->r->problem;
	double of_one = offload_node_bytes(&p->cluster, s, &(struct memory_parts){.host = 1});

	return x->away ? p->constants.fragmentation * x->host_bytes / of_one : 0;
}

/* A sound bound of the fullest stage's memory: no stage of a pipeline can be below the average one, without
 * activations, sharded as far as it goes, with what may be offloaded on the host as far as that holds it.
 * Each is a sum over the stage's layers, so that some stage has no less than the average. */
static double least_memory(const struct weighing *w)
{
	const struct cost_problem *p = &w->x->r->problem;
	const struct memory_model m = memory_model_of(p, &w->s);
	struct stage_run average = {.first = w->s.pp > 1 ? 1 : 0, .count = 1};
	struct strategy s = w->s;
	double least = INFINITY, host = w->x->host_wanted ? INFINITY : host_share(w->x, &s);

	s.offload = (struct offload){0};

	for (int k = 0; k < LAYER_KINDS; k++)
		average.layers[k] = model_layers_of(&p->model, p->model.layers, (enum layer_kind)k) / s.pp;
	if (s.pp == 2) /* neither first nor last */
		s.pp = 3;
	for (s.zero = 0; s.zero < zero_levels(w->x->r, &w->s); s.zero++) {
		struct memory_parts parts = stage_memory(p, &m, &s, &average, 0);

		least = fmin(least, fmax(memory_total(&parts) - away_bytes(w->x, &parts),
		                         memory_total(&parts) - host));
	}
	return least;
}

/* The ways to divide the experts over the ranks of a stage, with what is known of each. */
static void list_divisions(struct weighing *w, int64_t ranks)
{
	struct search *x = w->x;

	x->division_count = 0;
	x->class_count = x->use_count = x->placements.count = 0;
	x->placements.left_out = false;
	w->s.micro_batch = 1;
	for (int i = 0; i < x->ep.count * x->etp.count; i++) {
		struct division *d = &x->divisions[x->division_count];

		x->effort++;
		w->s.ep = x->ep.value[i / x->etp.count];
		w->s.etp = x->etp.value[i % x->etp.count];
		if (x->r->unfolded && (w->s.etp != w->s.tp || w->s.dp % w->s.ep != 0))
			continue;
		if (w->s.ep > ranks || ranks % (w->s.ep * w->s.etp) != 0) {
			reject(w, REJECT_EXPERTS, 1, NAN);
			continue;
		}
		d->ep = w->s.ep;
		d->etp = w->s.etp;
		d->memory = least_memory(w);
		d->classes = 0;
		x->division_count++;
	}
}

static void weigh_batch(struct weighing *w, int64_t m, double quick)
{
	struct search *x = w->x;

	for (int i = 0; i < x->division_count; i++) {
		struct division *d = &x->divisions[i];

		if (d->too_large) /* as a smaller batch was */
			continue;
		if (search_exhausted(x) || (x->memory_only && x->any_fits))
			return;
		w->s.ep = d->ep;
		w->s.etp = d->etp;
		if (d->memory > fmax((double)x->r->problem.memory_bytes, x->out->least_memory))
			reject(w, REJECT_MEMORY, all_of_batch(w), quick);
		else
			weigh_division(w, d, m);
	}
}

static int64_t all_divisions(struct weighing *w)
{
	int64_t all = 0;

	w->x->effort += w->x->division_count / 8;
	for (int i = 0; i < w->x->division_count; i++) {
		w->s.ep = w->x->divisions[i].ep;
		w->s.etp = w->x->divisions[i].etp;
		all += all_of_batch(w);
	}
	return all;
}

static struct weighing weighing_of(struct search *x, const struct layout *y)
{
	struct weighing w = {.x = x, .s = search_default(x->r), .pipeline = &x->pipelines[y->pipeline]};
	struct node_range all;

	w.s.tp = y->tp;
	w.s.tp_x = y->tp_x;
	w.s.cp = y->cp;
	w.s.dp = y->dp;
	w.s.pp = w.pipeline->pp;
	w.nodes = all = node_range_of(&x->r->problem.cluster, &w.s);
	if (x->node_walk == NODES_WHOLE)
		w.nodes.least = all.most;
	if (x->node_walk == NODES_IN_PART)
		w.nodes.most = all.most - 1;
	w.orders = order_count(&w.s);
	w.all_placements = w.orders * (w.nodes.most - w.nodes.least + 1);
	/* Of what offloads, where a host has the fewest to hold. */
	w.fewest = x->away && w.nodes.least < all.most ? w.nodes.least : 0;
	w.s.node_devices = w.fewest;
	return w;
}

void weigh_layout(struct search *x, const struct layout *y)
{
	struct weighing w = weighing_of(x, y);
	int64_t share = x->r->problem.sequences / y->dp;

	if (w.all_placements == 0)
		return;
	if (zero_levels(x->r, &w.s) == 2) { /* of four */
		w.s.zero = 2;
		reject(&w, REJECT_ZERO, 2, NAN);
		w.s.zero = 0;
	}
	w.s.sequence_parallel = y->tp_x > 1; /* a grid has no other way: what it needs at least is with it */
	list_divisions(&w, y->tp * y->cp * y->dp);
	for (int sp = 1; sp >= 0; sp--) {
		w.s.sequence_parallel = sp == 1;
		for (int i = 0; i < x->division_count; i++)
			x->divisions[i].too_large = false;
		x->effort += x->batch.count / 8;
		for (int i = 0; i < x->batch.count && x->batch.value[i] <= share; i++) {
			struct work least = x->least[y->least].of[i][sp];
			double quick;
			int64_t m = share / x->batch.value[i];

			if (isinf(least.all) || share % x->batch.value[i] != 0)
				continue;
			w.s.micro_batch = x->batch.value[i];
			quick = least_seconds(x, &w.s, w.pipeline, least, m);
			if (quick >= x->without || (!x->memory_only && quick > SEARCH_SLACK * x->reached))
				reject(&w, REJECT_SLOWER, all_divisions(&w), quick);
			else
				weigh_batch(&w, m, quick);
		}
	}
}

void cut_off_layout(struct search *x, const struct layout *y)
{
	struct weighing w = weighing_of(x, y);
	int64_t share = x->r->problem.sequences / y->dp, ranks = y->tp * y->cp * y->dp, all = 0, batches = 0;

	x->effort += (x->batch.count + x->ep.count * x->etp.count) / 8;
	for (int i = 0; i < x->ep.count * x->etp.count; i++) {
		w.s.ep = x->ep.value[i / x->etp.count];
		w.s.etp = x->etp.value[i % x->etp.count];
		if (ranks % (w.s.ep * w.s.etp) == 0)
			all += all_of_batch(&w);
	}
	for (int i = 0; i < x->batch.count && x->batch.value[i] <= share; i++)
		batches += share % x->batch.value[i] == 0;
	reject(&w, REJECT_SLOWER, all * batches, y->bound);
}
