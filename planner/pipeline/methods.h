#ifndef SB_PLANNER_PIPELINE_METHODS_H
#define SB_PLANNER_PIPELINE_METHODS_H
#include "planner/pipeline/pipeline.h"

/* Planners of one problem with a given schedule. One row of the table and one file in this folder a method.
 */
struct pipeline_method {
	const char *name; /* public */
	/* out: a plan within memory at its exact peaks. SB_EINFEASIBLE with the reason; SB_EIMPOSSIBLE, with
	 * the field, for a schedule that the method does not know; SB_ENOMEM. */
	int (*plan)(const struct pipeline_problem *p, enum pipeline_objective objective,
	            struct pipeline_stage *out, struct pipeline_proof *out_proof, struct sb_error *err);
};
/* NULL-terminated by its name. */
const struct pipeline_method *pipeline_methods(void);
/* The method of a public name; NULL = there is none. */
const struct pipeline_method *pipeline_method_of(const char *name);
#endif
