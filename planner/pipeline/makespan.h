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

/* How hard it looks. Work is counted in operations simulated and prices of stages: about 2 ns each. */
struct pipeline_effort {
	int turns;        /* of the game */
	int kept;         /* of the best plans met that are improved; at most 4 */
	double near_work; /* for each of them */
	double all_work;  /* for going through what is left, and for a bound that knows of whole layers; 0 =
	                     neither */
};
/* What the above does; what is enough to tell which of several schedules may be the best, and which is. */
extern const struct pipeline_effort PIPELINE_THOROUGH, PIPELINE_QUICK, PIPELINE_CLOSER;
/* As above. Stops as soon as no plan can take less than `beat`. */
int pipeline_search_makespan(const struct pipeline_problem *p, const struct pipeline_effort *effort,
                             double beat, struct pipeline_stage *out, struct pipeline_proof *out_proof,
                             struct sb_error *err);
#endif
