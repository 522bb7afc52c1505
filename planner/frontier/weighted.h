#ifndef SB_PLANNER_FRONTIER_WEIGHTED_H
#define SB_PLANNER_FRONTIER_WEIGHTED_H
#include "planner/frontier/option_graph.h"

/* The plan of the least weighted sum of memory and time: an elimination whose tables hold one point a cell,
 * so that it needs neither sets nor their steps. Where a table would have more than so many cells, the node
 * with most neighbours is settled by guess. */
struct weighted_sum {
	double memory, time; /* the weights; ties by the lighter, then the faster plan */
	double cells_most;   /* ELIMINATE_CELLS_MAX, or less for less work */
};
struct weighted_plan {
	double memory, time; /* memory as the graph counts it: rounded up; time INFINITY: there is none */
	int64_t guessed;     /* nodes settled by guess; 0: no plan is better */
};
/* options: [nodes], of the plan. SB_ENOMEM; as pareto_spend() (the arena of the work is not used). */
int weighted_least(const struct option_graph *g, const struct weighted_sum *sum, struct pareto_work *work,
                   uint16_t *options, struct weighted_plan *out);
/* The work that weighted_least() takes, found without doing it; INFINITY: more memory than it may have.
 * SB_ENOMEM; SB_ECANCELED. */
int weighted_work(const struct option_graph *g, double cells_most, double *out);
#endif
