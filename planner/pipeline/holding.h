#ifndef SB_PLANNER_PIPELINE_HOLDING_H
#define SB_PLANNER_PIPELINE_HOLDING_H
#include "planner/pipeline/cells.h"
#include "planner/pipeline/device.h"

/* A run of layers as one chunk of a device. */
struct held {
	int64_t first, count;
	double forward;      /* with its end */
	double end_backward; /* of its end alone */
	double parameters;
	struct cell_ways ways;
	size_t way;
};
struct holding {
	const struct device *device;
	struct held chunk[SCHEDULE_CHUNKS_MAX];
};
/* Makes a run chunk k. SB_ELIMIT, SB_ENOMEM. */
int holding_set(struct holding *h, struct cells *c, int64_t k, int64_t first, int64_t count);
/* The least backward of a chunk; INFINITY where its layers offer no way at all. */
double held_backward(const struct held *x);
/* Do the first `chosen` chunks fit in memory when they keep as little as they can, and the others hold
 * the least that they must, of layers like this? */
bool holding_fits(const struct holding *h, int64_t chosen, struct lightest rest);
/* The least bottleneck of the chunks within memory: what the longest forward and the longest backward take
 * together. INFINITY = above the bound. */
double holding_bottleneck(const struct holding *h, double bound);
/* The ways that recompute least within a bottleneck and within memory: the time beyond the fastest ways, if
 * it is below `best`, and the ways in h; else INFINITY. */
double holding_extra(struct holding *h, double bottleneck, double best);
#endif
