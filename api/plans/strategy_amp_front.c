#include <math.h>
#include <string.h>

#include "api/plans/strategy_amp.h"
#include "planner/methods/partition.h"

#define ROUNDING 1e-12 /* of sums in another order */

/* The least that a point of the frontier needs which takes no more seconds. */
static double known_bytes(const struct plan_front *f, double seconds)
{
	double bytes = INFINITY;

	for (int i = 0; i < f->count && f->point[i].seconds <= seconds; i++)
		bytes = f->point[i].bytes;
	return bytes;
}

/* Lays a plan in a slot of the frontier. */
static int lay(struct amp_race *x, const struct amp_weighed *t, double bytes)
{
	struct amp_weighed *to, own;
	int rc = SB_OK;

	if (!plan_front_wants(&x->front, t->cost.seconds, bytes))
		return SB_OK;
	to = &x->on_front[plan_front_add(&x->front, t->cost.seconds, bytes)];
	if (!to->stages)
		rc = amp_weighed_open(x->in, to);
	if (rc != SB_OK)
		return rc;
	own = *to;
	memcpy(own.stages, t->stages, (size_t)t->candidate.pp * sizeof(*own.stages));
	memcpy(own.nodes, t->nodes, (size_t)x->in->problem.nodes * sizeof(*own.nodes));
	*to = *t;
	to->stages = own.stages;
	to->nodes = own.nodes;
	return SB_OK;
}

/* One way to recompute: the fastest cut, then the fastest in less memory than that takes, and so on down,
 * past all that is on the frontier already. */
static int descend(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places)
{
	const struct amp_problem *p = &x->in->problem;
	double most = SEARCH_SLACK * x->kept[0].cost.seconds;

	while (x->effort > 0 && !sb_stopped(p->watch)) {
		int rc = amp_race_cut(x, c, places, most * (1 + ROUNDING));
		double seconds = x->trial.cost.seconds, bytes;

		if (rc != SB_OK || !(seconds <= most))
			return rc;
		bytes = amp_fullest_bytes(p, c, x->trial.stages);
		rc = lay(x, &x->trial, bytes);
		if (rc != SB_OK || c->pp == 1) /* one stage holds all, whatever the cut */
			return rc;
		x->in->problem.capacity = fmin(bytes, known_bytes(&x->front, seconds)) - 1;
	}
	return SB_OK;
}

static int weigh_front(struct amp_race *x, const struct amp_candidate *c, const struct amp_places *places)
{
	struct amp_input *in = x->in;
	double capacity = in->problem.capacity;
	int rc = SB_OK;

	for (int r = 0; rc == SB_OK && r < RECOMPUTES; r++) {
		if (!amp_race_tries(in, r))
			continue;
		in->recompute = (enum recompute)r;
		if (amp_least(&in->problem, c, x->room) > SEARCH_SLACK * x->kept[0].cost.seconds)
			break; /* with more recomputed, too */
		rc = descend(x, c, places);
		in->problem.capacity = capacity;
	}
	return rc;
}

int amp_race_front(struct amp_race *x, const struct amp_candidate *all, int64_t count)
{
	const struct search_request *r = &x->in->request;
	bool places = x->in->places;
	int rc = SB_OK;

	for (int i = 0; rc == SB_OK && i < x->count; i++) { /* where the effort ends before the rest, these */
		const struct amp_candidate *c = &x->kept[i].candidate;

		x->in->recompute = x->kept[i].recompute;
		amp_hold(x->in, c);
		rc = lay(x, &x->kept[i], amp_fullest_bytes(&x->in->problem, c, x->kept[i].stages));
	}
	for (int k = 0; rc == SB_OK && k <= places; k++) { /* AMP's default placement alone, then all */
		x->in->places = k == 1;
		x->effort = PARTITION_EFFORT / 2;
		rc = amp_race_each(x, all, count, weigh_front);
	}

	if (rc == SB_OK)
		plan_front_trim(&x->front, SEARCH_SLACK * x->kept[0].cost.seconds,
		                r->frontier > 0 ? r->frontier : SEARCH_FRONTIER);
	return rc;
}
