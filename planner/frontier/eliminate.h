#ifndef SB_PLANNER_FRONTIER_ELIMINATE_H
#define SB_PLANNER_FRONTIER_ELIMINATE_H
#include "planner/frontier/option_graph.h"

/* How much one elimination may take. */
#define ELIMINATE_NEIGHBOURS_MAX 6
#define ELIMINATE_CELLS_MAX ((size_t)1 << 17)

/* Eliminates all nodes. *out is the Pareto set that is left (none when all times are infinite), its steps are
 * in the arena of the work. SB_ENOMEM; SB_ELIMIT when the work is used up. */
int eliminate(const struct option_graph *g, struct pareto_work *work, struct pareto_set *out,
              int64_t *out_guessed);
/* Memory as the graph counts it: rounded up. */
double option_memory(const struct option_graph *g, const double *memory, size_t i);
#endif
