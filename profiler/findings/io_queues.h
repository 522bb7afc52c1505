#ifndef SB_PROFILER_FINDINGS_IO_QUEUES_H
#define SB_PROFILER_FINDINGS_IO_QUEUES_H
#include "profiler/findings/findings.h"

/* The three queues of an input pipeline (Hermes 5.1), judged from the device's end backwards: the Device
 * Queue is not empty → no I/O bottleneck; else the Host Queue is not empty → fetching; else the Data Queue is
 * not empty → processing; else reading. A queue counts as empty when more than queue_empty_share of the looks
 * at it found nothing (MindInsight). */

/* All looks at the queues of one stage. */
struct queue_look {
	int64_t samples, empty; /* that tell a size; 0 = the stage is not known */
};

/* Where the data pipeline's queues say that it is stuck: an operator whose own queue runs low although the
 * queue that it takes from is full (MindInsight's bands). */
struct queue_operator {
	const struct queue *queue; /* NULL = none */
	double usage;              /* mean size over capacity */
};

struct io_verdict {
	bool queues_known;  /* the queues are enough to judge by */
	bool waiting_known; /* the waiting for data between iterations is told */
	const char *code;   /* finding code; NULL = no I/O bottleneck seen */
	bool
	    device_by_waiting; /* there is no Device Queue: that the device waits was told by the intervals */
	struct queue_look device, host, data;
	int64_t intervals, interval_ns;   /* between iterations: how many, and their sum */
	int64_t total_ns;                 /* of these iterations */
	int64_t waiting_ns;               /* for data, beyond the threshold; SB_NULL = not told */
	struct queue_operator bottleneck; /* of the data pipeline */
};

/* Judges one capture by its queues and iterations. Linear in the looks at the queues. SB_ENOMEM. */
int io_judge(const struct thresholds *t, const struct capture *c, struct io_verdict *out);
/* Adds the finding of a verdict whose code is `code`. */
void io_report(struct check_context *ctx, const struct capture *c, const struct io_verdict *verdict);
#endif
