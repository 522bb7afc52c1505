#ifndef SB_PLANNER_PIPELINE_TABLE_H
#define SB_PLANNER_PIPELINE_TABLE_H
#include "planner/pipeline/holding.h"

/* How many layers of each body one device can hold, when it is known which bodies each of its chunks holds:
 * a box of counts, and what each of them costs at its best. */

#define TABLE_BODIES_MAX 4

/* Bodies that a stage holds: some of the lowest, some of the highest, and all of those between. */
struct span {
	int64_t low, high;
};

struct table {
	int64_t device;
	struct span span[SCHEDULE_CHUNKS_MAX];
	int64_t least[TABLE_BODIES_MAX], most[TABLE_BODIES_MAX]; /* of the counts */
	size_t stride[TABLE_BODIES_MAX], size;
	int64_t need;       /* fewer layers are of no use */
	double *bottleneck; /* [sum of count * stride]; INFINITY = it cannot */
	double *extra;      /* recomputing, within a given bottleneck; INFINITY = it cannot */
};

/* What all tables are of. */
struct table_problem {
	const struct pipeline_problem *p;
	const struct device *devices;
	struct cells *cells;
	struct lightest lightest;
	int64_t first[TABLE_BODIES_MAX + 1]; /* layers of the bodies */
	double least_backward[TABLE_BODIES_MAX];
	double steps, steps_max; /* runs of layers that were tried, and may be */
};

/* The box of a device whose chunks hold these bodies, within a bound of the bottleneck. No arrays yet. */
void table_box(const struct table_problem *tp, double bound, struct table *t);
/* Fills the table's bottlenecks, where they are at most `bound`. SB_ELIMIT: too many steps, or too many
 * counts; SB_ENOMEM. */
int table_bottlenecks(struct table_problem *tp, struct table *t, double bound);
/* Fills its extras within a bottleneck. As above. */
int table_extras(struct table_problem *tp, struct table *t, double bottleneck);
/* The chunks of least extra for one count, given by its index. As above. */
int table_choose(struct table_problem *tp, const struct table *t, double bottleneck, size_t index,
                 struct holding *out);
void table_free(struct table *t);
#endif
