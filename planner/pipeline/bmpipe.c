#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/bottleneck.h"
#include "planner/pipeline/ilp.h"
#include "planner/pipeline/improve.h"
#include "planner/pipeline/makespan.h"
#include "planner/pipeline/methods.h"
#include "planner/pipeline/rows.h"
#include "planner/pipeline/whole.h"

/* Early recomputing has no exact search by its time: the bounds of that take all of a backward to wait for
 * the gradient. So the quicker of the plan of least bottleneck and AutoPipe's is taken. Whatever the plan,
 * some device is busy for the least bottleneck with each micro-batch. */
static int least_early(const struct pipeline_problem *p, struct pipeline_stage *out,
                       struct pipeline_proof *proof, struct sb_error *err)
{
	size_t bytes = (size_t)schedule_stages(&p->shape) * (size_t)p->body_count * sizeof(*out);
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct pipeline_proof other = {0};
	struct pipeline_stage *plan;
	double time = 0, least;
	int rc = pipeline_least_bottleneck(p, out, proof, err);

	if (rc == SB_OK)
		rc = pipeline_scorer_open(p, &scorer, err);
	if (rc == SB_OK)
		rc = pipeline_makespan(scorer, out, &time, err);
	if (rc != SB_OK)
		return rc;
	plan = malloc(bytes);
	if (!plan)
		return sb_no_memory(err);
	rc = plan_autopipe(p, PIPELINE_MAKESPAN, plan, &other, err);
	if (rc == SB_OK && other.value < time) {
		memcpy(out, plan, bytes);
		time = other.value;
	}
	free(plan);
	if (rc == SB_ENOMEM)
		return rc;
	least = fmax(0, (double)p->shape.micro_batches * proof->lower_bound);
	*proof = (struct pipeline_proof){"makespan", time, least, time <= least,
	                                 proof->candidates + other.candidates};
	return SB_OK;
}

static int least(const struct pipeline_problem *p, enum pipeline_objective objective,
                 struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	switch (objective) {
	case PIPELINE_MAKESPAN:
		if (schedule_facts(p->shape.kind)->recomputes)
			return least_early(p, out, proof, err);
		return pipeline_least_makespan(p, out, proof, err);
	case PIPELINE_WHOLE: return pipeline_least_whole(p, out, proof, err);
	default: return pipeline_least_bottleneck(p, out, proof, err);
	}
}

static bool names_recompute(const struct pipeline_problem *p)
{
	for (int64_t i = 0; i < p->row_count; i++)
		for (size_t t = 0; t < p->rows[i].count; t++)
			if (p->rows[i].terms[t].recompute >= 0)
				return true;
	return false;
}

/* The ILP keeps to any rows. It is blind to what recomputes below the bottleneck: that is put right after it,
 * unless rows speak of it. */
static int solve_rows(const struct pipeline_problem *p, bool whole, double lower, struct pipeline_stage *out,
                      struct pipeline_proof *proof, struct sb_error *err)
{
	PIPELINE_SEARCH_AUTO s = {.p = NULL};
	double value;
	int64_t tried;
	int rc;

	if (!p->lp)
		return sb_fail(err, SB_ECONFLICT, "solver_missing",
		               "these rows need an ILP solver, and there is none");
	rc = pipeline_search_open(p, &s, err);
	if (rc == SB_OK)
		rc = ilp_solve(p, s.devices, whole, lower, ILP_SECONDS, out, proof, err);
	if (rc == SB_OK && !whole && !names_recompute(p))
		rc = pipeline_search_fail(
		    improve_plan(p, s.devices, s.cells, IMPROVE_RECOMPUTE, false, out, &value, &tried), false,
		    err);
	return rc;
}

/* First as if there were no rows but those that a device can keep alone: a plan that keeps to all of them is
 * the best of those that do. */
int plan_bmpipe(const struct pipeline_problem *p, enum pipeline_objective objective,
                struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	struct pipeline_problem q = *p;
	struct pipeline_body *bodies;
	int rc;

	if (p->row_count == 0)
		return least(p, objective, out, proof, err);
	bodies = malloc((size_t)p->body_count * sizeof(*bodies));
	if (!bodies)
		return sb_no_memory(err);
	memcpy(bodies, p->bodies, (size_t)p->body_count * sizeof(*bodies));
	rows_forbid(p, bodies);
	q.bodies = bodies;
	rc = least(&q, objective, out, proof, err);
	if (rc == SB_OK && !rows_hold(p, out) && objective == PIPELINE_MAKESPAN)
		rc = pipeline_least_bottleneck(&q, out, proof, err);
	if (rc == SB_OK && !rows_hold(p, out))
		rc = solve_rows(&q, objective == PIPELINE_WHOLE, proof->lower_bound, out, proof, err);
	free(bodies);
	return rc;
}
