#include "planner/strategy/front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_WORK (1 << 16)    /* passes of a front all of whose points are simulated: a few milliseconds */
#define LADDER_WORK (1 << 18)   /* passes simulated in all, before a rung takes its lowest bound alone, */
#define LADDER_STAGES (1 << 14) /* and stages of families fitted: a few milliseconds, too */
#define RUNGS_MORE 3            /* than points, so that fine_enough() holds */
#define LADDERS_MOST 4
#define FOUND_MOST (KEEP_FRONT + 1 + LADDERS_MOST * (SEARCH_FRONTIER_MOST + RUNGS_MORE))

/* Points that were simulated, and what may still be. */
struct front {
	struct search *x;
	struct choice *found; /* FOUND_MOST of them */
	int count, wanted;
	double passes;  /* simulated so far */
	int rung;       /* climbed so far */
	bool cut_short; /* some were left out for the time that they would take */
	struct stage_run *runs;
};

static double passes_of(const struct cost_problem *p, const struct strategy *s)
{
	return (double)(s->pp * s->vpp) * (double)strategy_micro_batches(s, p->sequences);
}

static bool soon_simulated(const struct cost_problem *p, const struct keep *k)
{
	double work = 0;

	for (int i = 0; i < k->front_count; i++)
		work += passes_of(p, &k->front[i].strategy);
	return work < FRONT_WORK;
}

/* Of a long front those points whose bounds fall, and of more the number wanted, evenly, both ends included:
 * the ladder finds what it needs of the others. */
static int first_looked_at(const struct front *f, int *out)
{
	const struct keep *k = f->x->keep;
	bool all = soon_simulated(&f->x->r->problem, k);
	double least = INFINITY;
	int have = 0;

	for (int i = 0; i < k->front_count; i++) {
		if (all || k->front[i].bound < least)
			out[have++] = i;
		least = fmin(least, k->front[i].bound);
	}
	if (all || have <= f->wanted)
		return have;
	for (int i = 0; i < f->wanted; i++)
		out[i] = out[f->wanted > 1 ? (int64_t)i * (have - 1) / (f->wanted - 1) : 0];
	return f->wanted;
}

static int simulate_front(struct front *f, struct sb_error *err)
{
	struct search *x = f->x;
	int at[KEEP_FRONT], count = first_looked_at(f, at), rc = SB_OK;

	for (int i = 0; rc == SB_OK && i < count; i++) {
		struct kept *k = &x->keep->front[at[i]];
		struct choice *c = &f->found[f->count++];

		c->strategy = k->strategy;
		f->passes += passes_of(&x->r->problem, &c->strategy);
		rc = strategy_cost(&x->r->problem, &c->strategy, &c->cost, err);
		k->bound = c->cost.step_seconds;
	}
	f->found[f->count++] = x->out->best;
	return rc;
}

/* The least seconds that some point in so many bytes is known to take; beyond the slack none are wanted. */
static double known_seconds(const struct front *f, double bytes)
{
	double least = SEARCH_SLACK * f->x->out->best.cost.step_seconds;

	for (int i = 0; i < f->count; i++) {
		const struct strategy_cost *c = &f->found[i].cost;

		if (c->step_seconds < least && memory_total(&c->memory) <= bytes)
			least = c->step_seconds;
	}
	return least;
}

/* Raises the family's bound to what recomputing as little as fits in the bytes takes: less memory takes no
 * less. */
static void fit_family(struct front *f, struct family *a, int rung, int64_t bytes)
{
	const struct cost_problem *p = &f->x->r->problem;
	struct strategy *s = &a->strategy;
	struct groups g = groups_of(&p->network, s);
	struct layer_costs l = search_costs(f->x, s, &g)->costs;
	int64_t count;

	s->recompute_bytes = bytes;
	l.send = stage_send_seconds(p, s, &g);
	count = strategy_costed_runs(p, &l.memory, s, f->runs);
	a->bound = fmax(a->bound,
	                bound_seconds(p, &l, s, &g, f->runs, count, strategy_micro_batches(s, p->sequences)));
	a->fitted = rung;
	a->settled = false;
}

/* One rung of the ladder: so many bytes, and what was found in them. */
struct rung {
	int number;
	int64_t bytes, stages_left; /* stages that may be fitted */
	double known;
	bool found;
	struct family *best; /* NULL: found is of no family */
};

static bool may_beat(const struct rung *r, double bound, double memory)
{
	return memory <= (double)r->bytes && bound < r->known;
}

/* The family with the lowest bound that may beat what is known. *out_left: some may that will not be fitted.
 */
static struct family *next_family(struct keep *k, const struct rung *r, bool *out_left)
{
	struct family *next = NULL;

	*out_left = false;
	for (int i = 0; i < k->family_count; i++) {
		struct family *a = &k->families[i];

		if (!may_beat(r, a->bound, a->memory) || (a->fitted == r->number && a->settled))
			continue;
		if (a->fitted != r->number && r->stages_left <= 0)
			*out_left = true;
		else if (!next || a->bound < next->bound)
			next = a;
	}
	return next;
}

/* Likewise of the front. */
static struct kept *next_kept(struct keep *k, const struct rung *r)
{
	struct kept *next = NULL;

	for (int i = 0; i < k->front_count && k->front[i].memory <= (double)r->bytes; i++) {
		if (may_beat(r, k->front[i].bound, k->front[i].memory) &&
		    (!next || k->front[i].bound < next->bound))
			next = &k->front[i];
	}
	return next;
}

/* The fastest of the rung takes the place of the one before. *out_seconds: what it takes. */
static int simulate(struct front *f, struct rung *r, const struct strategy *s, struct family *of,
                    double *out_seconds, struct sb_error *err)
{
	struct choice c = {.strategy = *s};
	int rc = strategy_cost(&f->x->r->problem, s, &c.cost, err);

	f->passes += passes_of(&f->x->r->problem, s);
	*out_seconds = c.cost.step_seconds;
	if (rc != SB_OK || c.cost.step_seconds >= r->known)
		return rc;
	r->known = c.cost.step_seconds;
	r->best = of;
	r->found = true;
	f->found[f->count] = c;
	return SB_OK;
}

static int simulate_family(struct front *f, struct rung *r, struct family *a, struct sb_error *err)
{
	double seconds;

	a->settled = true;
	return simulate(f, r, &a->strategy, a, &seconds, err);
}

/* The lowest bound of all is looked at more closely. *out_more: there was one. */
static int step_on(struct front *f, struct rung *r, bool *out_more, struct sb_error *err)
{
	bool left;
	struct family *a = next_family(f->x->keep, r, &left);
	struct kept *k = next_kept(f->x->keep, r);

	*out_more = a || k;
	f->cut_short = f->cut_short || (!*out_more && left);
	if (r->found && f->passes >= LADDER_WORK) {
		f->cut_short = f->cut_short || *out_more;
		*out_more = false;
	}
	if (!*out_more)
		return SB_OK;
	if (k && (!a || k->bound <= a->bound))
		return simulate(f, r, &k->strategy, NULL, &k->bound, err);
	if (a->fitted == r->number)
		return simulate_family(f, r, a, err);
	fit_family(f, a, r->number, r->bytes);
	r->stages_left -= a->strategy.pp;
	return SB_OK;
}

/* Finds the fastest: first what was the fastest in more bytes, then lowest bounds first, until none can be
 * faster than what was simulated. When that takes too long, of what was fitted the lowest bound alone is
 * simulated. */
static int climb(struct front *f, struct rung *r, struct family *last, struct sb_error *err)
{
	bool more = true;
	int rc = SB_OK;

	r->known = known_seconds(f, (double)r->bytes);
	if (last && last->memory <= (double)r->bytes) {
		fit_family(f, last, r->number, r->bytes);
		rc = simulate_family(f, r, last, err);
	}
	while (rc == SB_OK && more)
		rc = step_on(f, r, &more, err);
	f->count += r->found;
	return rc;
}

/* Leaves the families of which some may be faster than what is known, and tells what the leanest of all
 * needs that may be. */
static double leanest_wanted(struct front *f)
{
	struct keep *k = f->x->keep;
	double least = INFINITY;
	int left = 0;

	for (int i = 0; i < k->family_count; i++) {
		const struct family *a = &k->families[i];

		if (a->bound >= known_seconds(f, a->memory))
			continue;
		k->families[left++] = *a;
		least = fmin(least, a->memory);
	}
	k->family_count = left;
	for (int i = 0; i < k->front_count; i++) {
		if (k->front[i].bound < known_seconds(f, k->front[i].memory))
			least = fmin(least, k->front[i].memory);
	}
	return least;
}

static double leanest_found(const struct front *f)
{
	double slowest = SEARCH_SLACK * f->x->out->best.cost.step_seconds, least = INFINITY;

	for (int i = 0; i < f->count; i++) {
		if (f->found[i].cost.step_seconds <= slowest)
			least = fmin(least, memory_total(&f->found[i].cost.memory));
	}
	return least;
}

/* The fastest of each of some evenly spaced amounts of memory, from the most down to the least. */
static int climb_down(struct front *f, double most, double least, struct sb_error *err)
{
	struct family *last = NULL;
	int rungs = f->wanted + RUNGS_MORE;

	for (int i = 1; i <= rungs; i++) {
		double share = (double)i / (double)rungs;
		struct rung r = {.number = ++f->rung,
		                 .bytes = (int64_t)ceil(most - share * (most - least)),
		                 .stages_left = LADDER_STAGES / rungs};
		int rc = sb_stopped(f->x->r->watch)
		             ? sb_fail(err, SB_ECANCELED, "canceled", "the search was stopped")
		             : climb(f, &r, last, err);

		if (rc != SB_OK)
			return rc;
		last = r.best ? r.best : last;
	}
	return SB_OK;
}

/* Is what lies between two rungs, and what thin_choices() may leave out beside it, within the resolution? Two
 * points are the ends, which cover all between them. */
static bool fine_enough(double climbed, double span, int wanted)
{
	double n = wanted;

	return wanted < 3 || climbed / (n + RUNGS_MORE) + span / (n - 1) <= 2 * span / n * (1 + SAME_TIME);
}

/* Ladders from what the fastest needs down to the leanest, until these are about the ends of what was found:
 * the first may reach far below what is fast enough to be wanted. */
static int climb_all(struct front *f, struct sb_error *err)
{
	struct keep *k = f->x->keep;
	double most = memory_total(&f->x->out->best.cost.memory), least = leanest_wanted(f);
	double bounds[KEEP_FAMILIES];
	int64_t stages = 1;

	least = fmin(fmin(least, leanest_found(f)), most);
	for (int i = 0; i < k->family_count; i++) {
		bounds[i] = k->families[i].bound;
		stages = k->families[i].strategy.pp > stages ? k->families[i].strategy.pp : stages;
	}
	f->runs = calloc(2 * (size_t)stages, sizeof(*f->runs));
	if (!f->runs)
		return sb_no_memory(err);
	for (int i = 0; i < LADDERS_MOST; i++) {
		double climbed = most - least;
		int rc = climb_down(f, most, least, err);

		if (rc != SB_OK)
			return rc;
		f->count = undominated(f->found, f->count);
		most = memory_total(&f->found[0].cost.memory);
		least = leanest_found(f);
		if (fine_enough(climbed, most - least, f->wanted))
			return SB_OK;
		for (int n = 0; n < k->family_count; n++)
			k->families[n].bound = bounds[n]; /* of the memory of this ladder again */
	}
	f->cut_short = true;
	return SB_OK;
}

int search_frontier(struct search *x, struct sb_error *err)
{
	struct search_result *out = x->out;
	struct front f = {.x = x, .wanted = x->r->frontier > 0 ? x->r->frontier : SEARCH_FRONTIER};
	int rc;

	f.found = malloc(FOUND_MOST * sizeof(*f.found));
	rc = f.found ? simulate_front(&f, err) : sb_no_memory(err);
	if (rc == SB_OK)
		rc = climb_all(&f, err);
	free(f.runs);
	if (rc == SB_OK) {
		f.count = thin_choices(f.found, undominated(f.found, f.count), f.wanted);
		out->best = f.found[0];
		out->frontier_count = f.count;
		out->frontier_in_part = f.cut_short || x->keep->left_out;
		out->frontier_without_offload = x->offloadable != 0;
		memcpy(out->frontier, f.found, (size_t)f.count * sizeof(*f.found));
	}
	free(f.found);
	return rc;
}
