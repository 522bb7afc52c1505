#ifndef SB_PLANNER_PIPELINE_BOTTLENECK_H
#define SB_PLANNER_PIPELINE_BOTTLENECK_H
#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"

/* What the searches of one problem share. */
struct pipeline_search {
	const struct pipeline_problem *p;
	struct device *devices;
	struct cells *cells;
};
/* *out is to be freed by pipeline_search_free(). SB_EIMPOSSIBLE, SB_ELIMIT, SB_ENOMEM; all are told. */
int pipeline_search_open(const struct pipeline_problem *p, struct pipeline_search *out, struct sb_error *err);
void pipeline_search_free(struct pipeline_search *s);
#define PIPELINE_SEARCH_AUTO __attribute__((cleanup(pipeline_search_free))) struct pipeline_search
/* As pipeline_least_bottleneck(). */
int pipeline_search_bottleneck(struct pipeline_search *s, struct pipeline_stage *out,
                               struct pipeline_proof *proof, struct sb_error *err);
/* Asks the ILP, if the problem has a solver, for the best plan and its proof, for a short time. Nothing is
 * lost when it has none. SB_ENOMEM. */
int ilp_better(struct pipeline_search *s, bool whole, struct pipeline_stage *out,
               struct pipeline_proof *proof, struct sb_error *err);
/* Tells why a search ended; returns rc. */
int pipeline_search_fail(int rc, bool proved, struct sb_error *err);
#endif
