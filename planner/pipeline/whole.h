#ifndef SB_PLANNER_PIPELINE_WHOLE_H
#define SB_PLANNER_PIPELINE_WHOLE_H
#include "planner/pipeline/pipeline.h"

/* SAPP's estimate of the whole pipeline (algorithms.md 1.6, A): the work, what filling and emptying cost, and
 * the bottleneck for all micro-batches but two. With v chunks a device it is divided by max(1, v - 2), so
 * that it is no time: compare plans of one shape by it. With as many micro-batches as devices, and chunks,
 * there is no steady phase: the longest backward of the last chunk, and of the chunks before.
 *
 * Cell (k, s) is stage k * devices + s, in the order of the model. */

/* SB_ENOMEM. */
int pipeline_whole(const struct pipeline_problem *p, const struct pipeline_stage *plan, double *out);
/* The same from the times of each stage with its end. */
double whole_value(const struct pipeline_problem *p, const struct pipeline_load *load);
/* No plan goes below, whose bottleneck is at least this: each layer in its fastest way, and no waiting. */
double whole_lower_bound(const struct pipeline_problem *p, double bottleneck);
/* The plan of the least estimate that a search by small steps finds, from the least bottleneck on; by an ILP
 * where the problem has a solver. As pipeline_least_bottleneck(). */
int pipeline_least_whole(const struct pipeline_problem *p, struct pipeline_stage *out,
                         struct pipeline_proof *out_proof, struct sb_error *err);

/* Its parts. Is it the second form? */
bool whole_is_short(const struct schedule_shape *s);
/* phi of place `at` in the last chunk: of the second form. */
double whole_phase(const struct schedule_shape *s, int64_t at);
/* The weight of the work of a chunk but the last. */
double whole_share(const struct schedule_shape *s, int64_t chunk);
double whole_divisor(const struct schedule_shape *s);
#endif
