#ifndef SB_SERVER_READERS_H
#define SB_SERVER_READERS_H
#include <pthread.h>
#include <stdint.h>

#include "base/executor.h"

/* Threads that help to read profiles, shared by all jobs. A job's own thread reads, too: while the others are
 * busy it does its work itself, so no job waits for another one. */
struct readers;

/* Starts the threads. 0 is fine: then every job reads alone; below 0: one fewer than cores, so that with the
 * job's own thread all of them read. SB_ENOMEM, SB_EIO. */
int readers_new(int threads, struct readers **out);
/* Ends the threads. No team may have work left. NULL-safe. */
void readers_free(struct readers **r);

/* The work of one job. */
struct reader_team {
	struct readers *readers;
	int64_t waiting; /* taken, and not ended */
	pthread_cond_t ended;
	struct sb_executor executor; /* to be lent */
};
/* The team must not be moved, and must be ended once its profile is read. */
void reader_team_init(struct reader_team *t, struct readers *r);
void reader_team_end(struct reader_team *t);
#endif
