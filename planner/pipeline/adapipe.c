#include <math.h>

#include "planner/pipeline/methods.h"
#include "planner/pipeline/straight.h"

/* AdaPipe's estimate of 1F1B (algorithms.md 6): W until the first backward of a stage, E from its last
 * forward on, M the longest pair. A label holds W + B, E + F and M: what the stage before asks for. Of the
 * first stage it holds W, E and M. */
enum { WARM_UP, ENDING, LONGEST };

static void put_in_front(const struct straight *s, int64_t stage, const struct straight_stage *at,
                         const double *behind, double *out)
{
	double after = (double)(straight_problem(s)->shape.devices - 1 - stage);
	double forward = at->forward + at->toll, backward = at->backward + at->toll;

	/* a hop delays the first forward that comes, and the last gradient */
	out[WARM_UP] = forward + fmax(behind[WARM_UP] + at->hop, after * forward);
	out[ENDING] = backward + fmax(behind[ENDING] + at->hop, after * backward);
	out[LONGEST] = fmax(behind[LONGEST], forward + backward);
	if (stage > 0) {
		out[WARM_UP] += backward;
		out[ENDING] += forward;
	}
}

static double steady(const struct straight *s)
{
	const struct schedule_shape *h = &straight_problem(s)->shape;

	return (double)(h->micro_batches - h->devices);
}

static double estimate(const struct straight *s, const double *label)
{
	return label[WARM_UP] + label[ENDING] + steady(s) * label[LONGEST];
}

/* The work before adds to both ends, but for the first stage, whose forward and backward add to one each. */
static double at_least(const struct straight *s, const double *label, double work, int64_t stages)
{
	double longest = stages > 0 ? fmax(label[LONGEST], work / (double)stages) : label[LONGEST];

	return label[WARM_UP] + label[ENDING] + work + steady(s) * longest;
}

int plan_adapipe(const struct pipeline_problem *p, enum pipeline_objective objective,
                 struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	static const struct straight_rule rule = {"adapipe_estimate", 3, put_in_front, estimate,
	                                          at_least};

	(void)objective;
	if (p->shape.kind != SCHEDULE_1F1B)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "schedule",
		                     "must be 1f1b: adapipe estimates no other one");
	if (p->shape.micro_batches < p->shape.devices)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "micro_batches",
		                     "must be at least as many as stages: adapipe's estimate knows no fewer");
	return straight_plan(p, &rule, out, proof, err);
}
