#ifndef SB_SERVER_JOB_WAITERS_H
#define SB_SERVER_JOB_WAITERS_H
#include <stdint.h>

#include "storage/store.h"

/* Wakes once when a job has ended, or its deadline has passed, or the queue stops. Owned by the caller until
 * woken. */
struct job_waiter {
	struct job_waiter *next, *prev;
	char id[STORE_ID_MAX];
	int64_t deadline_ns; /* of the monotonic clock */
	void (*wake)(struct job_waiter *self);
};

/* All that wait, in no order. The owner has the lock. */
struct job_waiters {
	struct job_waiter *first;
};
void job_waiters_add(struct job_waiters *all, struct job_waiter *w);
/* Takes out the waiters of a job (id), or with NULL those whose deadline is not past `until_ns`. They are to
 * be woken by job_waiters_wake() without the lock: a waiter may call the queue again. */
struct job_waiter *job_waiters_take(struct job_waiters *all, const char *id, int64_t until_ns);
void job_waiters_wake(struct job_waiter *taken);
#endif
