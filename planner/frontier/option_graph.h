#ifndef SB_PLANNER_FRONTIER_OPTION_GRAPH_H
#define SB_PLANNER_FRONTIER_OPTION_GRAPH_H
#include <stdbool.h>

#include "base/watch.h"
#include "planner/frontier/pareto.h"

/* A graph whose nodes each take one of their options: an option has a memory and a time, and so has each pair
 * of options on an edge (what it takes to go from one layout to the next). The answer is the Pareto set of
 * the sums, with the options of each point. An edge's direction plays no part. */

#define OPTION_NODES_MAX 4096
#define OPTION_EDGES_MAX 16384
#define OPTIONS_MAX 1024

/* Times may be INFINITY: that option, or that pair, is never taken. Memory is finite, neither is negative. */
struct option_node {
	int64_t options;
	const double *time, *memory; /* memory: NULL = none */
};
struct option_edge {
	int64_t from, to;
	const double *time,
	    *memory; /* [option of from * options of to + option of to]; memory: NULL = none */
};
struct option_graph {
	const struct option_node *nodes;
	const struct option_edge *edges;
	int64_t node_count, edge_count;
	/* Above 0: memory is rounded up to multiples of this, which keeps the sets short. A point then needs
	 * at most its memory, and overstates it by less than this for each node and edge that has any:
	 * within memory x e of n of them, take memory x e / n (search-algorithms.md 2.4). */
	double memory_step;
	const struct sb_watch *watch; /* NULL: nobody waits */
};

struct option_point {
	double memory, time; /* summed again from the options, not rounded */
	uint32_t back;
};
/* The plans that are worth their memory, leanest first, fastest last. */
struct option_front {
	struct option_point *points;
	size_t count;
	struct pareto_arena arena;
	/* All of the Pareto set. Else: some of it (those that a weighted sum finds), or, where a node had to
	 * be settled by guess, plans that may be on none. */
	bool whole;
	int64_t guessed; /* nodes settled by guess */
	bool cut_short;  /* the work was used up before all points that a weighted sum finds were found */
	/* time + weight x memory of any plan is at least value; the proofs of a set that is not whole. */
	struct option_bound {
		double weight, value;
	} * bounds;
	size_t bound_count;
	double work; /* points and cells gone through */
};
void option_front_free(struct option_front *f);
#define OPTION_FRONT_AUTO __attribute__((cleanup(option_front_free))) struct option_front

/* The usual work: some 0.3 s for sets, and 1 s at most for the weighted sums after them. */
#define OPTION_WORK 6e7

/* Eliminates one node after the other, the cheapest first: the set of a node that is eliminated, for each
 * choice of its neighbours, becomes a table over these. One neighbour: the merge and contract of Frontier
 * Tracking, and the chain's dynamic program; two: its node, source, triangle and star eliminations, exact on
 * series-parallel graphs; more are exact too while the table is small enough. Tables between the same nodes
 * are multiplied (edge elimination). Where a table would be too large, the node with most neighbours is
 * settled by guess (the branch elimination without its branches).
 *
 * When that takes more than the allowed work (points and cells gone through), the points that weighted sums
 * find are given instead, each from one elimination without sets, with bounds for what lies between.
 * search-algorithms.md 2.2.
 *
 * SB_EINFEASIBLE: every plan has an infinite time; SB_ELIMIT: even one elimination is too much; SB_ECANCELED
 * once g->watch was told to stop; SB_ENOMEM. */
int option_graph_solve(const struct option_graph *g, double work, struct option_front *out);
/* The options of a point, one a node. SB_ENOMEM. */
int option_front_options(const struct option_front *f, const struct option_graph *g, size_t point,
                         uint16_t *out);
/* The fastest point within the memory; -1 = none. */
int64_t option_front_within(const struct option_front *f, double memory);
/* No plan within the memory is faster than this; INFINITY when there is none. */
double option_front_bound(const struct option_front *f, const struct option_graph *g, double memory);
/* The sums of one plan, added up directly. */
void option_graph_sum(const struct option_graph *g, const uint16_t *options, double *out_memory,
                      double *out_time);
#endif
