#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/methods/amp_places.h"

#define CUTS_TRIED 32 /* placements of a candidate that are cut in full */

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

/* Against the cut on the quickest links everywhere a placement has at least what slower sends cost. */
static void order_turns(const struct amp_problem *p, const struct amp_candidate *c,
                        const struct amp_places *x, double bound, struct turn *turns)
{
	double sent = least_sent(p, c);

	for (int i = 0; i < x->count; i++) {
		double slower = 0;

		for (int64_t j = 0; j + 1 < c->pp; j++)
			slower += x->place[i].wires.cut[j] - x->least.cut[j];
		turns[i] = (struct turn){bound + sent * slower, i};
	}
	qsort(turns, (size_t)x->count, sizeof(*turns), by_bound);
}

/* The turns one after the other, as long as they may take less. */
static int take_turns(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_places *x,
                      const struct turn *turns, int64_t *effort, int64_t *trial, int64_t *out_stages,
                      struct amp_cost *io, int *out_place)
{
	double bound = x->all ? INFINITY : io->lower_bound;
	bool squeezed = false;

	io->seconds = INFINITY;
	for (int i = 0; i < x->count && turns[i].bound < io->seconds; i++) {
		struct amp_cost cost;
		int rc;

		if (i == CUTS_TRIED) {
			bound = fmin(bound, turns[i].bound);
			break;
		}
		rc = amp_cut(p, c, &x->place[turns[i].place].wires, effort, trial, &cost);
		if (rc != SB_OK)
			return rc;
		bound = fmin(bound, cost.lower_bound);
		squeezed = squeezed || cost.squeezed;
		if (cost.seconds < io->seconds) {
			*io = cost;
			*out_place = turns[i].place;
			memcpy(out_stages, trial, (size_t)c->pp * sizeof(*trial));
		}
	}
	io->lower_bound = fmin(io->seconds, bound);
	io->squeezed = squeezed;
	return SB_OK;
}

int amp_place_cut(const struct amp_problem *p, const struct amp_candidate *c, const struct amp_places *x,
                  int64_t *effort, int64_t *out_stages, struct amp_cost *out, int *out_place)
{
	struct turn turns[AMP_PLACES_MAX];
	int64_t *trial;
	int rc;

	*out_place = 0;
	if (!x->least.cut)
		return amp_cut(p, c, &x->place[0].wires, effort, out_stages, out);
	rc = amp_cut(p, c, &x->least, effort, out_stages, out);
	/* what does not fit on the quickest links does not on others */
	if (rc != SB_OK || !isfinite(out->lower_bound))
		return rc;
	trial = calloc((size_t)c->pp, sizeof(*trial));
	if (!trial)
		return SB_ENOMEM;
	order_turns(p, c, x, out->lower_bound, turns);
	rc = take_turns(p, c, x, turns, effort, trial, out_stages, out, out_place);
	free(trial);
	return rc;
}
