#ifndef SB_PLANNER_SCHEDULE_H
#define SB_PLANNER_SCHEDULE_H
#include <stdint.h>

#include "base/err.h"

/* Event simulation of pipeline schedules: each device runs its operations in the schedule's order, each as
 * soon as the device is free and its input is there. Exact for any stage times. */

enum schedule_kind { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED };

struct schedule_problem {
	enum schedule_kind kind;
	int64_t stages, micro_batches, chunks; /* chunks: 1 unless interleaved */
	/* Seconds (or any unit) of one micro-batch, [stage * chunks + chunk]. */
	const double *forward, *backward;
	double send_seconds; /* between different stages; occupies no device */
};

struct schedule_result {
	double makespan;
	double *stage_end;   /* when each stage has finished; caller's array of `stages`, may be NULL */
	int64_t *peak_units; /* most forward chunks alive on a stage; caller's array, may be NULL */
};

/* How many operations the simulation would run, SB_ELIMIT's measure. */
double schedule_operations(const struct schedule_problem *p);
/* SB_EINVAL for sizes below 1 or chunks with a schedule that has none; SB_ELIMIT above 2^26 operations;
 * SB_EIMPOSSIBLE when the order deadlocks; SB_ENOMEM. */
int schedule_simulate(const struct schedule_problem *p, struct schedule_result *out, struct sb_error *err);
#endif
