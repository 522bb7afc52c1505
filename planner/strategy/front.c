#include "planner/strategy/front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_SIMULATED 64      /* points of a front all of which are simulated, */
#define FRONT_WORK (1 << 16)    /* if they have no more passes than this: a few milliseconds */
#define LADDER_WORK (1 << 18)   /* passes simulated in all, before a rung takes its lowest bound alone, */
#define LADDER_STAGES (1 << 14) /* and stages of families fitted: a few milliseconds, too */
#define FOUND_MOST (FRONT_SIMULATED + 1 + 2 * SEARCH_FRONTIER_MOST)

static bool comes_before(const struct strategy_cost *a, const struct strategy_cost *b)
{
	if (a->step_seconds != b->step_seconds)
		return a->step_seconds < b->step_seconds;
	return memory_total(&a->memory) < memory_total(&b->memory);
}

void sort_choices(struct choice *list, int count)
{
	for (int i = 1; i < count; i++) {
		struct choice c = list[i];
		int k = i;

		for (; k > 0 && comes_before(&c.cost, &list[k - 1].cost); k--)
			list[k] = list[k - 1];
		list[k] = c;
	}
}

/* Points that were simulated, and what may still be. */
struct front {
	struct search *x;
	struct choice *found; /* FOUND_MOST of them */
	int count, wanted;
	double passes; /* simulated so far */
	int rung;      /* climbed so far */
	struct stage_run *runs;
};

static double passes_of(const struct cost_problem *p, const struct strategy *s)
{
	return (double)(s->pp * s->vpp) * (double)strategy_micro_batches(s, p->sequences);
}

/* Leaves of a long front those whose bounds fall, and of a longer one the given number, evenly, both ends
 * included. */
static int thin_front(const struct cost_problem *p, struct keep *k, int wanted)
{
	double least = INFINITY, work = 0;
	int have = 0;

	for (int i = 0; i < k->front_count; i++)
		work += passes_of(p, &k->front[i].strategy);
	if (k->front_count <= FRONT_SIMULATED && !k->front_full && work < FRONT_WORK)
		return k->front_count;
	for (int i = 0; i < k->front_count; i++) {
		if (k->front[i].bound < least) {
			least = k->front[i].bound;
			k->front[have++] = k->front[i];
		}
	}
	for (int i = 0; have > wanted && i < wanted; i++)
		k->front[i] = k->front[wanted > 1 ? (int64_t)i * (have - 1) / (wanted - 1) : 0];
	return have < wanted ? have : wanted;
}

static int simulate_front(struct front *f, struct sb_error *err)
{
	struct search *x = f->x;
	int count = thin_front(&x->r->problem, x->keep, f->wanted);

	for (int i = 0; i < count; i++) {
		struct choice *c = &f->found[f->count++];
		int rc;

		c->strategy = x->keep->front[i].strategy;
		f->passes += passes_of(&x->r->problem, &c->strategy);
		rc = strategy_cost(&x->r->problem, &c->strategy, &c->cost, err);
		if (rc != SB_OK)
			return rc;
	}
	f->found[f->count++] = x->out->best;
	return SB_OK;
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
	struct family *best;
};

/* The family with the lowest bound that may beat what is known. */
static struct family *next_family(struct keep *k, const struct rung *r)
{
	struct family *next = NULL;

	for (int i = 0; i < k->family_count; i++) {
		struct family *a = &k->families[i];
		bool open = a->fitted == r->number ? !a->settled : r->stages_left > 0;

		if (open && a->memory <= (double)r->bytes && a->bound < r->known &&
		    (!next || a->bound < next->bound))
			next = a;
	}
	return next;
}

static int simulate_family(struct front *f, struct rung *r, struct family *a, struct sb_error *err)
{
	struct choice c = {.strategy = a->strategy};
	int rc;

	a->settled = true;
	f->passes += passes_of(&f->x->r->problem, &c.strategy);
	rc = strategy_cost(&f->x->r->problem, &c.strategy, &c.cost, err);
	if (rc != SB_OK || c.cost.step_seconds >= r->known)
		return rc;
	r->known = c.cost.step_seconds;
	r->best = a;
	f->found[f->count] = c;
	return SB_OK;
}

/* Finds the fastest: first what was the fastest in more bytes, then lowest bounds first, until none can be
 * faster than what was simulated. When that takes too long, of what was fitted the lowest bound alone is
 * simulated. */
static int climb(struct front *f, struct rung *r, struct family *last, struct sb_error *err)
{
	struct family *a;
	int rc = SB_OK;

	r->known = known_seconds(f, (double)r->bytes);
	if (last && last->memory <= (double)r->bytes) {
		fit_family(f, last, r->number, r->bytes);
		rc = simulate_family(f, r, last, err);
	}
	while (rc == SB_OK && (!r->best || f->passes < LADDER_WORK) &&
	       (a = next_family(f->x->keep, r)) != NULL) {
		if (a->fitted == r->number) {
			rc = simulate_family(f, r, a, err);
		} else {
			fit_family(f, a, r->number, r->bytes);
			r->stages_left -= a->strategy.pp;
		}
	}
	f->count += r->best != NULL;
	return rc;
}

/* Leaves the families of which some may be faster than what is known, and tells what the leanest needs. */
static double leanest_family(struct front *f, double least)
{
	struct keep *k = f->x->keep;
	int left = 0;

	for (int i = 0; i < k->family_count; i++) {
		const struct family *a = &k->families[i];

		if (a->bound >= known_seconds(f, a->memory))
			continue;
		k->families[left++] = *a;
		least = fmin(least, a->memory);
	}
	k->family_count = left;
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

	for (int i = 1; i <= f->wanted; i++) {
		double share = (double)i / (double)f->wanted;
		struct rung r = {.number = ++f->rung,
		                 .bytes = (int64_t)ceil(most - share * (most - least)),
		                 .stages_left = LADDER_STAGES / f->wanted};
		int rc = sb_stopped(f->x->r->stop)
		             ? sb_fail(err, SB_ECANCELED, "canceled", "the search was stopped")
		             : climb(f, &r, last, err);

		if (rc != SB_OK)
			return rc;
		last = r.best ? r.best : last;
	}
	return SB_OK;
}

/* From what the best needs down to the leanest family; where that is too slow to be wanted, once more down to
 * the leanest that is not, so that the amounts are no further apart than the points can tell. */
static int climb_families(struct front *f, struct sb_error *err)
{
	struct keep *k = f->x->keep;
	double most = memory_total(&f->x->out->best.cost.memory), least = leanest_family(f, most), reached;
	double bounds[KEEP_FAMILIES];
	int64_t stages = 1;
	int rc;

	least = fmin(least, leanest_found(f));
	for (int i = 0; i < k->family_count; i++) {
		bounds[i] = k->families[i].bound;
		stages = k->families[i].strategy.pp > stages ? k->families[i].strategy.pp : stages;
	}
	f->runs = calloc(2 * (size_t)stages, sizeof(*f->runs));
	if (!f->runs)
		return sb_no_memory(err);
	rc = climb_down(f, most, least, err);
	reached = leanest_found(f);
	if (rc != SB_OK || most - reached > (most - least) * (1 - 1 / (double)f->wanted))
		return rc;
	for (int i = 0; i < k->family_count; i++)
		k->families[i].bound = bounds[i]; /* of the memory of this ladder again */
	return climb_down(f, most, reached, err);
}

/* Of too many points those whose neighbours in memory are closest are left out, the ends never. */
static int thin_choices(struct choice *list, int count, int wanted)
{
	while (count > wanted && count > 2) {
		int drop = 1;
		int64_t closest = INT64_MAX;

		for (int i = 1; i < count - 1; i++) {
			int64_t gap = memory_bytes_of(&list[i - 1].cost.memory) -
			              memory_bytes_of(&list[i + 1].cost.memory);

			if (gap < closest) {
				closest = gap;
				drop = i;
			}
		}
		for (int i = drop; i < count - 1; i++)
			list[i] = list[i + 1];
		count--;
	}
	return count < wanted ? count : wanted;
}

/* Leaves the points that no other one dominates. */
static int undominated(struct choice *list, int count)
{
	double slowest;
	int64_t least = INT64_MAX;
	int kept = 0;

	sort_choices(list, count);
	slowest = SEARCH_SLACK * list[0].cost.step_seconds;
	for (int i = 0; i < count; i++) {
		int64_t memory = memory_bytes_of(&list[i].cost.memory);

		if (memory >= least || list[i].cost.step_seconds > slowest)
			continue;
		least = memory;
		/* The same time, but for rounding: the leaner one. */
		if (kept > 0 &&
		    list[i].cost.step_seconds <= (1 + SAME_TIME) * list[kept - 1].cost.step_seconds)
			kept--;
		list[kept++] = list[i];
	}
	return kept;
}

int search_frontier(struct search *x, struct sb_error *err)
{
	struct search_result *out = x->out;
	struct front f = {.x = x, .wanted = x->r->frontier > 0 ? x->r->frontier : SEARCH_FRONTIER};
	int rc;

	f.found = malloc(FOUND_MOST * sizeof(*f.found));
	rc = f.found ? simulate_front(&f, err) : sb_no_memory(err);
	if (rc == SB_OK)
		rc = climb_families(&f, err);
	free(f.runs);
	if (rc == SB_OK) {
		f.count = thin_choices(f.found, undominated(f.found, f.count), f.wanted);
		out->best = f.found[0];
		out->frontier_count = f.count;
		memcpy(out->frontier, f.found, (size_t)f.count * sizeof(*f.found));
	}
	free(f.found);
	return rc;
}
