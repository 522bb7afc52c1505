#include "planner/pipeline/csimd_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int csimd_check(const struct csimd_problem *p, struct sb_error *err)
{
	int64_t least = (p->samples + p->samples_max - 1) / p->samples_max;
	bool alike = true;

	if (p->stages > p->layers)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "stages",
		                     "must be at most the %lld layers: no stage may be empty",
		                     (long long)p->layers);
	if (p->micro_batches > p->samples)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "micro_batches",
		                     "must be at most the %lld samples: none may be empty",
		                     (long long)p->samples);
	if (p->micro_batches > 0 && p->micro_batches < least)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "micro_batches",
		                     "must be at least %lld, so that none has more than %lld samples",
		                     (long long)least, (long long)p->samples_max);
	for (int64_t s = 1; s < p->stages; s++)
		alike = alike && (!p->speeds || p->speeds[s] == p->speeds[0]) &&
		        (!p->memory || p->memory[s] == p->memory[0]);
	if ((!alike || p->send_fixed) && p->layers * p->stages > CSIMD_CELLS_MAX)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "too_large", "layers",
		                     "with links or unlike stages layers times stages must be at most %d",
		                     CSIMD_CELLS_MAX);
	return SB_OK;
}

/* The costs with no times and no links, so that only bytes count. */
double csimd_least_memory(const struct csimd_problem *p)
{
	struct csimd_layers *rows = calloc(p->row_count, sizeof(*rows));
	struct csimd_problem bytes = *p;
	CSIMD_COSTS_AUTO c = {0};
	CSIMD_SCRATCH_AUTO s = {0};
	double least = INFINITY;

	bytes.rows = rows;
	bytes.samples = 2; /* two micro-batches weigh as much as one sample */
	bytes.send_fixed = bytes.speeds = bytes.memory = NULL;
	for (size_t r = 0; rows && r < p->row_count; r++) {
		rows[r].count = p->rows[r].count;
		rows[r].time.a =
		    p->rows[r].parameters + p->rows[r].activation * (double)p->samples * (double)p->sequences;
	}
	if (rows && csimd_costs_fill(&c, &bytes, 2) == SB_OK && csimd_scratch_open(&c, &s) == SB_OK)
		least = csimd_least_bound(&c, CSIMD_FORWARD, &s);
	free(rows);
	return least;
}

int csimd_infeasible(const struct csimd_problem *p, struct sb_error *err)
{
	return sb_fail_field(err, SB_EINFEASIBLE, "infeasible", "memory_bytes",
	                     "no division fits the memory of the stages: all samples' activations are kept; "
	                     "with the same for every stage %.0f bytes are needed",
	                     csimd_least_memory(p));
}

static int to_plan(struct csimd_search_state *x, struct csimd_plan *out)
{
	const struct csimd_problem *p = x->p;
	int64_t m = x->micro_batches, more = p->samples % m;
	size_t size = (size_t)(p->stages + 1) * sizeof(*out->cuts);

	*out = (struct csimd_plan){.micro_batches = m, .sequences = 1};
	out->cuts = malloc(size);
	out->runs = calloc(2, sizeof(*out->runs));
	if (!out->cuts || !out->runs)
		return SB_ENOMEM;
	memcpy(out->cuts, x->best, size);
	if (more > 0)
		out->runs[out->run_count++] = (struct csimd_run){p->samples / m + 1, more};
	out->runs[out->run_count++] = (struct csimd_run){p->samples / m, m - more};
	out->makespan = csimd_equal_makespan(p, out->cuts, m, x->scratch.machines);
	return SB_OK;
}

/* The cross-search from the number that suits an even division, from as many micro-batches as stages, twice
 * as many, and so on; not all of them when more is to come. */
static int from_starts(struct csimd_search_state *x, bool all)
{
	double reached;
	int64_t last = csimd_likely_count(x), m = x->p->stages;
	int rc = csimd_cross(x, last, &reached);

	for (int i = 0; rc == SB_OK && (all || i < 3) && x->steps > 0; i++, m *= 2) {
		int64_t start = m < x->least ? x->least : m > x->most ? x->most : m;

		if (start != last)
			rc = csimd_cross(x, start, &reached);
		last = start;
		if (m > x->most)
			break;
	}
	return rc;
}

static int search(struct csimd_search_state *x, enum csimd_sizes sizes, enum csimd_search search,
                  struct csimd_result *out, struct sb_error *err)
{
	int rc = csimd_search_open(x->p, x);
	bool many = rc == SB_OK && x->least < x->most;

	if (many)
		rc = from_starts(x, search == CSIMD_CROSS);
	/* without a plan by now there is none */
	if (rc == SB_OK && x->makespan < INFINITY)
		rc = csimd_every_count(x, false);
	if (rc == SB_OK && (!many || (x->makespan < INFINITY && search == CSIMD_EXACT)))
		rc = csimd_every_count(x, true);
	if (rc == SB_OK && !(x->makespan < INFINITY))
		return csimd_infeasible(x->p, err);
	if (rc == SB_OK)
		rc = to_plan(x, &out->plan);
	if (rc == SB_OK && sizes == CSIMD_FREE)
		rc = csimd_free_sizes(x, &out->plan);
	return rc == SB_OK ? rc : sb_fail(err, rc, "no_memory", "out of memory");
}

int csimd_solve_plan(const struct csimd_problem *p, enum csimd_sizes sizes, enum csimd_search how,
                     struct csimd_result *out, struct sb_error *err)
{
	struct csimd_search_state x = {.p = p};
	struct csimd_result r = {0};
	int rc = search(&x, sizes, how, &r, err);

	if (rc == SB_OK) {
		r.lower_bound = fmin(x.lower_bound, r.plan.makespan);
		r.optimal = r.lower_bound >= r.plan.makespan * (1 - 1e-9);
		r.candidates = x.candidates;
		*out = r;
	} else {
		csimd_plan_clear(&r.plan);
	}
	csimd_search_clear(&x);
	return rc;
}
