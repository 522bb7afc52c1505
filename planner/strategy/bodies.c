#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "planner/strategy/weigh.h"

#define CUTS_A_STEP 8 /* passed over by their bounds in about the time that a step of the walk takes */

int zero_levels(const struct search_request *r, const struct strategy *s)
{
	bool replicated =
	    s->dp * s->cp > 1 || (r->problem.model.has_moe && s->tp * s->cp * s->dp > s->ep * s->etp);

	return !replicated ? 1 : s->pp > 1 && r->only[ONLY_ZERO].count == 0 ? 2 : 4;
}

static void note_memory(struct search *x, const struct strategy *s, double memory)
{
	if (memory < x->out->least_memory) {
		x->out->least_memory = memory;
		x->out->leanest = *s;
	}
}

void reject(struct weighing *w, enum rejection why, int64_t count, double seconds)
{
	bool candidates = why == REJECT_MEMORY || why == REJECT_HOST || why == REJECT_SLOWER;

	/* The walk without, or on whole nodes, has counted it. */
	if ((w->x->away && !offload_any(&w->s.offload)) || (w->x->node_walk == NODES_IN_PART && !candidates))
		return;
	w->x->out->candidates += candidates ? count : 0;
	count_rejection(w->x->out, why, count, &w->s, seconds);
}

static void take_cut(struct strategy *s, const struct cut *cut)
{
	s->vpp = cut->vpp;
	s->last_fewer = cut->last_fewer;
	s->first_more = cut->first_more;
}

void shape_of(struct strategy *s, const struct body *b)
{
	take_cut(s, b->cut);
	s->zero = b->zero;
	s->recompute = b->recompute;
	s->recompute_fit = b->fit;
	s->overlap_gradients = b->overlap_gradients;
	s->offload = b->offload;
}

const struct stage_run *runs_of(const struct search *x, const struct body *b)
{
	return b->fit ? &x->fitted[b->first_run] : &x->runs[b->first_run];
}

static struct memory_parts body_memory(struct weighing *w, const struct memory_model *memory, struct body *b,
                                       int64_t m)
{
	struct search *x = w->x;
	struct layer_costs l = {.memory = *memory};
	struct memory_parts parts;
	int64_t stage;

	shape_of(&w->s, b);
	x->effort += b->runs * b->cut->steps;
	x->out->costed++;
	parts = peak_memory(&x->r->problem, &l, &w->s, runs_of(x, b), b->runs, m, &stage);
	b->memory = memory_total(&parts);
	b->host = parts.host;
	parts.host = offload_node_bytes(&x->r->problem.cluster, &w->s, &parts);
	if (parts.host <= x->host_bytes)
		note_memory(x, &w->s, b->memory);
	return parts;
}

void note_body(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m)
{
	body_memory(w, memory, b, m);
}

/* The first stage mostly is the fullest: can a body that needs as much as that fit, and still be wanted? */
static bool first_wanted(const struct weighing *w, const struct memory_model *memory, const struct body *b,
                         const struct stage_run *first, int64_t m, double quick, double *out_bytes)
{
	struct search *x = w->x;
	struct memory_parts parts = stage_memory(&x->r->problem, memory, &w->s, first, m);

	x->effort += b->cut->steps;
	*out_bytes = memory_total(&parts);
	return *out_bytes <= (double)x->r->problem.memory_bytes &&
	       (search_wants(x, quick, *out_bytes) ||
	        (b->family && keep_wants_family(x->keep, x->reached, quick, *out_bytes)));
}

bool add_body(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m, double quick)
{
	struct search *x = w->x;
	double host;

	if (x->any_fits && !x->memory_only && x->away == 0 && !b->fit) {
		shape_of(&w->s, b);
		if (!first_wanted(w, memory, b, runs_of(x, b), m, quick, &b->memory)) {
			bool fits = b->memory <= (double)x->r->problem.memory_bytes;

			x->batch_fits = x->batch_fits || fits; /* it may */
			reject(w, fits ? REJECT_SLOWER : REJECT_MEMORY, w->all_placements, quick);
			return fits;
		}
	}
	host = body_memory(w, memory, b, m).host;
	if (b->memory > (double)x->r->problem.memory_bytes) {
		reject(w, REJECT_MEMORY, w->all_placements, quick);
		return false;
	}
	x->batch_fits = true;
	if (host > x->host_bytes) {
		x->least_host = fmin(x->least_host, host);
		reject(w, REJECT_HOST, w->all_placements, quick);
		return false;
	}
	b->family = b->family && keep_wants_family(x->keep, x->reached, quick, b->memory);
	if (!b->family && !search_wants(x, fmax(quick, b->least), b->memory)) {
		reject(w, REJECT_SLOWER, w->all_placements, quick);
		return true;
	}
	if (sb_grow(&x->bodies, (size_t)x->body_count, sizeof(*x->bodies)) != SB_OK) {
		x->out_of_memory = true;
		return false;
	}
	x->bodies[x->body_count++] = *b;
	if (b->fit)
		x->fitted_count += b->runs;
	return true;
}

static bool none_recomputed(const struct stage_run *runs, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		if (memcmp(runs[i].kept, runs[i].layers, sizeof(runs[i].kept)) != 0)
			return false;
	}
	return true;
}

/* The runs of a body whose stages recompute as few layers as make them fit, or none where it does not, or
 * takes too long: the first stage, which mostly recomputes the most, tells early. */
static int64_t fit_body(struct weighing *w, const struct memory_model *memory, const struct body *b,
                        int64_t m, double quick)
{
	struct search *x = w->x;
	const struct cost_problem *p = &x->r->problem;
	const struct stage_run *runs = &x->runs[b->first_run];
	struct stage_run *fitted = &x->fitted[x->fitted_count];
	double bytes, seconds;
	int64_t behind;

	x->effort += b->cut->steps;
	if (!x->any_fits && !x->memory_only) { /* how little it needs matters while nothing fits */
		x->effort += w->s.pp * b->cut->steps;
		return strategy_fit_runs(p, memory, &w->s, m, runs, b->runs, false, fitted);
	}
	*fitted = runs[0];
	if (!strategy_fit_first(p, memory, &w->s, m, fitted, &bytes)) {
		reject(w, REJECT_MEMORY, w->all_placements, quick);
		return 0;
	}
	seconds = fmax(quick, least_runs_seconds(x, &w->s, fitted, 1, b->cut->chunk, &w->none, &w->all, m));
	if (!search_wants(x, seconds, bytes)) {
		x->batch_fits = true; /* it may */
		reject(w, REJECT_SLOWER, w->all_placements, seconds);
		return 0;
	}
	x->effort += w->s.pp * b->cut->steps;
	behind = strategy_fit_runs(p, memory, &w->s, m, runs + 1, b->runs - 1, true, fitted + 1);
	if (behind == 0 && b->runs > 1) {
		reject(w, REJECT_MEMORY, w->all_placements, quick);
		return 0;
	}
	return behind + 1;
}

/* The fewest layers that make each stage fit; nothing to add where none need be recomputed. load: of one of
 * its stages, where it offloads. */
static void add_fitted(struct weighing *w, const struct memory_model *memory, struct body b, int64_t m,
                       const struct offload_load *load, double quick)
{
	struct search *x = w->x;

	if (x->fitted_room < x->fitted_count + w->s.pp) {
		int64_t room = 2 * (x->fitted_count + w->s.pp);
		struct stage_run *grown = realloc(x->fitted, (size_t)room * sizeof(*grown));

		x->out_of_memory = x->out_of_memory || !grown;
		if (!grown)
			return;
		x->fitted = grown;
		x->fitted_room = room;
	}
	b.fit = true;
	b.family = false;
	shape_of(&w->s, &b);
	if (offload_any(&b.offload)) {
		b.least = offload_least(w, load, m, quick);
		if (!search_wants(x, b.least, w->least)) {
			x->batch_fits = true; /* it may */
			reject(w, REJECT_SLOWER, w->all_placements, b.least);
			return;
		}
	}
	b.runs = fit_body(w, memory, &b, m, fmax(quick, b.least));
	if (b.runs == 0) {
		x->out->costed++;
		return;
	}
	b.first_run = x->fitted_count;
	if (none_recomputed(&x->fitted[b.first_run], b.runs))
		return;
	if (load) {
		x->batch_fits = true;
		b.least = fmax(b.least, least_runs_seconds(x, &w->s, &x->fitted[b.first_run], b.runs,
		                                           b.cut->chunk, &w->none, &w->all, m));
	}
	if (load && !search_wants(x, b.least, w->least))
		reject(w, REJECT_SLOWER, w->all_placements, b.least);
	else
		add_body(w, memory, &b, m, quick);
}

/* Each stage recomputes as little as fits beside each set of things on the host. plain: of these sets, those
 * beside which nothing need be recomputed. */
static void add_fitted_offloads(struct weighing *w, const struct memory_model *memory, struct body b,
                                int64_t m, unsigned plain, double quick)
{
	struct search *x = w->x;
	struct offload_load load;
	struct memory_parts kept;
	unsigned quick_enough, may_fit = UINT_MAX;

	b.fit = true;
	shape_of(&w->s, &b);
	x->effort += b.cut->steps;
	kept = stage_memory(&x->r->problem, memory, &w->s, &x->runs[b.first_run], m);
	load = offload_load_of(&w->s, memory, &x->runs[b.first_run], &kept);
	quick_enough = offload_quick_enough(w, &load, m);
	/* While nothing fits, it matters how little each needs. */
	if (x->any_fits || x->memory_only) {
		/* Of each run with all layers recomputed and none, every set. */
		x->effort += 4 * b.runs * b.cut->steps;
		may_fit = offload_may_fit(w, memory, &x->runs[b.first_run], b.runs, m);
	}
	for (unsigned set = 1; set <= quick_enough && !(x->memory_only && x->body_count > 0); set++) {
		if ((set & ~quick_enough) || plain >> set & 1)
			continue;
		b.offload = offload_whole(set);
		if (may_fit >> set & 1) {
			add_fitted(w, memory, b, m, &load, quick);
		} else {
			shape_of(&w->s, &b);
			reject(w, REJECT_MEMORY, w->all_placements, quick);
		}
	}
}

/* All ZeRO levels of one cut. */
static void add_bodies(struct weighing *w, const struct memory_model *memory, const struct cut *cut,
                       int64_t m, double quick)
{
	const struct search_request *r = w->x->r;
	enum recompute c = w->s.recompute;
	bool fewest = allowed_value(r, ONLY_RECOMPUTE, RECOMPUTES);
	bool whole = allowed_value(r, ONLY_RECOMPUTE, c) || (c == RECOMPUTE_NONE && fewest);

	for (int zero = zero_levels(w->x->r, &w->s) - 1; zero >= 0; zero--) {
		struct body b = {.cut = cut,
		                 .zero = zero,
		                 .recompute = c,
		                 .family = w->x->away == 0 && c != RECOMPUTE_NONE && fewest,
		                 .first_run = cut->first_run,
		                 .runs = cut->runs};
		struct strategy stacked = {.zero = zero};
		unsigned fits = 0;
		uint16_t *plain;

		if (!allowed_value(r, ONLY_ZERO, zero))
			continue;
		stack_apply(&r->stack, &stacked);
		b.overlap_gradients = stacked.overlap_gradients;
		plain = &w->x->plain[(cut - &w->x->cuts[w->pipeline->first_cut]) * 4 + zero];
		if ((whole || b.family) && w->x->away == 0)
			fits = add_body(w, memory, &b, m, quick);
		else if (whole && search_wants(w->x, w->base, w->least))
			fits = add_offloads(w, memory, b, m);
		else if (whole)
			w->x->batch_fits = true; /* it may */
		if (c == RECOMPUTE_NONE)
			*plain = (uint16_t)fits;
		else if (fewest && !(*plain & 1) && w->x->away)
			add_fitted_offloads(w, memory, b, m, *plain, quick);
		else if (fewest && !(*plain & 1))
			add_fitted(w, memory, b, m, NULL, quick);
	}
}

/* Strategies of one cut and way to recompute. */
static int64_t all_of_cut(const struct weighing *w)
{
	return (int64_t)zero_levels(w->x->r, &w->s) * w->all_placements;
}

/* The bodies of every cut in the way to recompute at hand. */
static void add_cuts(struct weighing *w, int cuts, int64_t m, double quick)
{
	struct search *x = w->x;
	const struct memory_model memory = memory_model_of(&x->r->problem, &w->s);

	x->effort += cuts / CUTS_A_STEP;
	for (int i = 0; i < cuts; i++) {
		const struct cut *cut = &x->cuts[w->pipeline->first_cut + i];

		if (search_wants(x, x->cut_least[i], w->least)) {
			add_bodies(w, &memory, cut, m, fmax(quick, x->cut_least[i]));
			continue;
		}
		x->batch_fits = true; /* it may */
		take_cut(&w->s, cut);
		reject(w, REJECT_SLOWER, all_of_cut(w), x->cut_least[i]);
	}
	if (cuts == w->pipeline->cuts)
		return;
	x->batch_fits = true; /* a larger batch may fill the pipeline again, and fit */
	w->s.vpp = x->cuts[w->pipeline->first_cut + cuts].vpp;
	reject(w, REJECT_INTERLEAVE, w->pipeline->cuts - cuts, quick);
}

void list_bodies(struct weighing *w, int64_t m, double quick)
{
	struct search *x = w->x;
	const struct pipeline *q = w->pipeline;
	int cuts = m % q->pp == 0 ? q->cuts : q->straight;

	w->s.recompute = RECOMPUTE_NONE;
	w->none = *search_least_work(x, &w->s, true);
	for (int i = 0; i < cuts; i++) {
		const struct cut *cut = &x->cuts[q->first_cut + i];

		x->cut_least[i] = least_runs_seconds(x, &w->s, &x->runs[cut->first_run], cut->runs,
		                                     cut->chunk, &w->none, &w->none, m);
	}
	x->body_count = 0;
	x->fitted_count = 0;
	x->batch_fits = false;
	for (int c = 0; c < RECOMPUTES; c++) {
		/* A fused kernel keeps no scores: there is nothing to select. */
		if (c == RECOMPUTE_SELECTIVE && w->s.attention == ATTENTION_FLASH)
			continue;
		w->s.recompute = (enum recompute)c;
		w->base = quick;
		w->all = *search_least_work(x, &w->s, true);
		if (c != RECOMPUTE_NONE && x->away)
			w->base = least_seconds(x, &w->s, q, w->all.of, m);
		add_cuts(w, cuts, m, quick);
	}
}
