#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <string.h>

#define CAPS 24
#define WIDEST 1.3 /* times the least cap: wider ones let the first stages grow for nothing */

/* Two runs over stages that are alike, with both passes as one:
 *     makespan >= work + (first_count - 1) * the longest first of the stages so far
 *                 + what the stages before take longer for the first run + first + (rest_count - 1) * rest
 * for every stage. So for a cap on the first part, which is the same for all stages then, the least bound on
 * the second one is found by bisection: later stages get smaller, as far as the cap lets the earlier ones. */
struct profile {
	const struct csimd_costs *c;
	double cap, bound;
	int64_t *cuts;
	int64_t steps;
};

static double both(double *const of[CSIMD_PASSES], int64_t i, int64_t j)
{
	return of[0][j] - of[0][i] + (of[1][j] - of[1][i]);
}

static bool fits(const struct profile *f, int64_t i, int64_t j)
{
	const struct csimd_costs *c = f->c;
	double first = both(c->of_first, i, j), longer = both(c->of_first, 0, i) - both(c->once, 0, i);

	return first <= f->cap && longer + first + (c->rest_count - 1) * both(c->of_rest, i, j) <= f->bound &&
	       (!c->p->memory || c->bytes[j] - c->bytes[i] <= c->p->memory[0]);
}

static bool fill(struct profile *f)
{
	const struct csimd_problem *p = f->c->p;

	f->cuts[0] = 0;
	for (int64_t s = 0; s < p->stages; s++) {
		int64_t from = f->cuts[s], low = from, high = p->layers - (p->stages - s - 1);

		while (low < high) {
			int64_t mid = low + (high - low + 1) / 2;

			f->steps += 16;
			if (fits(f, from, mid))
				low = mid;
			else
				high = mid - 1;
		}
		if (low == from)
			return false;
		f->cuts[s + 1] = low;
	}
	return f->cuts[p->stages] == p->layers;
}

/* The least of what `value` points to that still fills; the cuts are of that one. false: none up to `high`.
 */
static bool least(struct profile *f, double *value, double low, double high)
{
	*value = high;
	if (!fill(f))
		return false;
	while (high - low > 1e-6 * high) {
		*value = low + (high - low) / 2;
		if (fill(f))
			high = *value;
		else
			low = *value;
	}
	*value = high;
	return fill(f);
}

void csimd_profiles(const struct csimd_costs *c, struct csimd_scratch *s, int64_t *steps,
                    struct csimd_division *out)
{
	const struct csimd_problem *p = c->p;
	double all = both(c->of_first, 0, p->layers);
	struct profile f = {.c = c, .cuts = s->cuts, .bound = INFINITY};
	double smallest;

	if (!least(&f, &f.cap, all / (double)p->stages * (1 - 1e-6), all))
		return;
	smallest = f.cap;
	for (int i = 0; i <= CAPS; i++) {
		double makespan;

		f.cap = smallest * (1 + (WIDEST - 1) * i / CAPS);
		if (!least(&f, &f.bound, 0, c->rest_count * all * 2))
			continue;
		makespan = csimd_costs_makespan(c, s->cuts, s->machines);
		out->weighed++;
		if (makespan < out->makespan) {
			out->makespan = makespan;
			memcpy(out->cuts, s->cuts, (size_t)(p->stages + 1) * sizeof(*s->cuts));
		}
	}
	*steps -= f.steps;
}
