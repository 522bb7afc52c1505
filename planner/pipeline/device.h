#ifndef SB_PLANNER_PIPELINE_DEVICE_H
#define SB_PLANNER_PIPELINE_DEVICE_H
#include "planner/pipeline/pipeline.h"

/* What one device can hold, apart from all others; with two directions, what the two devices can that share
 * their stages. */

struct device {
	int64_t chunks;
	int64_t stage[SCHEDULE_CHUNKS_MAX];
	double end_forward[SCHEDULE_CHUNKS_MAX], end_backward[SCHEDULE_CHUNKS_MAX]; /* of head and tail */
	/* Layers of a chunk: 0 or 1 at least; with one body, also as the user's rows say of a stage alone. */
	int64_t least[SCHEDULE_CHUNKS_MAX], most[SCHEDULE_CHUNKS_MAX];
	double room;             /* bytes for the layers: the bound without what is there anyway */
	double units;            /* in flight for one micro-batch: slices */
	struct in_flight *peaks; /* vectors that can be the peak */
	size_t peak_count;
};

/* The devices that a plan is made for: as many as there are, or half of them with two directions. */
int64_t device_count(const struct pipeline_problem *p);
/* Describes device d. *out is to be freed by device_free(). SB_ELIMIT, SB_ENOMEM. */
int device_open(const struct pipeline_problem *p, const struct schedule_program *program, int64_t d,
                struct device *out);
void device_free(struct device *d);
/* All of them. *out is to be freed by devices_free(). Errors are told. */
int devices_open(const struct pipeline_problem *p, struct device **out, struct sb_error *err);
void devices_free(struct device *list, int64_t count);
/* Do its chunks fit in memory with these activations of one micro-batch, one a chunk? */
bool device_fits(const struct device *d, const double *activation, double parameters);
/* How much of one micro-batch's activation fits beside parameters, with one chunk; rounding is allowed for.
 */
double device_room(const struct device *d, double parameters);
/* What is the least of all layers. */
struct lightest {
	double activation, parameters; /* of one layer */
};
struct lightest device_lightest(const struct pipeline_problem *p);
/* The most layers that fit its memory when each is as light as the lightest of all can be; exact for one
 * body. -1: not even the least that each chunk must hold. */
int64_t device_capacity(const struct pipeline_problem *p, const struct device *d);
#endif
