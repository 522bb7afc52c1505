#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/fit.h"
#include "planner/pipeline/methods.h"

static int fit_and_time(const struct pipeline_problem *p, const int64_t *layers, struct pipeline_stage *out,
                        double *makespan, struct sb_error *err)
{
	FITTER_AUTO fitter = NULL;
	PIPELINE_SCORER_AUTO scorer = NULL;
	int64_t device = -1;
	int rc = fitter_open(p, &fitter, err);

	if (rc == SB_OK && fitter_plan(fitter, layers, out, &device) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK && device >= 0)
		rc = sb_fail(err, SB_EINFEASIBLE, "infeasible",
		             "with equal counts of layers device %lld does not fit, even with all recomputed",
		             (long long)device);
	if (rc == SB_OK)
		rc = pipeline_scorer_open(p, &scorer, err);
	return rc == SB_OK ? pipeline_makespan(scorer, out, makespan, err) : rc;
}

int plan_even(const struct pipeline_problem *p, enum pipeline_objective objective, struct pipeline_stage *out,
              struct pipeline_proof *proof, struct sb_error *err)
{
	int64_t all = pipeline_layers(p), stages, *layers;
	double makespan;
	int rc = schedule_check(&p->shape, err);

	(void)objective;
	if (rc == SB_OK)
		rc = pipeline_check_layers(p, err);
	if (rc != SB_OK)
		return rc;
	stages = schedule_stages(&p->shape);
	layers = malloc((size_t)stages * sizeof(*layers));
	if (!layers)
		return sb_no_memory(err);
	for (int64_t i = 0; i < stages; i++)
		layers[i] = all / stages + (i < all % stages);
	rc = fit_and_time(p, layers, out, &makespan, err);
	free(layers);
	if (rc == SB_OK)
		*proof = (struct pipeline_proof){"equal_layers", makespan, NAN, false, 1};
	return rc;
}
