#include <math.h>

#include "planner/pipeline/methods.h"
#include "planner/pipeline/straight.h"

/* Alpa's latency (algorithms.md 8): once through all stages and links, and one longest stage for each
 * further micro-batch. With GPipe's order its forwards and its backwards wait for the longest of their own
 * kind, so that the time is exact (algorithms.md 4.2); both then count a link that is longer. */
enum { THROUGH, LONGEST, BACKWARD };

static double further(const struct straight *s)
{
	return (double)(straight_problem(s)->shape.micro_batches - 1);
}

static void put_in_front(const struct straight *s, int64_t stage, const struct straight_stage *at,
                         const double *behind, double *out)
{
	double forward = at->forward + at->toll, backward = at->backward + at->toll;

	(void)stage;
	out[THROUGH] = behind[THROUGH] + forward + backward + 2 * at->hop;
	if (straight_problem(s)->shape.kind == SCHEDULE_GPIPE) {
		out[LONGEST] = fmax(behind[LONGEST], fmax(forward, at->hop));
		out[BACKWARD] = fmax(behind[BACKWARD], fmax(backward, at->hop));
	} else {
		out[LONGEST] = fmax(behind[LONGEST], fmax(forward + backward, 2 * at->hop));
		out[BACKWARD] = 0;
	}
}

static double latency(const struct straight *s, const double *label)
{
	return label[THROUGH] + further(s) * (label[LONGEST] + label[BACKWARD]);
}

static double at_least(const struct straight *s, const double *label, double work, int64_t stages)
{
	double pair = label[LONGEST] + label[BACKWARD];

	if (stages > 0)
		pair = fmax(pair, work / (double)stages);
	return label[THROUGH] + work + further(s) * pair;
}

int plan_alpa(const struct pipeline_problem *p, enum pipeline_objective objective, struct pipeline_stage *out,
              struct pipeline_proof *proof, struct sb_error *err)
{
	static const struct straight_rule rule = {"alpa_latency", 3, put_in_front, latency, at_least};

	(void)objective;
	return straight_plan(p, &rule, out, proof, err);
}
