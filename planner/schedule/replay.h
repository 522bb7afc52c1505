#ifndef SB_PLANNER_SCHEDULE_REPLAY_H
#define SB_PLANNER_SCHEDULE_REPLAY_H
#include "planner/schedule/schedule.h"

/* One program run many times, with other times each time. What waits for what never changes, so that one
 * order in which all operations can be gone through serves all runs: some seven to
 * ten times as fast as schedule_simulate() (bench_cut), and equal to it to the last bit. */
struct schedule_replay;
/* *out is to be freed by schedule_replay_free(); it borrows the program. SB_EIMPOSSIBLE when the order
 * deadlocks; SB_ENOMEM. */
int schedule_replay_open(const struct schedule_program *p, struct schedule_replay **out,
                         struct sb_error *err);
void schedule_replay_free(struct schedule_replay **r);
#define SCHEDULE_REPLAY_AUTO __attribute__((cleanup(schedule_replay_free))) struct schedule_replay *
/* The makespan. INFINITY as soon as it is sure to be above `bound`: some device has waited too long. */
double schedule_replay(struct schedule_replay *r, const struct schedule_times *t, double bound);

/* How often the times of a stage are on a path through the operations. */
struct schedule_visits {
	/* backward: the gradient of the input; weight: that of the weights; a whole backward counts as both.
	 * pair: those of which the stage has the forward, its parts counted as well. send: hops behind it. */
	uint32_t forward, backward, weight, pair, send;
};
/* The path that the last run's end waited for: its times add up to the makespan, and those of any other run
 * take at least as long as their own times along it; but what is recomputed early is not counted. out: one a
 * stage. */
void schedule_replay_path(const struct schedule_replay *r, struct schedule_visits *out);
#endif
