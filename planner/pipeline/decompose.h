#ifndef SB_PLANNER_PIPELINE_DECOMPOSE_H
#define SB_PLANNER_PIPELINE_DECOMPOSE_H
#include "planner/pipeline/pipeline.h"

/* What one layer takes of the memory, from the peaks of dry runs (SAPP's "decomposition", algorithms.md 1.3).
 */

/* What one device held in a run, and its peak. */
struct dry_run {
	int64_t device;
	int64_t layers[SCHEDULE_CHUNKS_MAX][PIPELINE_RECOMPUTES]; /* of each chunk, by what they recompute */
	double peak;
};
/* Bytes that every device needs besides: fitted too, left out (they are part of the other figures then), or
 * fitted where there are more runs of middle devices than other unknowns. */
enum fit_constant { CONSTANT_FITTED, CONSTANT_LEFT_OUT, CONSTANT_WHERE_RUNS_ALLOW };

struct layer_memory {
	double constant;                        /* NaN = left out */
	double parameters;                      /* of one layer */
	double activation[PIPELINE_RECOMPUTES]; /* of one layer and micro-batch; NaN = in no run */
	double head, tail;                      /* NaN = no run of their device, or both on one */
	double ends;        /* head and tail together, where one device holds both; NaN = none does */
	size_t equations;   /* runs of middle devices */
	size_t unknowns;    /* fitted from them */
	bool settled;       /* the moments of the peaks that were fitted are those that follow */
	bool closest;       /* proved: no other figures have a smaller sum of squares */
	double worst_share; /* the largest difference to a peak, as a share of it */
};

/* Solves M = constant + layers * parameters + sum over chunks of (units in flight * activation of the chunk's
 * layers) for the devices that hold neither head nor tail: exactly when there are as many runs as unknowns,
 * by least squares when there are more. Head and tail are what the devices of the ends have beyond that, the
 * mean of their runs. Units in flight are exact for any schedule; where several moments can be the peak
 * (several chunks), they are chosen again with the figures found until they stay. A figure below 0 is taken
 * as it is. predicted: the peak of each run by the figures, NaN where its end is not known.
 * SB_EIMPOSSIBLE, with err->field ("" or "INDEX" or "INDEX/stage") and the reason, for too few runs, and for
 * those that do not tell the figures apart; SB_ELIMIT past SCHEDULE_CHUNKS_MAX chunks; SB_ENOMEM. */
int layer_memory_decompose(const struct schedule_shape *shape, const struct dry_run *runs, size_t count,
                           enum fit_constant constant, struct layer_memory *out, double *predicted,
                           struct sb_error *err);
#endif
