#include "planner/pipeline/csimd_search.h"

#include <math.h>
#include <stdlib.h>

struct drawing {
	const struct csimd_costs *c;
	int64_t *cuts;
	double *scratch, sum;
	int64_t count;
};

static void add(struct drawing *x)
{
	x->sum += csimd_costs_makespan(x->c, x->cuts, x->scratch);
	x->count++;
}

static void every(struct drawing *x)
{
	int64_t k = x->c->p->stages, n = x->c->p->layers, s;

	for (s = 0; s < k; s++)
		x->cuts[s] = s;
	x->cuts[k] = n;
	do { /* the next one in order: the last cut that can still go on does, those behind it follow close */
		add(x);
		for (s = k - 1; s > 0 && x->cuts[s] == n - (k - s); s--)
			;
		if (s > 0)
			x->cuts[s]++;
		for (int64_t i = s + 1; s > 0 && i < k; i++)
			x->cuts[i] = x->cuts[i - 1] + 1;
	} while (s > 0);
}

static uint64_t drawn(uint64_t *seed, uint64_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return (*seed >> 33) % below;
}

/* Stages - 1 of the places between layers, all sets alike likely: a place is taken with the share of what is
 * still wanted in what is left. */
static void draw(struct drawing *x, uint64_t *seed)
{
	int64_t k = x->c->p->stages, n = x->c->p->layers, s = 1;

	x->cuts[0] = 0;
	x->cuts[k] = n;
	for (int64_t place = 1; place < n && s < k; place++)
		if ((int64_t)drawn(seed, (uint64_t)(n - place)) < k - s)
			x->cuts[s++] = place;
	add(x);
}

/* Draws take one step a layer: of many layers fewer are drawn. */
#define DRAW_STEPS 20000000

static void random_mean(struct drawing *x, struct csimd_baselines *out)
{
	const struct csimd_problem *p = x->c->p;
	int64_t all = csimd_divisions(p->layers, p->stages, CSIMD_DIVISIONS_MAX);
	int64_t draws = DRAW_STEPS / (p->layers + 16 * p->stages);
	uint64_t seed = 1;

	out->random_sampled = all > CSIMD_DIVISIONS_MAX;
	draws = draws < CSIMD_DIVISIONS_MAX ? draws : CSIMD_DIVISIONS_MAX;
	if (!out->random_sampled)
		every(x);
	for (int64_t i = 0; out->random_sampled && i < draws; i++)
		draw(x, &seed);
	out->random_mean = x->sum / (double)x->count;
	out->random_divisions = x->count;
}

static int even(const struct csimd_problem *p, int64_t m, double *scratch, struct csimd_plan *out)
{
	int64_t each = p->layers / p->stages, more = p->layers % p->stages;

	*out =
	    (struct csimd_plan){.micro_batches = m, .sequences = 1, .run_count = p->samples % m > 0 ? 2 : 1};
	out->cuts = calloc((size_t)p->stages + 1, sizeof(*out->cuts));
	out->runs = calloc(2, sizeof(*out->runs));
	if (!out->cuts || !out->runs)
		return SB_ENOMEM;
	for (int64_t s = 0; s < p->stages; s++)
		out->cuts[s + 1] = out->cuts[s] + each + (s < more);
	out->runs[0] = (struct csimd_run){(p->samples + m - 1) / m, p->samples % m > 0 ? p->samples % m : m};
	out->runs[1] = (struct csimd_run){p->samples / m, m - out->runs[0].count};
	out->makespan = csimd_equal_makespan(p, out->cuts, m, scratch);
	return SB_OK;
}

int csimd_compare(const struct csimd_problem *p, struct csimd_baselines *out)
{
	int64_t least = (p->samples + p->samples_max - 1) / p->samples_max, m = p->micro_batches;
	struct csimd_baselines b = {0};
	CSIMD_COSTS_AUTO c = {0};
	struct drawing x = {.c = &c};
	int rc;

	if (m == 0)
		m = p->stages < least ? least : p->stages > p->samples ? p->samples : p->stages;
	x.cuts = calloc((size_t)p->stages + 1, sizeof(*x.cuts));
	x.scratch = malloc(8 * (size_t)p->stages * sizeof(*x.scratch));
	rc = x.cuts && x.scratch ? csimd_costs_fill(&c, p, m) : SB_ENOMEM;
	if (rc == SB_OK)
		rc = even(p, m, x.scratch, &b.even);
	if (rc == SB_OK) {
		random_mean(&x, &b);
		*out = b;
	} else {
		csimd_plan_clear(&b.even);
	}
	free(x.cuts);
	free(x.scratch);
	return rc;
}
