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
	enum schedule_kind schedule; /* that it is for, where none is asked for and devices have one chunk */
};
/* NULL-terminated by its name. */
const struct pipeline_method *pipeline_methods(void);
/* The method of a public name; NULL = there is none. name may be NULL. */
const struct pipeline_method *pipeline_method_of(const char *name);

/* Rows of the table whose search is one function; see above. */
#define PIPELINE_PLANNER(name)                                                                               \
	int name(const struct pipeline_problem *p, enum pipeline_objective objective,                        \
	         struct pipeline_stage *out, struct pipeline_proof *out_proof, struct sb_error *err)
/* The least bottleneck, or estimate of the whole pipeline, with recomputing; within the user's rows, by an
 * ILP where nothing else keeps to them: SB_ECONFLICT where that needs a solver and there is none. */
PIPELINE_PLANNER(plan_bmpipe);
/* The cut whose slowest stage or link is the least slow (PipeDream's straight pipeline; algorithms.md 5). */
PIPELINE_PLANNER(plan_pipedream);
/* The least of AdaPipe's estimate of 1F1B (algorithms.md 6). */
PIPELINE_PLANNER(plan_adapipe);
/* A cut of 1F1B near the balanced one, by simulation (AutoPipe; systems.md 3.3). Proves nothing. */
PIPELINE_PLANNER(plan_autopipe);
/* The cuts of AutoPipe, each layer kept whole or recomputed as far as it can be, and of those kept as many as
 * fit their stage (Merak's stage-aware recompute; algorithms.md 7). Its shifted critical path is the schedule
 * 1f1b-early-recompute; with 1f1b it is left out. Its sub-pipelined tensor parallelism is not modelled. */
PIPELINE_PLANNER(plan_merak);
/* The least of Alpa's latency (algorithms.md 8); with GPipe's order that is the time itself. */
PIPELINE_PLANNER(plan_alpa);
/* As many layers in each stage, the first ones one more where they do not come out even; each device
 * recomputes what makes it fit. */
PIPELINE_PLANNER(plan_even);
/* The quickest of 100 random cuts, all alike likely; fewer where one takes long to simulate. The same seed
 * each time. Our own definition: the papers compare with random cuts without saying how they are drawn. */
PIPELINE_PLANNER(plan_random);
#endif
