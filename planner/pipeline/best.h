#ifndef SB_PLANNER_PIPELINE_BEST_H
#define SB_PLANNER_PIPELINE_BEST_H
#include "planner/pipeline/pipeline.h"

/* The best of all schedules, chunks and methods for one problem, by the simulated time within memory.
 *
 * A schedule is tried when the sizes fit it (schedule_check()), and when it asks for nothing that the problem
 * does not tell: those that split the backward only if all layers say how long the gradient of the weights
 * takes, those of slices only if the problem has some (its shape's slices, more than 1), early recomputing
 * only if there is something to recompute. Chunks go up as long as there is a layer for each and the time
 * falls. Each is planned by its least makespan (makespan.h), first quickly; only what may still be the best
 * is looked at thoroughly. On the schedule that wins the other methods have their say as well. Of equal times
 * the simpler schedule wins, then the one of fewer chunks. */

struct pipeline_best_options {
	unsigned kinds; /* of schedules that are tried: 1 << enum schedule_kind; 0 = all that are worth it */
	int64_t chunks; /* of a device, where the schedule leaves them open; 0 = all that are worth it */
};

/* One schedule by one method. */
struct pipeline_try {
	struct schedule_shape shape;
	const char *method; /* static */
	int rc;             /* SB_OK; SB_EINFEASIBLE or SB_EIMPOSSIBLE: there is no plan, as `why` says */
	struct sb_error why;
	struct pipeline_stage *plan;
	struct pipeline_proof proof;
	struct pipeline_score score;
	double loses_by; /* a share of the best's time; 0 for the best */
};

struct pipeline_best {
	struct pipeline_try *tries; /* the `planned` ones by rising time; then the others */
	size_t count, planned;
	/* No plan of the schedules tried is quicker. */
	double lower_bound;
};

/* The shape's kind and chunks do not count. *out is to be freed by pipeline_best_free(). When there is no
 * plan at all: SB_EINFEASIBLE or SB_EIMPOSSIBLE, with the reason of the simplest schedule. SB_ENOMEM. */
int pipeline_best(const struct pipeline_problem *p, const struct pipeline_best_options *options,
                  struct pipeline_best *out, struct sb_error *err);
void pipeline_best_free(struct pipeline_best *b);
#define PIPELINE_BEST_AUTO __attribute__((cleanup(pipeline_best_free))) struct pipeline_best
#endif
