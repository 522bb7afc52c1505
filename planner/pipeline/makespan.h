#ifndef SB_PLANNER_PIPELINE_MAKESPAN_H
#define SB_PLANNER_PIPELINE_MAKESPAN_H
#include "planner/pipeline/pipeline.h"

/* The plan of least simulated time within memory at exact peaks: cut and recomputing, for the schedule of the
 * problem.
 *
 * Every simulation names the path that its end waited for, and along that path no plan is quicker than its
 * own price (draft.h). So the search is a game: the cheapest cut by a mean of paths is found at once for all
 * cuts (relax.h), its simulation adds a path, and so on; the price is a bound from below all the way. The
 * best plans so met are then improved layer by layer. At the end whatever the bound does not rule out is gone
 * through, as far as that is not too much: `optimal` when it was. Deterministic; no clock.
 *
 * out: a plan. SB_EINFEASIBLE with the reason; SB_EIMPOSSIBLE for a problem that cannot be; SB_ELIMIT past
 * SCHEDULE_CHUNKS_MAX chunks; SB_ENOMEM. */
int pipeline_least_makespan(const struct pipeline_problem *p, struct pipeline_stage *out,
                            struct pipeline_proof *out_proof, struct sb_error *err);
#endif
