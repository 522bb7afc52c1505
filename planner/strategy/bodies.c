#include <stdlib.h>
#include <string.h>

#include "planner/strategy/weigh.h"

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
	w->x->out->candidates += why == REJECT_MEMORY || why == REJECT_SLOWER ? count : 0;
	count_rejection(w->x->out, why, count, &w->s, seconds);
}

void shape_of(struct strategy *s, const struct body *b)
{
	s->vpp = b->cut->vpp;
	s->last_fewer = b->cut->last_fewer;
	s->zero = b->zero;
	s->recompute = b->recompute;
	s->recompute_fit = b->fit;
	s->overlap_gradients = b->zero > 0;
}

const struct stage_run *runs_of(const struct search *x, const struct body *b)
{
	return b->fit ? &x->fitted[b->first_run] : &x->runs[b->first_run];
}

/* Takes in a body whose memory is known, if it fits. */
static bool add_body(struct weighing *w, const struct memory_model *memory, struct body *b, int64_t m,
                     double quick)
{
	struct search *x = w->x;
	struct layer_costs l = {.memory = *memory};
	struct memory_parts parts;
	int64_t stage;

	shape_of(&w->s, b);
	x->effort += b->runs;
	x->out->costed++;
	parts = peak_memory(&x->r->problem, &l, &w->s, runs_of(x, b), b->runs, m, &stage);
	b->memory = memory_total(&parts);
	note_memory(x, &w->s, b->memory);
	if (b->memory > (double)x->r->problem.memory_bytes) {
		reject(w, REJECT_MEMORY, w->all_orders, quick);
		return false;
	}
	x->bodies[x->body_count++] = *b;
	if (b->fit)
		x->fitted_count += b->runs;
	return true;
}

/* The fewest layers that make each stage fit; nothing to add where none need be recomputed. */
static void add_fitted(struct weighing *w, const struct memory_model *memory, struct body b, int64_t m,
                       double quick)
{
	struct search *x = w->x;
	bool any = false;

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
	shape_of(&w->s, &b);
	b.runs = strategy_fit_runs(&x->r->problem, memory, &w->s, m, &x->runs[b.first_run], b.runs,
	                           x->any_fits, &x->fitted[x->fitted_count]);
	if (b.runs == 0) { /* how little it needs matters only while nothing fits */
		x->out->costed++;
		x->effort += w->s.pp;
		reject(w, REJECT_MEMORY, w->all_orders, quick);
		return;
	}
	b.first_run = x->fitted_count;
	for (int64_t i = 0; i < b.runs; i++) {
		const struct stage_run *run = &x->fitted[b.first_run + i];

		x->effort += run->count;
		any = any || memcmp(run->kept, run->layers, sizeof(run->kept)) != 0;
	}
	if (any)
		add_body(w, memory, &b, m, quick);
}

/* All ZeRO levels of one cut. */
static void add_bodies(struct weighing *w, const struct memory_model *memory, const struct cut *cut,
                       int64_t m, double quick)
{
	const struct search_request *r = w->x->r;
	enum recompute c = w->s.recompute;

	for (int zero = zero_levels(w->x->r, &w->s) - 1; zero >= 0; zero--) {
		struct body b = {cut, zero, c, false, cut->first_run, cut->runs, 0};
		bool *plain, fits;

		if (!allowed_value(r, ONLY_ZERO, zero))
			continue;
		plain = &w->x->plain[(cut - &w->x->cuts[w->pipeline->first_cut]) * 4 + zero];
		fits = (allowed_value(r, ONLY_RECOMPUTE, c) ||
		        (c == RECOMPUTE_NONE && allowed_value(r, ONLY_RECOMPUTE, RECOMPUTES))) &&
		       add_body(w, memory, &b, m, quick);
		if (c == RECOMPUTE_NONE)
			*plain = fits;
		if (c != RECOMPUTE_NONE && !*plain && allowed_value(r, ONLY_RECOMPUTE, RECOMPUTES))
			add_fitted(w, memory, b, m, quick);
	}
}

void list_bodies(struct weighing *w, int64_t m, double quick)
{
	struct search *x = w->x;
	const struct pipeline *q = w->pipeline;

	x->body_count = 0;
	x->fitted_count = 0;
	for (int c = 0; c < RECOMPUTES; c++) {
		struct memory_model memory;

		/* A fused kernel keeps no scores: there is nothing to select. */
		if (c == RECOMPUTE_SELECTIVE && w->s.attention == ATTENTION_FLASH)
			continue;
		w->s.recompute = (enum recompute)c;
		memory = memory_model_of(&x->r->problem, &w->s);
		for (int i = q->first_cut; i < q->first_cut + q->cuts; i++) {
			if (x->cuts[i].vpp > 1 && m % q->pp != 0)
				reject(w, REJECT_INTERLEAVE, 1, quick);
			else
				add_bodies(w, &memory, &x->cuts[i], m, quick);
		}
	}
}
