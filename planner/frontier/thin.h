#ifndef SB_PLANNER_FRONTIER_THIN_H
#define SB_PLANNER_FRONTIER_THIN_H
#include "planner/frontier/option_graph.h"

/* A graph without the options that are never needed: where another option of the same node is no slower and
 * needs no more memory whatever the neighbours choose, each plan with the one is no better than the plan with
 * the other in its stead. The Pareto set stays whole (of equal plans one stays). */
struct thin_graph {
	struct option_graph graph;
	struct option_node *nodes;
	struct option_edge *edges;
	uint16_t **left; /* [nodes]: the options that are left, by their numbers in the whole graph; NULL: it
	                    is that */
	double *values;  /* of nodes and edges */
};
/* Drops as much as so much work finds (pairs of options that are looked at): out->graph, which borrows from g
 * where its copy would be too large. SB_ENOMEM; thin_free() in any case. */
int thin_graph(const struct option_graph *g, double work, struct thin_graph *out);
void thin_free(struct thin_graph *t);
#endif
