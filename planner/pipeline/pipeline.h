#ifndef SB_PLANNER_PIPELINE_PIPELINE_H
#define SB_PLANNER_PIPELINE_PIPELINE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "planner/schedule/schedule.h"

/* The problem of all pipeline planners: layers to be cut into the stages of a schedule, and what each of them
 * computes again in backward, under the memory of each device. Times in seconds, or in any one unit. */

/* What a layer computes again, from nothing to all of it (BMPipe; algorithms.md 1.2). */
enum pipeline_recompute {
	KEEP_ALL,
	REDO_SELECT, /* chosen operators */
	REDO_COMM,   /* the outputs of communication */
	REDO_BOTH,   /* the two above */
	REDO_FULL,   /* the whole layer */
	PIPELINE_RECOMPUTES
};

/* Identical layers. */
struct pipeline_body {
	int64_t count;
	double forward;
	double backward[PIPELINE_RECOMPUTES];   /* recomputing included; NaN = not offered */
	double activation[PIPELINE_RECOMPUTES]; /* bytes of one micro-batch; NaN = not offered */
	double parameters;                      /* bytes: weights, gradients and optimizer */
};

/* What stands before the first layer, or behind the last; its activations are not counted. */
struct pipeline_end {
	double forward, backward, parameters;
};

struct pipeline_problem {
	struct schedule_shape shape;
	struct pipeline_body body;
	struct pipeline_end head, tail;
	const double *memory; /* bytes of each device; INFINITY = no bound */
	double constant;      /* bytes that each device needs besides */
	bool allow_empty;     /* stages without layers */
};

/* Layers of one stage by what they recompute. */
struct pipeline_stage {
	int64_t layers[PIPELINE_RECOMPUTES];
};

/* Forward and backward of a stage with its end, and its activation of one micro-batch. */
struct pipeline_load {
	double forward, backward, activation, parameters;
};
struct pipeline_load pipeline_load(const struct pipeline_problem *p, int64_t stage,
                                   const struct pipeline_stage *s);
/* The bottleneck of a plan, T = max over devices of (max over its chunks of F + max of B): the time of one
 * pair of the steady phase (SAPP's objective B; algorithms.md 1.6). stages: one a stage of the schedule. */
double pipeline_bottleneck(const struct pipeline_problem *p, const struct pipeline_stage *stages);
/* Exact peak of each device in out, by the order of the schedule. SB_EIMPOSSIBLE for a schedule that cannot
 * be; SB_ENOMEM. */
int pipeline_peaks(const struct pipeline_problem *p, const struct pipeline_stage *stages, double *out,
                   struct sb_error *err);

/* The plan of least bottleneck, and of those one that recomputes least. Exact: given a bound, every device
 * alone says how many layers it can hold within it and within its memory at the exact peak, and only their
 * number ties the devices together (algorithms.md 1.8). out: one a stage of the schedule. SB_EINFEASIBLE with
 * the reason; SB_EIMPOSSIBLE for a problem that cannot be; SB_ELIMIT past SCHEDULE_CHUNKS_MAX chunks;
 * SB_ENOMEM. */
int pipeline_least_bottleneck(const struct pipeline_problem *p, struct pipeline_stage *out,
                              double *out_bottleneck, struct sb_error *err);
#endif
