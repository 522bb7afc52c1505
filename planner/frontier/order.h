#ifndef SB_PLANNER_FRONTIER_ORDER_H
#define SB_PLANNER_FRONTIER_ORDER_H
#include <stdint.h>

/* Which node is eliminated next: the one of least cost, of equal ones the first, in a tournament whose every
 * match is played again only where a cost changed. */
struct order {
	double *cost; /* of each node; NaN = it is gone */
	int64_t *neighbours;
	uint16_t *winner; /* winner[1] is the first of all; the leaves are not kept */
	int64_t nodes, size, left;
};
/* All nodes in, of cost 0. SB_ENOMEM; order_free() in any case. */
int order_open(struct order *o, int64_t nodes);
void order_free(struct order *o);
void order_set(struct order *o, int64_t node, double cost, int64_t neighbours);
void order_remove(struct order *o, int64_t node);
int64_t order_first(const struct order *o);
double order_cost(const struct order *o, int64_t node);
/* The node with most neighbours. */
int64_t order_busiest(const struct order *o);
#endif
