#ifndef SB_PLANNER_PIPELINE_COUNTS_H
#define SB_PLANNER_PIPELINE_COUNTS_H
#include "planner/pipeline/table.h"

/* How many layers of each body each device takes, so that all are taken. */
struct counts {
	int64_t bodies, devices;
	int64_t all[TABLE_BODIES_MAX];
	int64_t main;  /* the body with most layers */
	size_t states; /* counts of all bodies but the main one */
	size_t all_states;
	int64_t *reach, *next_reach; /* [state]: the most of the main body beside */
	double *cost, *next_cost;    /* [all states] */
	uint32_t *from;              /* [device * all states + state] */
	struct count_option *options;
	size_t option_count;
	double work; /* options weighed so far */
};
/* Options weighed in all: some tenths of a second. */
#define COUNTS_WORK_MAX 2e8

/* *out is to be freed by counts_free(). SB_ELIMIT: too many states; SB_ENOMEM. */
int counts_open(const struct table_problem *tp, int64_t devices, struct counts *out);
void counts_free(struct counts *c);
/* Can the devices hold all layers within a bottleneck? tables: one a device. SB_ELIMIT: work is at its most;
 * SB_ENOMEM. */
int counts_within(struct counts *c, struct table *const *tables, double bottleneck, bool *out);
/* The counts of least extra in all: the index into each device's table. *out_extra: INFINITY = there are
 * none. As above. */
int counts_least_extra(struct counts *c, struct table *const *tables, size_t *out, double *out_extra);
#endif
