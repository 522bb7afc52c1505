#ifndef SB_SERVER_JOB_LIST_H
#define SB_SERVER_JOB_LIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http.h"

/* A job of the queue, and lists of jobs. Not thread-safe: the queue's lock is over them. */
struct job {
	struct job_status status; /* first: the tree compares by status.id */
	struct job *next, *prev;  /* in the list of its state: queued or ended */
	struct job_queue *queue;
	bool canceled;
	int64_t ended_ns;
};

struct job_list {
	struct job *first, *last;
	size_t count;
};

void job_list_push(struct job_list *l, struct job *j);
void job_list_remove(struct job_list *l, struct job *j);
struct job *job_list_pop(struct job_list *l); /* the oldest; NULL when there is none */
#endif
