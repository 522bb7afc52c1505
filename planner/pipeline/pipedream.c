#include <math.h>

#include "planner/pipeline/methods.h"
#include "planner/pipeline/straight.h"

static void slower(const struct straight *s, int64_t stage, const struct straight_stage *at,
                   const double *behind, double *out)
{
	double load = at->forward + at->backward + 2 * at->toll;

	(void)s;
	(void)stage;
	out[0] = fmax(behind[0], fmax(load, 2 * at->hop));
}

static double slowest(const struct straight *s, const double *label)
{
	(void)s;
	return label[0];
}

static double slowest_at_least(const struct straight *s, const double *label, double work, int64_t stages)
{
	(void)s;
	return stages > 0 ? fmax(label[0], work / (double)stages) : label[0];
}

const struct straight_rule straight_slowest = {"slowest_stage_or_link", 1, slower, slowest, slowest_at_least};

int plan_pipedream(const struct pipeline_problem *p, enum pipeline_objective objective,
                   struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	(void)objective;
	return straight_plan(p, &straight_slowest, out, proof, err);
}
