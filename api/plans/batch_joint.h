#ifndef SB_API_PLANS_BATCH_JOINT_H
#define SB_API_PLANS_BATCH_JOINT_H
#include "api/plans/batch_schedule.h"
#include "planner/batch/joint.h"

/* The method `joint` of the kind `batch-schedule`. */

#define JOINT_PLANS_MAX 1000

struct joint_plan {
	struct joint_step step;
	int64_t unit;                 /* the batch must be a multiple of it */
	int64_t most;                 /* largest batch */
	json_t *what;                 /* owned: {plan}, {strategy} or {} */
	int64_t batch;                /* 0: none within the limits */
	double step_seconds, seconds; /* at that batch; seconds: to the target, for each of its least steps */
};
struct joint {
	double noise, least_steps; /* NaN: not given */
	int64_t low, high;         /* of the batch */
	struct joint_plan *plans;
	size_t count;
	bool searched;
	json_t *rejected, *warnings;
	int64_t candidates;
	double model_error, least_memory;
};
void joint_clear(struct joint *j);
#define JOINT_AUTO __attribute__((cleanup(joint_clear))) struct joint
/* The best batch of a plan under its line. */
void joint_settle(const struct joint *j, struct joint_plan *plan);
/* Fills the plans by searches at the batches of the request, settled by the cost model. */
int joint_search(const json_t *request, const struct sb_watch *watch, struct joint *j, json_t **out_extra,
                 struct sb_error *err);
#endif
