#ifndef SB_PLANNER_PIPELINE_DEVICE_H
#define SB_PLANNER_PIPELINE_DEVICE_H
#include "planner/pipeline/mix.h"

/* What one device can hold, apart from all others; with two directions, what the two devices can that share
 * their stages. */

struct device {
	int64_t chunks;
	int64_t stage[SCHEDULE_CHUNKS_MAX];
	double end_forward[SCHEDULE_CHUNKS_MAX], end_backward[SCHEDULE_CHUNKS_MAX]; /* of head and tail */
	int64_t least[SCHEDULE_CHUNKS_MAX]; /* layers of a chunk: 0 or 1 */
	double room;                        /* bytes for the layers: the bound without what is there anyway */
	struct in_flight *peaks;            /* vectors that can be the peak */
	size_t peak_count;
};

/* How to hold some number of layers. */
struct device_option {
	double bottleneck; /* the least there is; INFINITY = it cannot */
	double extra;      /* recomputing, within a given bottleneck; INFINITY = it cannot */
	int32_t layers[SCHEDULE_CHUNKS_MAX];
	const struct mix *mix[SCHEDULE_CHUNKS_MAX]; /* of the least extra time; borrowed */
};

/* The devices that a plan is made for: as many as there are, or half of them with two directions. */
int64_t device_count(const struct pipeline_problem *p);
/* Describes device d. *out is to be freed by device_free(). SB_ELIMIT, SB_ENOMEM. */
int device_open(const struct pipeline_problem *p, const struct schedule_program *program, int64_t d,
                struct device *out);
void device_free(struct device *d);
/* The most layers of the body that fit its memory when all keep as little as can be. -1: not even the least
 * that each chunk must hold. */
int64_t device_capacity(const struct pipeline_problem *p, const struct device *d, const struct mixes *m);
/* For each number of layers up to all of the body: the least bottleneck, where it is at most `bound`; out[n].
 * A chunk holds at most m->most. */
void device_bottlenecks(const struct pipeline_problem *p, const struct device *d, const struct mixes *m,
                        double bound, struct device_option *out);
/* For each number of layers: the mixes that recompute least within the bottleneck; out[n]. As above. */
void device_extras(const struct pipeline_problem *p, const struct device *d, const struct mixes *m,
                   double bottleneck, struct device_option *out);
#endif
