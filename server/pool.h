#ifndef SB_SERVER_POOL_H
#define SB_SERVER_POOL_H
#include <stddef.h>

/* Threads that answer requests which write or compute, apart from the threads that read profiles: a plan
 * never waits behind a trace. */
struct pool;

/* Part of the caller's own object, so that handing work over cannot fail. */
struct pool_item {
	struct pool_item *next;
	void (*run)(struct pool_item *self);
};

/* So many threads as wanted; 0: max(4, 2 x cores). */
int pool_threads(int wanted);
/* Starts the threads. SB_ENOMEM, SB_EIO. */
int pool_new(int threads, struct pool **out);
/* Runs what is queued, then ends the threads. NULL-safe. */
void pool_free(struct pool **p);
/* Queues an item; it must live until its run() has begun its last statement. Thread-safe. */
void pool_push(struct pool *p, struct pool_item *item);
#endif
