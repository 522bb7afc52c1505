#include "planner/pipeline/csimd_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOUND_LOOKS 1000
#define MOVE_STEPS (CSIMD_STEPS / 128)
#define PROOF_STEPS ((int64_t)1 << 22)

void csimd_search_clear(struct csimd_search_state *x)
{
	csimd_costs_clear(&x->costs);
	csimd_scratch_clear(&x->scratch);
	free(x->best);
	free(x->trial);
	free(x->other);
}

int csimd_search_open(const struct csimd_problem *p, struct csimd_search_state *x)
{
	int64_t least = (p->samples + p->samples_max - 1) / p->samples_max;

	*x = (struct csimd_search_state){.p = p, .makespan = INFINITY, .steps = CSIMD_STEPS};
	x->least = p->micro_batches > 0 ? p->micro_batches : least;
	x->most = p->micro_batches > 0 ? p->micro_batches : p->samples;
	x->best = calloc((size_t)p->stages + 1, sizeof(*x->best));
	x->trial = calloc((size_t)p->stages + 1, sizeof(*x->trial));
	x->other = calloc((size_t)p->stages + 1, sizeof(*x->other));
	if (!x->best || !x->trial || !x->other || csimd_costs_fill(&x->costs, p, x->least) != SB_OK)
		return SB_ENOMEM;
	for (int64_t s = 0; s < p->stages; s++) {
		double speed = p->speeds ? p->speeds[s] : 1;

		x->speeds += speed;
		x->fastest = fmax(x->fastest, speed);
	}
	x->link_fixed = x->link_per_sample = p->send_fixed ? INFINITY : 0;
	for (int64_t i = 0; p->send_fixed && i < csimd_links(p); i++) {
		x->link_fixed = fmin(x->link_fixed, p->send_fixed[i]);
		x->link_per_sample = fmin(x->link_per_sample, p->send_per_sample[i]);
	}
	return csimd_scratch_open(&x->costs, &x->scratch);
}

/* Sums over the layers that bound every division, when a micro-batch has `low` to `high` samples. */
struct sums {
	double work;                  /* of both passes, once */
	double weight[CSIMD_PASSES];  /* m - 1 times what a machine takes */
	double largest[CSIMD_PASSES]; /* of one layer */
};

static struct sums sums_of(const struct csimd_problem *p, int64_t low, int64_t high, double first_count,
                           double rest_count)
{
	struct sums s = {0};

	for (size_t r = 0; r < p->row_count; r++) {
		const struct csimd_layers *row = &p->rows[r];

		for (int d = 0; d < CSIMD_PASSES; d++) {
			enum csimd_pass pass = (enum csimd_pass)d;
			double rest = csimd_time_least(&row->time, pass, low, high), weight;

			weight = (rest_count - 1) * rest;
			if (first_count > 0)
				weight += first_count * csimd_time_at(&row->time, pass, low + 1, 0);
			s.work += (double)row->count * rest;
			s.weight[d] += (double)row->count * weight;
			s.largest[d] = fmax(s.largest[d], weight);
		}
	}
	return s;
}

/* The sum of work and heaviest machines (csimd_best.c) is no less than with layers that could be cut at will.
 */
double csimd_data_bound(struct csimd_search_state *x, int64_t least, int64_t most)
{
	const struct csimd_problem *p = x->p;
	int64_t low = p->samples / most, high = (p->samples + least - 1) / least;
	double more = least == most ? (double)(p->samples % least) : 0, bound, send;
	struct sums s = sums_of(p, low, high, more, (double)least - more);

	x->steps -= 32 * (int64_t)p->row_count;
	send = x->link_fixed + x->link_per_sample * (double)low;
	bound = s.work / x->fastest + (double)(CSIMD_PASSES * (p->stages - 1)) * send;
	for (int d = 0; d < CSIMD_PASSES; d++) {
		double slowest = fmax(s.weight[d] / x->speeds, s.largest[d] / x->fastest);

		bound += p->stages > 1 ? fmax(slowest, ((double)least - 1) * send) : slowest;
	}
	return bound;
}

/* Moves `by` layers over a cut if that helps. */
static bool move(struct csimd_search_state *x, struct csimd_division *d, int64_t k, int64_t by)
{
	int64_t old = d->cuts[k];
	double makespan;

	if (old + by <= d->cuts[k - 1] || old + by >= d->cuts[k + 1])
		return false;
	d->cuts[k] = old + by;
	makespan = csimd_costs_makespan(&x->costs, d->cuts, x->scratch.machines);
	x->steps -= 64 * x->p->stages;
	csimd_ask(x->p, &x->steps);
	d->weighed++;
	if (makespan < d->makespan * (1 - CSIMD_ROUNDING) && csimd_costs_fit(&x->costs, d->cuts)) {
		d->makespan = makespan;
		return true;
	}
	d->cuts[k] = old;
	return false;
}

/* Many layers over single cuts, then fewer, while that helps and does not take all the steps. */
static void improve(struct csimd_search_state *x, struct csimd_division *d)
{
	int64_t by = x->p->layers / x->p->stages / 4, end = x->steps - MOVE_STEPS;
	bool better;

	end = end > 0 ? end : 0;

	for (by = by > 1 ? by : 1; by > 0; by = better ? by : by / 2) {
		better = false;
		for (int64_t k = 1; k < x->p->stages && x->steps > end; k++)
			better |= move(x, d, k, by) || move(x, d, k, -by);
	}
}

static int prove(struct csimd_search_state *x, double cutoff, struct csimd_division *out)
{
	int64_t share = x->steps < PROOF_STEPS ? x->steps : PROOF_STEPS, left = share;
	int rc = csimd_prove_division(&x->costs, cutoff, &left, out);

	x->steps -= share - left;
	return rc;
}

/* No single number of micro-batches may take all the steps. */
static int divide(struct csimd_search_state *x, double cutoff, struct csimd_division *out)
{
	int64_t share = x->steps / 4, left = share;
	int rc = csimd_best_division(&x->costs, cutoff, &x->scratch, &left, out);

	x->steps -= share - left;
	return rc;
}

/* Two runs: the best of several shares, and the best bound. */
static int try_shares(struct csimd_search_state *x, double cutoff, struct csimd_division *out)
{
	static const double shares[] = {0.5, 0};
	struct csimd_division d = {.cuts = x->other};
	int rc = SB_OK;

	if (x->costs.uniform)
		csimd_profiles(&x->costs, &x->scratch, &x->steps, out);
	improve(x, out);
	for (int i = 0; rc == SB_OK && i < 2 && x->costs.share > 0 &&
	                out->lower_bound < fmin(cutoff, out->makespan) * (1 - CSIMD_ROUNDING);
	     i++) {
		csimd_costs_share(&x->costs, shares[i]);
		d.weighed = 0;
		rc = divide(x, cutoff, &d);
		if (rc != SB_OK || !(d.makespan < INFINITY))
			break;
		improve(x, &d);
		out->weighed += d.weighed;
		out->lower_bound = fmax(out->lower_bound, d.lower_bound);
		if (d.makespan < out->makespan) {
			out->makespan = d.makespan;
			memcpy(out->cuts, d.cuts, (size_t)(x->p->stages + 1) * sizeof(*d.cuts));
		}
	}
	out->lower_bound = fmin(out->lower_bound, fmin(out->makespan, cutoff));
	return rc;
}

int csimd_try(struct csimd_search_state *x, int64_t micro_batches, double cutoff, struct csimd_division *out)
{
	int rc = csimd_costs_fill(&x->costs, x->p, micro_batches);

	x->steps -= 8 * x->p->layers + 32 * (int64_t)x->p->row_count;
	csimd_ask(x->p, &x->steps);
	*out = (struct csimd_division){.cuts = x->trial};
	if (rc == SB_OK)
		rc = divide(x, cutoff, out);
	if (rc == SB_OK && x->costs.first_count > 0 && out->makespan < INFINITY &&
	    out->lower_bound < cutoff * (1 - CSIMD_ROUNDING)) {
		rc = try_shares(x, cutoff, out);
		if (rc == SB_OK && out->lower_bound < fmin(cutoff, out->makespan) * (1 - CSIMD_ROUNDING))
			rc = prove(x, cutoff, out);
	}
	if (rc != SB_OK)
		return rc;
	x->candidates += out->weighed;
	if (out->makespan < x->makespan) {
		x->makespan = out->makespan;
		x->micro_batches = micro_batches;
		memcpy(x->best, out->cuts, (size_t)(x->p->stages + 1) * sizeof(*x->best));
	}
	return SB_OK;
}

/* The bound alone is worth an eighth of the steps. */
static int64_t bound_looks(const struct csimd_problem *p)
{
	int64_t most = CSIMD_STEPS / 8 / (32 * (int64_t)p->row_count);

	return most < BOUND_LOOKS ? most : BOUND_LOOKS;
}

int csimd_every_count(struct csimd_search_state *x, bool divide)
{
	CSIMD_NODES_AUTO nodes = {0};
	struct csimd_node n = {.low = {(double)x->least}, .high = {(double)x->most}};
	double floor_of_all = INFINITY;
	int64_t looks = divide ? INT64_MAX : bound_looks(x->p);
	int rc;

	n.bound = csimd_data_bound(x, x->least, x->most);
	rc = csimd_nodes_push(&nodes, &n);
	while (rc == SB_OK && csimd_nodes_pop(&nodes, &n)) {
		int64_t low = (int64_t)n.low[0], high = (int64_t)n.high[0], mid;
		struct csimd_division d;

		csimd_ask(x->p, &x->steps);
		if (n.bound >= x->makespan - CSIMD_ROUNDING * x->makespan || looks-- <= 0 ||
		    (divide ? x->steps <= 0 : low == high)) {
			floor_of_all = fmin(floor_of_all, n.bound);
			break;
		}
		if (low == high) {
			rc = csimd_try(x, low, x->makespan, &d);
			floor_of_all = fmin(floor_of_all, fmax(d.lower_bound, n.bound));
			continue;
		}
		mid = (int64_t)sqrt(n.low[0] * n.high[0]);
		mid = mid < low ? low : mid >= high ? high - 1 : mid;
		for (int half = 0; half < 2 && rc == SB_OK; half++) {
			int64_t a = half == 0 ? low : mid + 1, b = half == 0 ? mid : high;
			struct csimd_node part = {.low = {(double)a}, .high = {(double)b}};

			part.bound = fmax(n.bound, csimd_data_bound(x, a, b));
			rc = csimd_nodes_push(&nodes, &part);
		}
	}
	x->lower_bound = fmin(fmax(x->lower_bound, floor_of_all), x->makespan);
	return rc;
}
