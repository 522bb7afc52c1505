#ifndef SB_API_PLANS_GANTT_H
#define SB_API_PLANS_GANTT_H
#include "api/plans/plans.h"
#include "planner/schedule/schedule.h"

/* A schedule with its times and its memory, as GET /v1/plans/{id}/schedule answers it. Any kind of plan that
 * has a program and times can be drawn by this. */
struct gantt {
	const struct schedule_program *program;
	const struct schedule_times *times;
	/* Bytes of one slice's activation, [stage]; NULL = memory counts units in flight. */
	const double *activation;
	/* Bytes that a device holds all the time (parameters, ...), and those that it has, [device]; each may
	 * be NULL: none, and not known. INFINITY = no bound. */
	const double *fixed, *cap;
	/* Of the backward (of its input's part, where it is split) how much is computing forward again,
	 * [stage * slices + slice]; NULL = not known. */
	const double *recompute;
	/* When each operation starts, where something else than the simulation says it; else NULL. */
	const double *op_start;
	/* GPipe with micro-batches of unequal sizes: the program is terapipe's, with one of them a slice. */
	bool unequal;
};

/* Operations of one answer. About 14 bytes each, 20 with long times. */
#define GANTT_OPERATIONS_MAX 200000
#define GANTT_DEVICES_MAX 1024
/* Points of a device's memory in one answer. */
#define GANTT_LEVELS_MAX 256

/* Simulates the schedule and writes the part of it that is in view. A view with more operations than the
 * bound ends earlier, and the answer says so. SB_EINVAL with the parameter as field for a view that cannot
 * be; as schedule_simulate(). */
int gantt_write(const struct gantt *g, const struct plan_view *view, struct sb_buf *out,
                struct sb_error *err);
#endif
