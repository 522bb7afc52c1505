#ifndef SB_PLANNER_STRATEGY_FRONT_H
#define SB_PLANNER_STRATEGY_FRONT_H
#include "planner/strategy/walk.h"

/* The frontier of a search that has settled. Private to the search. */

/* Fastest first, of equally fast ones the leanest. */
void sort_choices(struct choice *list, int count);
/* Writes x->out->frontier from what was kept, and the best as lean as it may be. SB_ENOMEM. */
int search_frontier(struct search *x, struct sb_error *err);
#endif
