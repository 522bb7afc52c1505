#ifndef SB_PLANNER_PIPELINE_FRONTIER_H
#define SB_PLANNER_PIPELINE_FRONTIER_H
#include "planner/pipeline/table.h"

/* The least bottleneck, exactly: given the stages in which each body begins, and a bound, every device alone
 * says how many layers of each body it can hold, and only these counts tie the devices together
 * (algorithms.md 1.8). With one body there is but one case; with more, each place where a body can begin is
 * tried.
 *
 * out_bottleneck, out: [stage * body_count + body], and of all plans with that bottleneck one that recomputes
 * least. SB_EINFEASIBLE: no plan is within memory; SB_ELIMIT: too much to try; SB_ENOMEM. Bodies without
 * layers are not allowed beside others. */
int frontier_solve(const struct pipeline_problem *p, const struct device *devices, struct cells *cells,
                   struct pipeline_stage *out, double *out_bottleneck, int64_t *out_tried);
/* No bottleneck of the problem is below this: some stage has its share of the work, and some stage holds the
 * longest layer. */
double frontier_lower_bound(const struct pipeline_problem *p);
/* Every plan's bottleneck is at most this: all work on one device, all recomputed. */
double frontier_upper_bound(const struct pipeline_problem *p);
#endif
