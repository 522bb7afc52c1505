#include "planner/pipeline/ilp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/ilp_model.h"
#include "planner/pipeline/rows.h"
#include "planner/pipeline/whole.h"

/* Solvers keep rows to about this share; what passes its memory by it is solved again with less. */
#define TOLERANCE 1e-6
/* What is left of a number that should be whole. */
#define WHOLE 1e-4

static bool is_offered(const struct pipeline_body *b, int r)
{
	return isfinite(b->backward[r]) && isfinite(b->activation[r]);
}

/* Reads the layers out of the solver's values. False: they are not whole numbers, or not all layers. */
static bool read_plan(const struct ilp_model *m, const double *values, struct pipeline_stage *out)
{
	const struct pipeline_problem *p = m->p;
	size_t at = 0;

	memset(out, 0, (size_t)(m->stages * p->body_count) * sizeof(*out));
	for (int64_t i = 0; i < m->stages; i++)
		for (int64_t b = 0; b < p->body_count; b++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
				if (!is_offered(&p->bodies[b], r))
					continue;
				if (!(fabs(values[at] - nearbyint(values[at])) <= WHOLE))
					return false;
				out[i * p->body_count + b].layers[r] = (int64_t)nearbyint(values[at++]);
			}
	return pipeline_is_whole(p, out);
}

/* Is it a plan, by the same measure as every other one? */
static int check_plan(const struct pipeline_problem *p, const struct pipeline_stage *plan, bool *out,
                      struct sb_error *err)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	double *peaks = malloc((size_t)p->shape.devices * sizeof(*peaks));
	int rc = peaks ? pipeline_scorer_open(p, &scorer, err) : sb_no_memory(err);

	if (rc == SB_OK) {
		pipeline_peaks(scorer, plan, peaks);
		*out = rows_hold(p, plan);
		for (int64_t d = 0; d < p->shape.devices; d++)
			*out = *out && peaks[d] <= p->memory[d] * (1 + PIPELINE_ROUNDING);
	}
	free(peaks);
	return rc;
}

static int told(const struct lp_result *r, struct sb_error *err)
{
	switch (r->status) {
	case LP_OPTIMAL:
	case LP_STOPPED: return SB_OK;
	case LP_INFEASIBLE:
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "no plan keeps to the memory and to all rows");
	default:
		return sb_fail(err, SB_ELIMIT, "too_large", "the ILP solver found no plan within its limits");
	}
}

/* One run of the solver, with a share of the memory left over. *out_is_plan: it stood the check. */
static int solve_once(const struct ilp_request *q, double left, struct pipeline_stage *out,
                      struct lp_result *result, bool *out_is_plan, struct sb_error *err)
{
	const struct pipeline_problem *p = q->p;
	__attribute__((cleanup(ilp_model_free))) struct ilp_model m = {.p = p};
	SB_BUF_AUTO text = {0};
	int rc = ilp_model_build(q, left, &m, &text);

	if (rc != SB_OK)
		return sb_fail(err, rc, rc == SB_ELIMIT ? "too_large" : "no_memory",
		               rc == SB_ELIMIT ? "the problem is too large for an ILP" : "out of memory");
	result->values = calloc(m.lp.columns, sizeof(*result->values));
	if (!result->values)
		return sb_no_memory(err);
	rc = p->lp->solve(p->lp->self, text.data, text.len, m.lp.columns, q->seconds, result, err);
	if (rc == SB_OK)
		rc = told(result, err);
	*out_is_plan = rc == SB_OK && read_plan(&m, result->values, out);
	if (*out_is_plan)
		rc = check_plan(p, out, out_is_plan, err);
	free(result->values);
	return rc;
}

int ilp_solve(const struct pipeline_problem *p, const struct device *devices, bool whole, double lower_bound,
              double seconds, struct pipeline_stage *out, struct pipeline_proof *out_proof,
              struct sb_error *err)
{
	struct ilp_request q = {p, devices, whole, lower_bound, lower_bound > 0 ? lower_bound : 1, seconds};
	struct lp_result first = {.bound = NAN}, second = {.bound = NAN};
	bool is_plan = false, optimal;
	double value = NAN, bound;
	int rc;

	if (!p->lp)
		return sb_fail(err, SB_ECONFLICT, "solver_missing", "there is no ILP solver");
	rc = solve_once(&q, 0, out, &first, &is_plan, err);
	optimal = first.status == LP_OPTIMAL;
	if (rc == SB_OK && !is_plan) {
		optimal = false;
		rc = solve_once(&q, TOLERANCE, out, &second, &is_plan, err);
	}
	if (rc == SB_OK && !is_plan)
		rc = sb_fail(err, SB_EIO, "solver_failed", "the ILP solver's answer is no plan");
	if (rc == SB_OK && whole && pipeline_whole(p, out, &value) != SB_OK)
		rc = sb_no_memory(err);
	if (rc != SB_OK)
		return rc;
	if (!whole)
		value = pipeline_bottleneck(p, out);
	bound = fmax(lower_bound, isnan(first.bound) ? lower_bound : first.bound * q.unit * (1 - TOLERANCE));
	*out_proof = (struct pipeline_proof){whole ? "whole" : "bottleneck", value,
	                                     optimal ? value : fmin(bound, value), optimal, 1};
	return SB_OK;
}
