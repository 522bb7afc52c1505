#ifndef SB_PLANNER_STRATEGY_WEIGH_H
#define SB_PLANNER_STRATEGY_WEIGH_H
#include "planner/strategy/walk.h"

/* The weighing of one layout. Private to the search. */

struct weighing {
	struct search *x;
	struct strategy s;
	const struct pipeline *pipeline;
	int all_orders; /* those of equal cost counted one by one */
};

/* How many ZeRO levels, from 0, the strategy's degrees may have: 0 alone where nothing is held twice, neither
 * by replicas nor, of the experts, by tensor ranks. Few stacks run 2 and 3 in a pipeline
 * (torchtitan's FSDP2 does; Megatron-LM, DeepSpeed and MindFormers do not): only where the request names the
 * level. */
int zero_levels(const struct search_request *r, const struct strategy *s);
/* Counts `count` strategies like w->s as left out. */
void reject(struct weighing *w, enum rejection why, int64_t count, double seconds);
/* Gives the strategy the body's shape. */
void shape_of(struct strategy *s, const struct body *b);
const struct stage_run *runs_of(const struct search *x, const struct body *b);
/* Lists the bodies of w->s with m micro-batches that fit in memory: w->x->bodies. quick: seconds below those
 * of any of them. */
void list_bodies(struct weighing *w, int64_t m, double quick);
#endif
