#ifndef SB_PLANNER_PIPELINE_IMPROVE_H
#define SB_PLANNER_PIPELINE_IMPROVE_H
#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"

/* A search by small steps, where an exact one is too much: layers go from one stage to another, as long as
 * that helps. Each device recomputes for its own least bottleneck, or as little as its memory allows. */
enum improve_by {
	IMPROVE_BOTTLENECK,
	IMPROVE_WHOLE,    /* whole.h */
	IMPROVE_RECOMPUTE /* the bottleneck of the cuts as they are, with least recomputing */
};
/* out: a plan to start from, or none (`fresh`); the best that was found. *out_value: by the objective.
 * SB_EINFEASIBLE: no plan within memory was found, which does not prove that there is none; SB_ELIMIT,
 * SB_ENOMEM. Deterministic: a given number of steps. */
int improve_plan(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
                 enum improve_by by, bool fresh, struct pipeline_stage *out, double *out_value,
                 int64_t *out_tried);
#endif
