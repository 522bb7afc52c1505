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

/* The fewest devices of each node that the strategy's ranks find room on. */
int64_t least_node_devices(const struct cluster *c, const struct strategy *s);
/* How many placements the strategy's degrees have: every permutation of those above 1, on every number of
 * devices of each node from the fewest to all (or as many as there are ranks), those of equal cost counted
 * one by one. */
int64_t placement_count(const struct cluster *c, const struct strategy *s);
/* Adds each of those placements, those of equal groups (and so of equal cost, but for offload) once, those in
 * which the expert ranks do not line up with the pipeline left out; the usual order (tp, cp, dp, pp) first,
 * and first on all devices of a node, or, with fewest_first, on the fewest, which share a host. Returns how
 * many ranks it went through, those of placements left out too, or -1 for want of memory. */
int64_t add_placements(const struct network *n, const struct cluster *c, const struct strategy *s,
                       bool fewest_first, struct placements *io);
#endif
