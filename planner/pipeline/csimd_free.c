#include "planner/pipeline/csimd_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Micro-batches of any sizes. */

#define MOVED_MAX 512 /* micro-batches that samples are moved between */

/* Every size has an entry of its own here: runs of one. */
struct state {
	struct csimd_search_state *x;
	struct csimd_plan plan;
	double best;
};

static double weigh(struct state *s)
{
	s->x->steps -= 2 * (int64_t)s->plan.run_count * ((int64_t)s->x->p->row_count + 6 * s->x->p->stages);
	csimd_ask(s->x->p, &s->x->steps);
	s->x->candidates++;
	return csimd_makespan(s->x->p, &s->plan);
}

/* Whether the plan as it stands now is better than the best; then it is the best. */
static bool better(struct state *s)
{
	double makespan = weigh(s);

	if (!(makespan < s->best * (1 - CSIMD_ROUNDING)))
		return false;
	s->best = makespan;
	return true;
}

/* `by` samples from one to the next, or back where it is negative. */
static bool move_samples(struct state *s, size_t i, int64_t by)
{
	struct csimd_run *a = &s->plan.runs[i], *b = &s->plan.runs[i + 1];

	if (a->samples - by < 1 || b->samples + by < 1 || a->samples - by > s->x->p->samples_max ||
	    b->samples + by > s->x->p->samples_max)
		return false;
	a->samples -= by;
	b->samples += by;
	if (better(s))
		return true;
	a->samples += by;
	b->samples -= by;
	return false;
}

static bool move_layer(struct state *s, int64_t k, int64_t by)
{
	int64_t *cuts = s->plan.cuts;

	if (cuts[k] + by <= cuts[k - 1] || cuts[k] + by >= cuts[k + 1])
		return false;
	cuts[k] += by;
	if (csimd_costs_fit(&s->x->costs, cuts) && better(s))
		return true;
	cuts[k] -= by;
	return false;
}

static void descend(struct state *s)
{
	bool moved = true;

	s->best = weigh(s);
	while (moved && s->x->steps > 0) {
		int64_t most = 1;

		moved = false;
		for (size_t i = 0; i < s->plan.run_count; i++)
			most = s->plan.runs[i].samples > most ? s->plan.runs[i].samples : most;
		for (int64_t by = most / 2 > 1 ? most / 2 : 1; by > 0; by /= 2)
			for (size_t i = 0; i + 1 < s->plan.run_count && s->x->steps > 0; i++)
				moved |= move_samples(s, i, by) || move_samples(s, i, -by);
		for (int64_t k = 1; k < s->x->p->stages && s->x->steps > 0; k++)
			moved |= move_layer(s, k, 1) || move_layer(s, k, -1);
	}
}

/* Neighbours of one size become one run. */
static void join(struct csimd_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->run_count; i++) {
		if (n > 0 && p->runs[n - 1].samples == p->runs[i].samples)
			p->runs[n - 1].count += p->runs[i].count;
		else
			p->runs[n++] = p->runs[i];
	}
	p->run_count = n;
}

static int copy_plan(const struct csimd_problem *p, const struct csimd_plan *from, bool backwards,
                     struct csimd_plan *out)
{
	size_t size = (size_t)(p->stages + 1) * sizeof(*out->cuts), n = 0;

	*out = *from;
	out->cuts = malloc(size);
	out->runs = calloc((size_t)from->micro_batches, sizeof(*out->runs));
	if (!out->cuts || !out->runs)
		return SB_ENOMEM;
	memcpy(out->cuts, from->cuts, size);
	for (size_t r = 0; r < from->run_count; r++)
		for (int64_t j = 0; j < from->runs[r].count; j++, n++) {
			size_t at = backwards ? (size_t)from->micro_batches - 1 - n : n;

			out->runs[at] = (struct csimd_run){from->runs[r].samples, 1};
		}
	out->run_count = n;
	return SB_OK;
}

/* From the equal plan, and from the same with the smaller micro-batches first, which fill the stages sooner.
 */
static int by_moves(struct csimd_search_state *x, struct csimd_plan *plan)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		struct state s = {.x = x};
		int rc = copy_plan(x->p, plan, backwards, &s.plan);

		if (rc == SB_OK)
			descend(&s);
		if (rc == SB_OK && s.best < plan->makespan) {
			csimd_plan_clear(plan);
			join(&s.plan);
			s.plan.makespan = s.best;
			*plan = s.plan;
		} else {
			csimd_plan_clear(&s.plan);
		}
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

/* Any sizes: all samples pass every machine. A machine's share of a pass that it cannot be below is the mean
 * over the stages, by their speeds, of the time for all samples; and no sample is done in less than at the
 * best rate. What the other stages add is left out where they are unlike. */
static double free_bound(const struct csimd_search_state *x)
{
	const struct csimd_problem *p = x->p;
	double bound = 0;

	for (int d = 0; d < CSIMD_PASSES; d++) {
		double rate = INFINITY, once = INFINITY;

		for (int64_t low = 1, high; low <= p->samples_max; low = high + 1) {
			double sum = 0;

			high = low + low / 16 < p->samples_max ? low + low / 16 : p->samples_max;
			for (size_t r = 0; r < p->row_count; r++)
				sum += (double)p->rows[r].count *
				       csimd_time_least(&p->rows[r].time, (enum csimd_pass)d, low, high);
			rate = fmin(rate, sum / (double)high);
			once = fmin(once, sum);
		}
		bound += rate * (double)p->samples / x->speeds;
		if (x->costs.uniform)
			bound += once / x->fastest * (double)(p->stages - 1) / (double)p->stages;
	}
	return bound;
}

int csimd_free_sizes(struct csimd_search_state *x, struct csimd_plan *plan)
{
	int rc = SB_OK;
	bool all = false;

	x->steps = CSIMD_STEPS; /* the sizes have their own share */
	if (plan->micro_batches <= MOVED_MAX)
		rc = by_moves(x, plan);
	if (rc == SB_OK)
		rc = csimd_every_size(x, plan, &all);
	x->lower_bound = fmin(plan->makespan, all ? plan->makespan : free_bound(x));
	return rc;
}
