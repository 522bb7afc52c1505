#include "planner/strategy/walk.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

void search_free(struct search *x)
{
	free(x->keep);
	free(x->pipelines);
	free(x->cuts);
	free(x->runs);
	free(x->memo);
	free(x->work);
}

static int add_cut(struct search *x, const struct strategy *s, struct sb_error *err)
{
	if (x->run_room < x->run_count + s->pp) {
		int64_t room = 2 * (x->run_count + s->pp);
		struct stage_run *grown = realloc(x->runs, (size_t)room * sizeof(*grown));

		if (!grown)
			return sb_no_memory(err);
		x->runs = grown;
		x->run_room = room;
	}
	if (sb_grow(&x->cuts, (size_t)x->cut_count, sizeof(*x->cuts)) != SB_OK)
		return sb_no_memory(err);
	x->cuts[x->cut_count] = (struct cut){s->vpp, s->last_fewer, x->run_count, 0};
	x->cuts[x->cut_count].runs = strategy_runs(&x->r->problem.model, s, &x->runs[x->run_count]);
	x->run_count += x->cuts[x->cut_count++].runs;
	return SB_OK;
}

static int add_pipeline(struct search *x, int64_t pp, struct sb_error *err)
{
	const struct model *m = &x->r->problem.model;
	struct strategy s = strategy_default(m, &x->r->problem.cluster);
	struct pipeline *q = &x->pipelines[x->pipeline_count];
	int rc = SB_OK;

	*q = (struct pipeline){pp, x->cut_count, 0};
	s.pp = pp;
	for (int64_t k = 0; rc == SB_OK && k <= (pp > 1 ? most_last_fewer(m) : 0); k++) {
		s.last_fewer = k;
		if (allowed_value(x->r, ONLY_VPP, 1) && (k == 0 || m->layers / pp - k >= 1))
			rc = add_cut(x, &s, err);
	}
	s.last_fewer = 0;
	for (int64_t v = 2; rc == SB_OK && pp > 1 && m->layers % pp == 0 && v <= m->layers / pp; v++) {
		s.vpp = v;
		if (m->layers / pp % v == 0 && allowed_value(x->r, ONLY_VPP, v))
			rc = add_cut(x, &s, err);
	}
	q->cuts = x->cut_count - q->first_cut;
	x->pipeline_count++;
	return rc;
}

int search_prepare(struct search *x, struct sb_error *err)
{
	struct values pp;
	size_t cells;
	int rc = SB_OK;

	divisors(x->r->problem.sequences, &x->batch);
	cells = (size_t)x->batch.count * 2 * RECOMPUTES;
	pipeline_values(x->r, &pp);
	x->keep = malloc(sizeof(*x->keep));
	x->pipelines = calloc((size_t)pp.count + 1, sizeof(*x->pipelines));
	x->memo = malloc(cells * sizeof(*x->memo));
	x->work = malloc(cells * sizeof(*x->work));
	if (!x->keep || !x->pipelines || !x->memo || !x->work)
		return sb_no_memory(err);
	keep_init(x->keep);
	for (int i = 0; rc == SB_OK && i < pp.count; i++)
		rc = add_pipeline(x, pp.value[i], err);
	return rc;
}

static struct layer_costs *costs_for(struct search *x, const struct strategy *s, const struct groups *g,
                                     int batch, double *out_work)
{
	int cell = (batch * 2 + (s->sequence_parallel ? 1 : 0)) * RECOMPUTES + (int)s->recompute;
	struct layer_costs *l = &x->memo[cell];

	if (isnan(x->work[cell])) {
		const struct model *m = &x->r->problem.model;
		double work;

		*l = layer_costs_of(&x->r->problem, s, g);
		work = l->embedding.forward + l->embedding.backward + l->head.forward + l->head.backward;
		for (int k = 0; k < LAYER_KINDS; k++)
			work += (double)model_layers_of(m, m->layers, (enum layer_kind)k) *
			        (l->layer[k].forward + l->layer[k].backward);
		x->work[cell] = work;
	}
	*out_work = x->work[cell];
	return l;
}

static void note_memory(struct search *x, const struct strategy *s, double memory)
{
	if (memory < x->out->least_memory) {
		x->out->least_memory = memory;
		x->out->leanest = *s;
	}
}

/* All ZeRO levels of one cut, the leanest first: when one does not fit, none above it will. */
static void weigh_zero(struct search *x, struct strategy *s, const struct groups *g,
                       const struct layer_costs *l, const struct cut *cut, int64_t m, double quick)
{
	const struct cost_problem *p = &x->r->problem;
	const struct stage_run *runs = &x->runs[cut->first_run];
	int high = s->pp > 1 ? 1 : 3;
	int64_t stage = 0;

	if (s->dp * s->cp == 1)
		high = 0;
	else if (s->pp > 1)
		count_rejection(x->out, REJECT_ZERO, 2, s, NAN);
	for (s->zero = high; s->zero >= 0; s->zero--) {
		struct memory_parts parts;
		double memory, bound;

		if (!allowed_value(x->r, ONLY_ZERO, s->zero))
			continue;
		x->effort += cut->runs;
		x->out->candidates++;
		x->out->costed++;
		s->overlap_gradients = s->zero > 0;
		parts = peak_memory(p, l, s, runs, cut->runs, m, &stage);
		memory = memory_total(&parts);
		note_memory(x, s, memory);
		if (memory > (double)p->memory_bytes) {
			count_rejection(x->out, REJECT_MEMORY, 1, s, quick);
			continue;
		}
		x->any_fits = true;
		if (x->memory_only)
			return;
		bound = bound_seconds(p, l, s, g, runs, cut->runs, m);
		if (bound > SEARCH_SLACK * x->keep->best)
			count_rejection(x->out, REJECT_SLOWER, 1, s, bound);
		else
			keep_offer(x->keep, s, bound, memory);
	}
}

static void weigh_cuts(struct search *x, struct strategy *s, const struct groups *g, const struct pipeline *q,
                       int batch, int64_t m)
{
	const struct cost_problem *p = &x->r->problem;
	double work, quick;
	struct layer_costs *l = costs_for(x, s, g, batch, &work);
	double rows = (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp;

	x->effort++;
	s->zero = 0;
	/* The slowest stage does at least an equal share. */
	quick = cost_outside(p, s, (double)m * work / (double)s->pp);
	if (!x->memory_only && quick > SEARCH_SLACK * x->keep->best) {
		int levels = s->dp * s->cp == 1 ? 1 : s->pp > 1 ? 2 : 4;

		x->out->candidates += (int64_t)q->cuts * levels;
		count_rejection(x->out, REJECT_SLOWER, (int64_t)q->cuts * levels, s, quick);
		return;
	}
	l->send = send_seconds(&p->network, &g->pp, 2 * rows * (double)p->model.hidden / (double)s->tp);
	for (int i = q->first_cut; i < q->first_cut + q->cuts; i++) {
		s->vpp = x->cuts[i].vpp;
		s->last_fewer = x->cuts[i].last_fewer;
		s->zero = 0;
		if (s->vpp > 1 && m % s->pp != 0)
			count_rejection(x->out, REJECT_INTERLEAVE, 1, s, quick);
		else
			weigh_zero(x, s, g, l, &x->cuts[i], m, quick);
	}
	s->vpp = 1;
	s->last_fewer = 0;
	s->zero = 0;
}

/* Ranks that are gone through for a group cost far less than a strategy weighed. */
static int64_t effort_of(const struct groups *g)
{
	return (g->tp.examined + g->cp.examined + g->pp.examined + g->dp.examined + g->ep.examined +
	        g->etp.examined + g->edp.examined) /
	       16;
}

bool search_exhausted(const struct search *x)
{
	return x->effort > (x->r->effort > 0 ? x->r->effort : SEARCH_EFFORT);
}

static void weigh_batches(struct search *x, struct strategy *s, const struct pipeline *q)
{
	const struct cost_problem *p = &x->r->problem;
	struct groups g = groups_of(&p->network, s);
	int64_t share = p->sequences / s->dp;

	x->effort += effort_of(&g);
	for (int i = 0; i < x->batch.count && x->batch.value[i] <= share; i++) {
		s->micro_batch = x->batch.value[i];
		if (search_exhausted(x))
			return;
		if (share % s->micro_batch != 0 || !allowed_value(x->r, ONLY_MICRO_BATCH, s->micro_batch))
			continue;
		for (int sp = s->tp > 1 ? 1 : 0; sp >= 0; sp--) {
			s->sequence_parallel = sp == 1;
			if (!allowed_value(x->r, ONLY_SEQUENCE_PARALLEL, sp) ||
			    (sp == 0 && s->tp > 1 && p->model.has_moe) ||
			    (sp == 1 && p->model.seq_len % (s->tp * s->cp) != 0))
				continue;
			for (int c = 0; c < RECOMPUTES; c++) {
				s->recompute = (enum recompute)c;
				/* A fused kernel keeps no scores: there is nothing to select. */
				if ((c == RECOMPUTE_SELECTIVE && s->attention == ATTENTION_FLASH) ||
				    !allowed_value(x->r, ONLY_RECOMPUTE, c))
					continue;
				weigh_cuts(x, s, &g, q, i, share / s->micro_batch);
			}
		}
	}
}

/* All data-parallel degrees of one (tp, cp, pp, ep, etp), the most devices first. */
static void weigh_replicas(struct search *x, struct strategy *s, const struct pipeline *q, bool many)
{
	const struct cluster *c = &x->r->problem.cluster;
	int64_t devices = cluster_devices(c), one = s->tp * s->cp * q->pp;

	s->pp = q->pp;
	for (int i = x->batch.count - 1; i >= 0 && !search_exhausted(x); i--) {
		int64_t used;

		x->effort++;
		s->dp = x->batch.value[i];
		if (s->dp > devices / one || !allowed_value(x->r, ONLY_DP, s->dp))
			continue;
		used = one * s->dp;
		/* Two passes: strategies that use most devices set the mark for the others. */
		if ((used > devices - devices / 4) != many)
			continue;
		if (s->tp * s->cp * s->dp % (s->ep * s->etp) != 0) {
			count_rejection(x->out, REJECT_EXPERTS, 1, s, NAN);
			continue;
		}
		s->order[2] = DIM_DP;
		s->order[3] = DIM_PP;
		weigh_batches(x, s, q);
		/* The other order differs only where stages could share a node. */
		if (s->pp > 1 && s->dp > 1 && s->cp == 1 && s->ep == 1 && s->etp == 1 &&
		    s->tp * s->cp < c->devices_per_node && used > c->devices_per_node) {
			s->order[2] = DIM_PP;
			s->order[3] = DIM_DP;
			weigh_batches(x, s, q);
		}
	}
}

static void weigh_experts(struct search *x, struct strategy *s, bool many)
{
	struct values ep;

	expert_values(x->r, s->tp, &ep);
	for (int i = 0; i < ep.count; i++) {
		for (int split = 0; split < (s->tp > 1 && x->r->problem.model.has_moe ? 2 : 1); split++) {
			s->ep = ep.value[i];
			s->etp = split ? s->tp : 1;
			if (!allowed_value(x->r, ONLY_ETP, s->etp) ||
			    (x->r->problem.model.has_moe && x->r->problem.model.moe.ffn_hidden % s->etp != 0))
				continue;
			for (int k = 0; k < x->batch.count * 2 * RECOMPUTES; k++)
				x->work[k] = NAN;
			for (int k = 0; k < x->pipeline_count; k++) {
				if (x->pipelines[k].pp <=
				    cluster_devices(&x->r->problem.cluster) / (s->tp * s->cp))
					weigh_replicas(x, s, &x->pipelines[k], many);
			}
		}
	}
}

bool search_walk(struct search *x)
{
	struct values tp, cp;
	struct strategy s = strategy_default(&x->r->problem.model, &x->r->problem.cluster);

	s.attention = x->r->attention;
	s.gradient_bytes = x->r->gradient_bytes;
	tensor_values(x->r, x->out, &tp);
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < tp.count; i++) {
			struct search_result ignored = {0};

			context_values(x->r, tp.value[i], pass == 0 ? x->out : &ignored, &cp);
			for (int k = 0; k < cp.count; k++) {
				if (search_exhausted(x))
					return false;
				if (x->memory_only && x->any_fits)
					return true;
				s.tp = tp.value[i];
				s.cp = cp.value[k];
				weigh_experts(x, &s, pass == 0);
			}
		}
	}
	return !search_exhausted(x);
}
