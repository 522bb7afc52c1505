#ifndef SB_PROFILER_INPUT_PIPELINE_H
#define SB_PROFILER_INPUT_PIPELINE_H
#include "profiler/profile.h"

/* What the looks at one queue add up to. Means are over those that tell the value; NaN = none does. */
struct queue_summary {
	const struct capture *capture; /* borrowed from the profile, as is the queue */
	const struct queue *queue;
	int64_t samples;     /* looks that tell a size */
	int64_t empty, full; /* of these; SB_NULL = no look tells one, or no capacity is known */
	double mean_size, get_us, push_us, total_us;
};

struct input_pipeline {
	struct queue_summary *queues; /* by capture, kind, operator; then as in the source */
	size_t count;
};

/* Sums up the queues of all captures. *out borrows from p and is to be freed by input_pipeline_free().
 * SB_ENOMEM. */
int input_pipeline_compute(const struct profile *p, struct input_pipeline *out, struct sb_error *err);
void input_pipeline_free(struct input_pipeline *i);
/* "operator", "host" or "device". */
const char *queue_kind_name(enum queue_kind k);
#define INPUT_PIPELINE_AUTO __attribute__((cleanup(input_pipeline_free))) struct input_pipeline
#endif
