#ifndef SB_PLANNER_STRATEGY_LAYOUT_H
#define SB_PLANNER_STRATEGY_LAYOUT_H
#include "planner/cost/compute.h"

/* The orders in which a strategy's ranks may be numbered. */

#define ORDERS_MAX 24 /* of four dimensions */

struct rank_order {
	enum dimension at[DIMS]; /* innermost first */
	struct groups groups;
};
/* How many orders the strategy's degrees have: every permutation of those above 1, those of equal cost
 * counted one by one. */
int order_count(const struct strategy *s);
/* Writes the groups of each of those orders, those of equal groups (and so of equal cost) once, the usual
 * order (tp, cp, dp, pp) first, those in which the expert ranks do not line up with the pipeline left out.
 * *out_examined: ranks gone through for all orders, those left out too. Returns the number of those written,
 * at most ORDERS_MAX. */
int rank_orders(const struct network *n, const struct strategy *s, struct rank_order *out,
                int64_t *out_examined);
#endif
