#ifndef SB_PROFILER_READ_QUEUES_H
#define SB_PROFILER_READ_QUEUES_H
#include "profiler/profile.h"

/* What readers of input pipelines share: the queues of a capture while it is read. */

/* A queue about which nothing is known yet. */
#define QUEUE_UNKNOWN                                                                                        \
	((struct queue){.operator_id = SB_NULL,                                                              \
	                .parent_id = SB_NULL,                                                                \
	                .workers = SB_NULL,                                                                  \
	                .capacity = SB_NULL,                                                                 \
	                .interval_ns = SB_NULL})
/* A look at a queue that tells nothing. */
#define QUEUE_SAMPLE_UNKNOWN                                                                                 \
	((struct queue_sample){                                                                              \
	    .step = SB_NULL, .size = SB_NULL, .get_ns = SB_NULL, .push_ns = SB_NULL, .total_ns = SB_NULL})

/* Adds a queue to the capture, with the samples it has, which then belong to the capture; `path` is the file
 * it was found in. On failure the caller keeps them. *out is valid until the next queue is added. SB_ENOMEM,
 * SB_ELIMIT. */
int queue_add(struct capture *cap, const char *path, const char *name, const struct queue *q,
              struct queue **out);
/* Adds a look at the queue. SB_ENOMEM. */
int queue_add_sample(struct queue *q, const struct queue_sample *s);
/* Adds one GetNext operator of the device: how long it took and the size of the device's queue it saw,
 * SB_NULL when not told. All of one file go into one queue "get_next" (MindInsight's minddata_aicpu, msprof's
 * aicpu_mi). Calls of one file must follow each other. SB_ENOMEM, SB_ELIMIT. */
int queue_add_get_next(struct capture *cap, const char *path, int64_t get_ns, int64_t size);
#endif
