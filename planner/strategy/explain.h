#ifndef SB_PLANNER_STRATEGY_EXPLAIN_H
#define SB_PLANNER_STRATEGY_EXPLAIN_H
#include "planner/strategy/cost.h"

/* Where the seconds and the bytes of a strategy go: by stage, and by the groups that communicate. */

/* Equal neighbouring stages. */
struct explained_stages {
	struct stage_run run;
	struct stage_time seconds;  /* of one micro-batch; exchange and optimizer once a step */
	struct memory_parts memory; /* of the first of them, the fullest */
};

enum traffic {
	TRAFFIC_TENSOR,   /* in a grid that of the embedding and the head */
	TRAFFIC_TENSOR_X, /* of a grid alone, as the next */
	TRAFFIC_TENSOR_Y,
	TRAFFIC_CONTEXT,
	TRAFFIC_EXPERT,
	TRAFFIC_PIPELINE,
	TRAFFIC_GRADIENTS, /* and the weights of sharded optimizers */
	TRAFFIC_HOST,      /* what waits in host memory, both ways */
	TRAFFICS
};
/* What a device of the busiest stage sends over its links in one step, cost-model section 8. */
struct explained_traffic {
	int64_t ranks,
	    ranks_inside; /* of the group; how many of them share the innermost links where they lie worst */
	double bytes;
	double seconds; /* of the links, hidden or not; with the host both directions run at once */
	double exposed; /* of the step's, what waits for it, slow-down of compute included; NaN: known of all
	                   tensor ranks alone, where they are a grid */
};

struct explanation {
	struct explained_stages *stages; /* owned; in the order of the pipeline */
	int64_t stage_count;
	struct explained_traffic traffic[TRAFFICS];
};
/* Explains a fitting strategy, c: what strategy_cost() says of it. *out is to be freed by explanation_free().
 * SB_ENOMEM. */
int strategy_explain(const struct cost_problem *p, const struct strategy *s, const struct strategy_cost *c,
                     struct explanation *out, struct sb_error *err);
void explanation_free(struct explanation *e);
#define EXPLANATION_AUTO __attribute__((cleanup(explanation_free))) struct explanation
#endif
