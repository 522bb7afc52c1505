#ifndef SB_PLANNER_PIPELINE_RUNS_H
#define SB_PLANNER_PIPELINE_RUNS_H
#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"

/* The least bottleneck with one chunk a device and any number of bodies, exactly: a stage that begins later
 * never ends earlier, so that within a bound each stage takes all that it can. Then of all cuts with that
 * bottleneck one that recomputes least, by dynamic programming over them.
 *
 * out: [stage * body_count + body]. SB_EINFEASIBLE: no cut is within memory; SB_ELIMIT: too much to try;
 * SB_ENOMEM. */
int runs_solve(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
               struct pipeline_stage *out, int64_t *out_tried);
#endif
