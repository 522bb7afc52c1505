#ifndef SB_PLANNER_PIPELINE_LIGHTEST_H
#define SB_PLANNER_PIPELINE_LIGHTEST_H
#include "planner/pipeline/pipeline.h"

/* A problem with one way for each layer: the one that keeps least. What does not fit here fits in no way, and
 * what fits here is a plan. */
struct lightest_problem {
	struct pipeline_problem p; /* borrows all but the bodies from the problem it was made of */
	struct pipeline_body *bodies;
	bool simpler; /* some body had more ways */
};
/* *out is to be freed by lightest_free(). SB_ENOMEM. */
int lightest_open(const struct pipeline_problem *p, struct lightest_problem *out);
void lightest_free(struct lightest_problem *l);
#define LIGHTEST_AUTO __attribute__((cleanup(lightest_free))) struct lightest_problem
#endif
