#ifndef SB_SERVER_JOBS_H
#define SB_SERVER_JOBS_H
#include <stdint.h>

#include "api/http.h"
#include "server/job_waiters.h"

/* Background work: bounded queues with a few threads each, so that no kind of job waits behind another. Ended
 * jobs stay visible for an hour. Thread-safe. */

/* What a job does; runs on a job thread. */
struct job_work {
	void *self;
	int (*run)(void *self, const char *kind, const char *object, const struct job_control *control,
	           struct sb_error *err);
};

/* Jobs that wait for each other alone. */
enum job_lane { JOB_LANE_PROFILE, JOB_LANE_PLAN, JOB_LANES };
struct job_lane_config {
	int threads;    /* 0: max(4, 2 x cores) */
	int queued_max; /* submit answers SB_EBUSY past it */
};

struct job_queue_config {
	struct job_lane_config lanes[JOB_LANES];
	int read_threads; /* that help all jobs to read; -1: one fewer than cores */
	size_t ended_max; /* the oldest ended jobs are forgotten past it */
	int64_t keep_ns;  /* and after this long */
};
extern const struct job_queue_config JOB_QUEUE_DEFAULT;

/* The calls of struct job_ops over a struct job_queue. */
extern const struct job_ops JOB_OPS;

/* Makes the queue; nothing runs before jobs_start(). SB_ENOMEM. */
int jobs_new(const struct job_queue_config *config, struct job_queue **out);
/* Starts the threads. SB_EIO. */
int jobs_start(struct job_queue *q, struct job_work work);
/* Asks running jobs to end (canceled() tells true), starts no more, wakes every waiter, and joins the
 * threads. What was queued stays unfinished: of profiles the store knows it, and the next process takes it
 * up; plans are asked for again. */
void jobs_stop(struct job_queue *q);
/* jobs_stop() when needed, then frees. NULL-safe. */
void jobs_free(struct job_queue **q);

/* Registers a waiter (id, deadline and wake filled in). wake() is called from another thread, or from inside
 * this call when there is nothing to wait for. */
void jobs_wait(struct job_queue *q, struct job_waiter *w);
/* Wakes all waiters whose deadline is before now. Called now and then by the server. */
void jobs_expire(struct job_queue *q, int64_t now_ns);
/* Wakes all waiters. */
void jobs_wake_all(struct job_queue *q);
#endif
