#ifndef SB_PLANNER_STRATEGY_LAYOUT_H
#define SB_PLANNER_STRATEGY_LAYOUT_H
#include <stddef.h>

#include "planner/cost/compute.h"

/* How a strategy's ranks may lie on the nodes: the order in which they are numbered, and on how many devices
 * of each node they are. */

struct placement {
	enum dimension order[DIMS]; /* innermost first */
	int64_t node_devices;       /* 0: all */
	struct groups groups;
};
struct placements {
	struct placement *at; /* owned */
	size_t count, room;
	bool left_out; /* there are more */
};
#define PLACEMENTS_MAX 8192

/* Of how many devices of each node a strategy's ranks may lie: from the fewest that they find room on to all
 * of them, or as many as there are ranks. */
struct node_range {
	int64_t least, most;
};
struct node_range node_range_of(const struct cluster *c, const struct strategy *s);
/* How many orders the strategy's degrees have: every permutation of those above 1, those of equal cost
 * counted one by one. */
int64_t order_count(const struct strategy *s);
/* Do two groups lie alike, so that they communicate in the same time? */
bool group_alike(const struct network *n, const struct group *a, const struct group *b);
/* Adds every order of the ranks on s->node_devices: those of equal groups (and so of equal cost) as one from
 * `first` on left out, and those in which the expert ranks do not line up with the pipeline; the usual order
 * (tp, cp, dp, pp) first. Returns how many ranks it went through, those of placements left out too, or -1 for
 * want of memory. */
int64_t add_placements(const struct network *n, const struct strategy *s, size_t first,
                       struct placements *io);
#endif
