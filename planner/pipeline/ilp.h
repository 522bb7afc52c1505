#ifndef SB_PLANNER_PIPELINE_ILP_H
#define SB_PLANNER_PIPELINE_ILP_H
#include "planner/pipeline/device.h"

/* For rows that nothing else keeps to, and for what is there already but not proved. */
#define ILP_SECONDS 20
#define ILP_SECONDS_MORE 2

/* The plan of least bottleneck, or of the least estimate of the whole pipeline, as an integer linear program
 * (algorithms.md 1.4 to 1.6): layers of each body, kind of recomputing and stage; bodies in order; memory at
 * every moment that can be the peak; the rows of the user. The bounds of the order are the counts themselves.
 *
 * out: a plan that was weighed again and keeps to memory and rows. *out_proof: whether the solver proved it,
 * or stopped at a limit, and its bound. SB_EINFEASIBLE: proved; SB_ECONFLICT: no solver; SB_ELIMIT: too
 * large, or nothing was found within the limits; SB_EIO when the solver failed; SB_ENOMEM. */
int ilp_solve(const struct pipeline_problem *p, const struct device *devices, bool whole, double lower_bound,
              double seconds, struct pipeline_stage *out, struct pipeline_proof *out_proof,
              struct sb_error *err);
#endif
