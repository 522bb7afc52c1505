#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/methods/amp_places.h"

#define ROUNDING 1e-12 /* of sums in another order */
#define CUTS_TRIED 32  /* placements of a candidate that are cut in full */

/* As if every node had the quickest links. */
static int quickest_wires(const struct amp_problem *p, const struct amp_candidate *c, bool pipelines_inside,
                          struct amp_wires *out)
{
	const struct amp_placement at = {pipelines_inside, NULL};
	double *links = malloc(2 * (size_t)p->nodes * sizeof(*links)), between = 0, inside = 0;
	struct amp_problem quick = *p;
	int rc;

	if (!links)
		return SB_ENOMEM;
	for (int64_t i = 0; i < p->nodes; i++) {
		between = fmax(between, p->between[i]);
		inside = fmax(inside, p->inside[i]);
	}
	for (int64_t i = 0; i < p->nodes; i++) {
		links[i] = between;
		links[p->nodes + i] = inside;
	}
	quick.between = links;
	quick.inside = links + p->nodes;
	rc = amp_wires_of(&quick, c, &at, out);
	free(links);
	return rc;
}

/* Sets *io to the least that the placements with this order of the ranks have at each place; false: there are
 * none. */
static bool least_of_places(const struct amp_candidate *c, const struct amp_places *x, bool pipelines_inside,
                            struct amp_wires *io)
{
	bool any = false;

	for (int i = 0; i < x->count; i++) {
		const struct amp_wires *w = &x->place[i].wires;

		if (x->place[i].at.pipelines_inside != pipelines_inside)
			continue;
		for (int64_t j = 0; j < c->pp; j++) {
			io->cut[j] = any ? fmin(io->cut[j], w->cut[j]) : w->cut[j];
			io->reduce[j] = any ? fmin(io->reduce[j], w->reduce[j]) : w->reduce[j];
		}
		any = true;
	}
	return any;
}

int amp_places_least(const struct amp_problem *p, const struct amp_candidate *c, struct amp_places *x)
{
	int rc = SB_OK;

	if (x->count == 1 && x->all)
		return SB_OK;
	for (int k = 0; rc == SB_OK && k < amp_rank_orders(c); k++) {
		rc = quickest_wires(p, c, k == 1, &x->least[k]);
		if (rc == SB_OK && x->all && !least_of_places(c, x, k == 1, &x->least[k]))
			amp_wires_free(&x->least[k]);
	}
	return rc;
}

/* A placement and what no cut on it is below. */
struct turn {
	double bound;
	int place;
};

static int by_bound(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->bound != y->bound)
		return x->bound < y->bound ? -1 : 1;
	return x->place - y->place;
}

/* Elements of a micro-batch behind the layer that sends least. */
static double least_sent(const struct amp_problem *p, const struct amp_candidate *c)
{
	double least = INFINITY;

	for (int64_t l = 0; l + 1 < p->layers; l++)
		least = fmin(least, p->layer[l].sent / (double)(p->layer[l].sent_split ? c->tp : 1));
	return p->layers > 1 ? (double)c->micro_batch * least : 0;
}

/* No cut on such wires takes less, quickly: the layers, the sends behind what sends least, and an exchange
 * that comes out even for all stages (of several tables on a stage the largest counts). room: for [layers].
 */
static double least_on(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_wires *w,
                       double *room)
{
	double cuts = 0, rate = 0, weight = 0, table = 0;

	for (int64_t j = 0; j + 1 < c->pp; j++)
		cuts += w->cut[j];
	for (int64_t j = 0; j < c->pp; j++)
		rate += 1 / w->reduce[j];
	for (int64_t l = 0; l < p->layers; l++) {
		weight += p->layer[l].parameters / (double)c->tp;
		table = fmax(table, p->layer[l].table / (double)c->tp);
	}
	return (amp_least(p, c, room) + least_sent(p, c) * cuts + (weight + table) / rate) * (1 - ROUNDING);
}

/* Against the cut on its order's quickest links a placement has at least what slower sends cost. */
static void order_turns(const struct amp_problem *p, const struct amp_candidate *c,
                        const struct amp_places *x, const double bound[2], struct turn *turns)
{
	double sent = least_sent(p, c);

	for (int i = 0; i < x->count; i++) {
		int order = x->place[i].at.pipelines_inside;
		double slower = 0;

		for (int64_t j = 0; j + 1 < c->pp; j++)
			slower += x->place[i].wires.cut[j] - x->least[order].cut[j];
		turns[i] = (struct turn){bound[order] + sent * slower, i};
	}
	qsort(turns, (size_t)x->count, sizeof(*turns), by_bound);
}

/* The turns one after the other, as long as they may take less. rest: what no placement that is not there is
 * below. */
static int take_turns(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_places *x,
                      const struct turn *turns, double rest, double enough, int64_t *effort, int64_t *trial,
                      int64_t *out_stages, struct amp_cost *out, int *out_place)
{
	double bound = rest;
	bool squeezed = false;

	*out = (struct amp_cost){.seconds = INFINITY};
	for (int i = 0; i < x->count && turns[i].bound < out->seconds; i++) {
		struct amp_cost cost;
		int rc;

		if (i == CUTS_TRIED || turns[i].bound >= enough) {
			bound = fmin(bound, turns[i].bound);
			break;
		}
		rc = amp_cut(p, c, &x->place[turns[i].place].wires, effort, trial, &cost);
		if (rc != SB_OK)
			return rc;
		bound = fmin(bound, cost.lower_bound);
		squeezed = squeezed || cost.squeezed;
		if (cost.seconds < out->seconds) {
			*out = cost;
			*out_place = turns[i].place;
			memcpy(out_stages, trial, (size_t)c->pp * sizeof(*trial));
		}
	}
	out->lower_bound = fmin(out->seconds, bound);
	out->squeezed = squeezed || isinf(out->seconds);
	return SB_OK;
}

/* By pipelines_inside, what no cut on any placement is below: quickly, and where that is below `enough` by
 * the cut on the order's quickest links. */
static int bound_orders(const struct amp_problem *p, const struct amp_candidate *c,
                        const struct amp_places *x, double enough, int64_t *effort, int64_t *stages,
                        double *room, double out[2])
{
	int rc = SB_OK;

	out[0] = out[1] = INFINITY;
	for (int k = 0; rc == SB_OK && k < 2; k++) {
		struct amp_cost cost;

		if (!x->least[k].cut)
			continue;
		out[k] = least_on(p, c, &x->least[k], room);
		if (out[k] >= enough)
			continue;
		rc = amp_cut(p, c, &x->least[k], effort, stages, &cost);
		if (rc == SB_OK)
			out[k] = fmax(out[k], cost.lower_bound);
	}
	return rc;
}

int amp_place_cut(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_places *x,
                  double enough, int64_t *effort, int64_t *out_stages, struct amp_cost *out, int *out_place)
{
	struct turn turns[AMP_PLACES_MAX];
	double bound[2], *room;
	int64_t *trial;
	int rc = SB_ENOMEM;

	*out_place = 0;
	if (!x->least[0].cut && !x->least[1].cut)
		return amp_cut(p, c, &x->place[0].wires, effort, out_stages, out);
	room = calloc((size_t)p->layers, sizeof(*room));
	trial = calloc((size_t)c->pp, sizeof(*trial));
	if (room && trial)
		rc = bound_orders(p, c, x, enough, effort, trial, room, bound);
	if (rc == SB_OK) {
		order_turns(p, c, x, bound, turns);
		rc = take_turns(p, c, x, turns, x->all ? INFINITY : fmin(bound[0], bound[1]), enough, effort,
		                trial, out_stages, out, out_place);
	}
	free(room);
	free(trial);
	return rc;
}
