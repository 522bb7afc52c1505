#include "planner/methods/ted.h"

#include <math.h>
#include <string.h>

#include "planner/strategy/cost.h"
#include "planner/strategy/space.h"

#define CANDIDATES_MAX 20000 /* about a second of work */

struct ted_memory ted_bytes(const struct ted_parameters *n, const struct ted_layout *l,
                            const struct ted_switches *w)
{
	double tensor = (double)l->tensor, all = n->dense + n->expert;
	double own = all / (double)l->devices;

	return (struct ted_memory){
	    .weights_gradients = 4 * (n->dense / tensor + n->expert / (tensor * (double)l->expert)),
	    .optimizer = 12 * own,
	    .temporary = 4 * (w->tile_parameters > 0 ? fmin(own, w->tile_parameters) : own)};
}

struct ted_parameters ted_parameters_of(const struct model *m)
{
	struct parameters p = model_layer_parameters(m, LAYER_MOE);
	double expert = m->has_moe ? (double)p.expert * (double)model_layers_of(m, m->layers, LAYER_MOE) : 0;

	return (struct ted_parameters){(double)model_parameters(m) - expert, expert};
}

/* Two all-reduces in the tensor group, and in a layer with experts two all-to-alls, of one micro-batch. */
static double pass_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g,
                           enum layer_kind kind, const struct ted_switches *w)
{
	const struct network *n = &p->network;
	double tokens = (double)(s->micro_batch * p->model.seq_len);
	double bytes = 2 * tokens * (double)p->model.hidden, routed, seconds;

	seconds = 2 * all_reduce_seconds(n, &g->tp, bytes);
	if (kind != LAYER_MOE)
		return seconds;
	routed = bytes * (double)p->model.moe.top_k;
	if (!w->drop_duplicates || s->tp == 1)
		return seconds + 2 * all_to_all_seconds(n, &g->ep, routed);
	return seconds + 2 * (all_to_all_seconds(n, &g->ep, routed / (double)s->tp) +
	                      all_gather_seconds(n, &g->tp, routed));
}

double ted_seconds(const struct cost_problem *p, const struct strategy *s, const struct ted_switches *w)
{
	const struct model *m = &p->model;
	struct groups g = groups_of(&p->network, s);
	struct layer_costs costs = layer_costs_of(p, s, &g);
	struct ted_parameters n = ted_parameters_of(m);
	struct stage_run run = {.count = 1};
	int passes = s->recompute == RECOMPUTE_FULL && !w->keep_collectives ? 3 : 2;
	double work = costs.embedding.parts[PART_COMPUTE] + costs.head.parts[PART_COMPUTE], exchange;

	for (int k = 0; k < LAYER_KINDS; k++) {
		const struct layer_time *t = &costs.layer[k];

		run.layers[k] = model_layers_of(m, m->layers, (enum layer_kind)k);
		if (run.layers[k] > 0)
			work +=
			    (double)run.layers[k] * (t->parts[PART_COMPUTE] + t->parts[PART_RECOMPUTE] +
			                             passes * pass_seconds(p, s, &g, (enum layer_kind)k, w));
	}
	/* gradients in 16 bit; reducing them and gathering the weights back is as much as an all-reduce */
	exchange = all_reduce_seconds(&p->network, &g.dp, 2 * n.dense / (double)s->tp) +
	           all_reduce_seconds(&p->network, &g.edp, 2 * n.expert / (double)(s->tp * s->ep));
	return (double)strategy_micro_batches(s, p->sequences) * work + exchange +
	       stage_seconds(p, &costs, s, &g, &run).optimizer;
}

static double activations_of(const struct cost_problem *p, const struct strategy *s)
{
	struct memory_model m = memory_model_of(p, s);
	struct stage_run run = {.count = 1};

	for (int k = 0; k < LAYER_KINDS; k++)
		run.layers[k] = model_layers_of(&p->model, p->model.layers, (enum layer_kind)k);
	return stage_memory(p, &m, s, &run, strategy_micro_batches(s, p->sequences)).activations;
}

/* Takes a choice in: the best of its degrees, in order. */
static void keep(struct ted_result *out, const struct ted_choice *c)
{
	int at = 0;

	for (; at < out->count; at++) {
		const struct strategy *s = &out->kept[at].strategy;

		if (s->tp == c->strategy.tp && s->ep == c->strategy.ep)
			break;
	}
	if (at < out->count && out->kept[at].seconds <= c->seconds)
		return;
	if (at == TED_KEPT && out->kept[--at].seconds <= c->seconds)
		return;
	if (at == out->count)
		out->count++;
	for (; at > 0 && out->kept[at - 1].seconds > c->seconds; at--)
		out->kept[at] = out->kept[at - 1];
	out->kept[at] = *c;
}

double ted_choice_bytes(const struct ted_choice *c)
{
	const struct ted_memory *m = &c->memory;

	return m->weights_gradients + m->optimizer + m->temporary + c->activations;
}

static void weigh(const struct search_request *r, const struct ted_switches *w, struct ted_choice *c,
                  struct ted_result *out)
{
	const struct cost_problem *p = &r->problem;
	struct strategy *s = &c->strategy;
	enum misfit f = strategy_fit(&p->model, &p->cluster, s, p->sequences);
	double bytes;

	out->candidates++;
	if (f != FIT_OK) {
		if (out->unfit[f]++ == 0)
			out->example[f] = *s;
		return;
	}
	c->activations = activations_of(p, s);
	bytes = ted_choice_bytes(c);
	if (bytes < out->least_memory) {
		out->least_memory = bytes;
		out->leanest = *s;
	}
	if (bytes > (double)p->memory_bytes) {
		out->over++;
		return;
	}
	c->seconds = ted_seconds(p, s, w);
	keep(out, c);
	if (plan_front_wants(&out->front, c->seconds, bytes))
		out->on_front[plan_front_add(&out->front, c->seconds, bytes)] = *c;
}

/* No step on so many devices is shorter: the products with weights at the device's peak. */
static double least_seconds(const struct search_request *r, int64_t devices)
{
	const struct model *m = &r->problem.model;
	double flops = 0;

	for (int k = 0; k < LAYER_KINDS; k++)
		flops += (double)model_layers_of(m, m->layers, (enum layer_kind)k) *
		         model_layer_flops(m, (enum layer_kind)k).linear;
	return 3 * flops * (double)r->problem.sequences /
	       ((double)devices * r->problem.cluster.device.peak_flops);
}

/* What a choice of these degrees must beat to be an alternative. */
static double bar(const struct ted_result *x, int64_t tp, int64_t ep)
{
	for (int i = 0; i < x->count; i++)
		if (x->kept[i].strategy.tp == tp && x->kept[i].strategy.ep == ep)
			return x->kept[i].seconds;
	return x->count == TED_KEPT ? x->kept[TED_KEPT - 1].seconds : INFINITY;
}

/* Can no plan of this layout, on as many replicas or fewer, be kept or lie on the frontier? Fewer only take
 * longer and need more than single sequences recomputed on as many. */
static bool is_past(const struct search_request *r, const struct ted_switches *w, const struct strategy *s,
                    const struct ted_result *x)
{
	struct ted_parameters n = ted_parameters_of(&r->problem.model);
	struct ted_choice leanest = {.strategy = *s};
	double least = least_seconds(r, s->tp * s->dp);

	if (least < bar(x, s->tp, s->ep))
		return false;
	if (x->count > 0 && least > SEARCH_SLACK * x->kept[0].seconds)
		return true;
	leanest.memory = ted_bytes(&n, &(struct ted_layout){s->tp * s->dp, s->tp, s->ep}, w);
	leanest.strategy.micro_batch = 1;
	leanest.strategy.recompute = RECOMPUTE_FULL;
	leanest.activations = activations_of(&r->problem, &leanest.strategy);
	return !plan_front_wants(&x->front, least, ted_choice_bytes(&leanest));
}

/* One layout on so many replicas. *out_full: not even single sequences fit. */
static int weigh_replicas(const struct search_request *r, const struct ted_switches *w,
                          const struct values *batch, struct strategy *s, bool *out_full,
                          struct ted_result *out)
{
	static const enum recompute ways[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};
	struct ted_parameters n = ted_parameters_of(&r->problem.model);
	struct ted_layout layout = {s->tp * s->dp, s->tp, s->ep};
	struct ted_choice c = {.memory = ted_bytes(&n, &layout, w)};
	int64_t tried, over;

	s->zero = s->dp > 1 ? 1 : 0;
	if (!allowed_value(r, ONLY_ZERO, s->zero))
		return SB_OK;
	for (int i = 0; i < batch->count && batch->value[i] <= r->problem.sequences / s->dp; i++) {
		s->micro_batch = batch->value[i];
		if (r->problem.sequences / s->dp % s->micro_batch != 0 ||
		    !allowed_value(r, ONLY_MICRO_BATCH, s->micro_batch))
			continue;
		tried = out->candidates;
		over = out->over;
		for (int k = 0; k < 2; k++) {
			s->recompute = ways[k];
			if (out->candidates >= CANDIDATES_MAX)
				return SB_EIMPOSSIBLE;
			c.strategy = *s;
			if (allowed_value(r, ONLY_RECOMPUTE, s->recompute))
				weigh(r, w, &c, out);
		}
		/* a larger micro-batch only needs more */
		if (out->candidates > tried && out->candidates - tried == out->over - over) {
			*out_full = s->micro_batch == 1;
			break;
		}
	}
	return SB_OK;
}

/* One layout, on all numbers of replicas that its expert ranks divide: where links are slow, fewer may be
 * faster. */
static int weigh_layout(const struct search_request *r, const struct ted_switches *w,
                        const struct values *batch, int64_t tp, int64_t ep, struct ted_result *out)
{
	struct strategy s = search_default(r);
	int64_t most = cluster_devices(&r->problem.cluster) / tp;
	bool full = false; /* fewer replicas only need more */
	int rc = SB_OK;

	s.tp = tp;
	s.ep = ep;
	s.etp = r->problem.model.has_moe ? tp : 1;
	/* tokens that each tensor rank sends its share of are what sequence parallelism leaves it */
	s.sequence_parallel = tp > 1 && ep > 1;
	s.overlap_gradients = false;
	if (!allowed_value(r, ONLY_ETP, s.etp) ||
	    !allowed_value(r, ONLY_SEQUENCE_PARALLEL, s.sequence_parallel))
		return SB_OK;
	for (int i = batch->count - 1; rc == SB_OK && !full && i >= 0 && !sb_stopped(r->watch); i--) {
		s.dp = batch->value[i];
		if (s.dp > most || s.dp % ep != 0 || !allowed_value(r, ONLY_DP, s.dp))
			continue;
		if (is_past(r, w, &s, out))
			break;
		rc = weigh_replicas(r, w, batch, &s, &full, out);
	}
	return rc;
}

int ted_search(const struct search_request *r, const struct ted_switches *w, struct ted_result *out,
               struct sb_error *err)
{
	struct values tp, ep, batch;
	int rc = SB_OK;

	memset(out, 0, sizeof(*out));
	out->least_memory = INFINITY;
	divisors(r->problem.cluster.devices_per_node, &tp);
	divisors(r->problem.model.has_moe ? r->problem.model.moe.experts : 1, &ep);
	divisors(r->problem.sequences, &batch);
	for (int i = 0; i < tp.count; i++)
		for (int k = 0; rc == SB_OK && k < ep.count; k++)
			if (allowed_value(r, ONLY_TP, tp.value[i]) && allowed_value(r, ONLY_EP, ep.value[k]))
				rc = weigh_layout(r, w, &batch, tp.value[i], ep.value[k], out);
	if (rc != SB_OK)
		return sb_fail(err, rc, "search_too_large",
		               "there are more than %d candidates: constrain some degrees", CANDIDATES_MAX);
	if (out->count == 0 && out->over == 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "no_strategy",
		               "the constraints leave no layout that the model and the cluster allow");
	plan_front_trim(&out->front, SEARCH_SLACK * out->kept[0].seconds,
	                r->frontier > 0 ? r->frontier : SEARCH_FRONTIER);
	return SB_OK;
}
