#ifndef SB_PLANNER_STRATEGY_FRONT_H
#define SB_PLANNER_STRATEGY_FRONT_H
#include "planner/strategy/walk.h"

/* The frontier of a search that has settled. Private to the search. */

/* Fastest first, of equally fast ones the leanest. */
void sort_choices(struct choice *list, int count);
/* Leaves the points that no other one dominates and that are within SEARCH_SLACK of the fastest, in that
 * order. Returns how many. */
int undominated(struct choice *list, int count);
/* Of more points than are wanted, in that order, those are left out that a faster one covers with the least
 * more memory: at most a (wanted - 1)th of what lies between the first and the last, which stay. Returns how
 * many are left. */
int thin_choices(struct choice *list, int count, int wanted);
/* Writes x->out->frontier from what was kept, and the best as lean as it may be. SB_ENOMEM. */
int search_frontier(struct search *x, struct sb_error *err);
#endif
