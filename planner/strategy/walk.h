#ifndef SB_PLANNER_STRATEGY_WALK_H
#define SB_PLANNER_STRATEGY_WALK_H
#include "planner/strategy/keep.h"
#include "planner/strategy/space.h"

/* The walk through the whole space of strategies. Private to the search. */

/* One way to cut the layers into stages, with its runs. */
struct cut {
	int64_t vpp, last_fewer;
	int64_t first_run, runs;
};
struct pipeline {
	int64_t pp;
	int first_cut, cuts;
};

struct search {
	const struct search_request *r;
	struct search_result *out;
	struct keep *keep;
	struct pipeline *pipelines;
	int pipeline_count;
	struct cut *cuts;
	int cut_count;
	struct stage_run *runs;
	int64_t run_count, run_room;
	struct values batch; /* divisors of the global batch */
	/* Costs of one micro-batch by batch index, sequence parallelism, recomputation; for the current tp,
	 * cp, ep, etp. */
	struct layer_costs *memo;
	double *work;     /* whole pipeline's seconds a micro-batch, NaN = not computed yet */
	bool memory_only; /* stop at the first strategy that fits */
	bool any_fits;
	int64_t effort; /* steps of the walk so far: runs of stages weighed, and what is cut off in one go as
	                   one */
};

/* Lists the cuts and batch sizes. SB_ENOMEM. */
int search_prepare(struct search *x, struct sb_error *err);
/* Has the walk taken more steps than the request allows? */
bool search_exhausted(const struct search *x);
/* Weighs every strategy; what is worth keeping is in x->keep. False when it gave up after SEARCH_EFFORT
 * steps. */
bool search_walk(struct search *x);
void search_free(struct search *x);
#define SEARCH_AUTO __attribute__((cleanup(search_free))) struct search
#endif
