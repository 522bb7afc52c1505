#ifndef SB_API_PLANS_GANTT_PICTURE_H
#define SB_API_PLANS_GANTT_PICTURE_H
#include "api/plans/gantt.h"

/* Inside gantt*.c only: a schedule that is drawn. */

/* What is worked on: the whole schedule simulated, and the part in view. */
struct gantt_picture {
	const struct gantt *g;
	const struct schedule_program *p;
	double makespan;
	double *start, *end, *busy, *peak; /* of each device */
	double *op_start;
	double from, to;
	int64_t first, last;  /* devices */
	size_t *begin, *stop; /* operations in view of each of these devices */
	bool truncated;
	/* The device that is written. works: its first operation in view of each kind of work; work_of: the
	 * number of a kind + 1 by kind, chunk and slice, 0 = none in view. */
	int64_t device;
	size_t *works, work_count;
	uint32_t *work_of;
	size_t keys;
};
/* Simulates the schedule and chooses what of it is in view. *out is to be cleared, also after a failure.
 * SB_EINVAL with the parameter as field; as schedule_simulate(). */
int gantt_picture_open(const struct gantt *g, const struct plan_view *view, struct gantt_picture *out,
                       struct sb_error *err);
void gantt_picture_clear(struct gantt_picture *v);
#define GANTT_PICTURE_AUTO __attribute__((cleanup(gantt_picture_clear))) struct gantt_picture
#endif
