#include "planner/pipeline/csimd_search.h"

#include <math.h>

#define SCAN_MAX 4096 /* numbers of micro-batches that are all tried */
#define GRID 64
#define GRID_LEAST 8
#define SHARE (CSIMD_STEPS / 16) /* steps of one look for the best number */
#define NEIGHBOURS 32

double csimd_equal_makespan(const struct csimd_problem *p, const int64_t *cuts, int64_t m, double *scratch)
{
	int64_t n = 2 * p->stages - 1, more = p->samples % m;
	struct csimd_piece rest = {p->samples / m, 0}, first = {rest.samples + 1, 0};
	double sum = 0;

	for (int d = 0; d < CSIMD_PASSES; d++) {
		enum csimd_pass pass = (enum csimd_pass)d;

		csimd_machines(p, cuts, &rest, pass, scratch + n);
		if (more > 0)
			csimd_machines(p, cuts, &first, pass, scratch);
		sum += csimd_pass(scratch, (double)more, scratch + n, (double)(m - more), n, scratch + 2 * n);
	}
	return sum;
}

struct count {
	int64_t m;
	double makespan;
};

static int64_t look_steps(const struct csimd_problem *p)
{
	return 32 * ((int64_t)p->row_count + 2 * p->stages);
}

static void look(struct csimd_search_state *x, int64_t m, struct count *best)
{
	double makespan;

	if (m < x->least || m > x->most)
		return;
	x->steps -= look_steps(x->p);
	csimd_ask(x->p, &x->steps);
	makespan = csimd_equal_makespan(x->p, x->trial, m, x->scratch.machines);
	if (makespan < best->makespan * (1 - CSIMD_ROUNDING))
		*best = (struct count){m, makespan};
}

/* Where few numbers are left all of them; else a grid of them, closer and closer around its best: the
 * makespan falls and rises again, but for the remainders, which the neighbours are looked at for. */
static struct count best_count(struct csimd_search_state *x, struct count best)
{
	double low = (double)x->least, high = (double)x->most;
	int64_t end = x->steps - SHARE > 0 ? x->steps - SHARE : 0;
	int64_t grid = SHARE / 4 / look_steps(x->p);

	grid = grid < GRID_LEAST ? GRID_LEAST : grid > GRID ? GRID : grid;

	while (high - low > SCAN_MAX && x->steps > end) {
		double ratio = pow(high / low, 1.0 / (double)grid);
		struct count here = {0, INFINITY};

		for (int64_t i = 0; i <= grid; i++)
			look(x, (int64_t)(low * pow(ratio, (double)i)), &here);
		if (here.makespan < best.makespan * (1 - CSIMD_ROUNDING))
			best = here;
		low = fmax(low, floor((double)here.m / ratio));
		high = fmin(high, ceil((double)here.m * ratio));
	}
	for (int64_t m = (int64_t)low; m <= (int64_t)high && x->steps > end; m++)
		look(x, m, &best);
	for (int64_t m = best.m - NEIGHBOURS; m <= best.m + NEIGHBOURS && x->steps > end; m++)
		look(x, m, &best);
	return best;
}

int64_t csimd_likely_count(struct csimd_search_state *x)
{
	const struct csimd_problem *p = x->p;

	for (int64_t s = 0; s <= p->stages; s++)
		x->trial[s] = s * p->layers / p->stages;
	return best_count(x, (struct count){x->least, INFINITY}).m;
}

int csimd_cross(struct csimd_search_state *x, int64_t start, double *out_reached)
{
	struct count now = {start, INFINITY}, next;
	struct csimd_division d;

	*out_reached = INFINITY;
	do {
		int rc = csimd_try(x, now.m, INFINITY, &d);

		if (rc != SB_OK)
			return rc;
		if (!(d.makespan < *out_reached))
			return SB_OK;
		now.makespan = *out_reached = d.makespan;
		next = best_count(x, now);
		*out_reached = fmin(*out_reached, next.makespan);
		if (next.m == now.m)
			return SB_OK;
		now.m = next.m;
	} while (x->steps > 0);
	return SB_OK;
}
