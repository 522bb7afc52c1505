#ifndef SB_PLANNER_STRATEGY_STAGES_H
#define SB_PLANNER_STRATEGY_STAGES_H
#include "planner/strategy/cost.h"

/* The cost of a pipeline whose stages have degrees, micro-batches and shares on the host of their own, by the
 * same model as strategy_cost(): each stage is costed as one of a pipeline of its like, then their schedule
 * is simulated. Where all stages are alike, both say the same. */

struct stages_cost {
	double step_seconds;
	int64_t fullest_stage;
	bool simulated; /* exactly; else the steady state was extrapolated */
};
/* strategy, run: [pp], each with the same pp and number of micro-batches, vpp 1, and a run of one stage.
 * out_memory: [pp]. SB_ENOMEM. */
int stages_cost(const struct cost_problem *p, const struct strategy *strategy, const struct stage_run *run,
                struct memory_parts *out_memory, struct stages_cost *out, struct sb_error *err);
#endif
