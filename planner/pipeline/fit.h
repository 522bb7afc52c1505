#ifndef SB_PLANNER_PIPELINE_FIT_H
#define SB_PLANNER_PIPELINE_FIT_H
#include "planner/pipeline/pipeline.h"

/* Plans of cuts that are given: each device recomputes only what makes it fit. */
struct fitter;
/* *out is to be freed by fitter_free(); it borrows the problem. SB_EIMPOSSIBLE for a schedule that cannot be;
 * SB_ELIMIT past SCHEDULE_CHUNKS_MAX chunks; SB_ENOMEM. */
int fitter_open(const struct pipeline_problem *p, struct fitter **out, struct sb_error *err);
void fitter_free(struct fitter **f);
#define FITTER_AUTO __attribute__((cleanup(fitter_free))) struct fitter *
/* layers: of each stage of the schedule, all layers in all. out: the plan; *out_device: -1, or a device that
 * does not fit however much it recomputes. With one stage a device the least recomputing there is; else the
 * stages take turns by the bytes that they free at the peak for a unit of time. SB_ENOMEM. */
int fitter_plan(struct fitter *f, const int64_t *layers, struct pipeline_stage *out, int64_t *out_device);
#endif
