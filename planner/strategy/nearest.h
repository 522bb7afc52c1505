#ifndef SB_PLANNER_STRATEGY_NEAREST_H
#define SB_PLANNER_STRATEGY_NEAREST_H
#include "planner/strategy/walk.h"

/* The nearest that the groups of a strategy may lie, whatever the order of its ranks: for bounds. Private to
 * the search. */

/* On any of those numbers of devices of each node. A group that does not count is one rank, and costs
 * nothing: where no links are faster than those further out, and, of the experts', without `experts`. */
struct nearest nearest_of(const struct search *x, const struct strategy *s, struct node_range nodes,
                          bool experts);
bool nearest_alike(const struct network *n, const struct nearest *a, const struct nearest *b);
/* The numbers of devices of each node that a strategy's ranks may lie on, or, where all of its groups lie as
 * near on all devices of a node as on any number of them, all. */
struct node_range nearest_range(const struct search *x, const struct strategy *s);
#endif
