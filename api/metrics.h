#ifndef SB_API_METRICS_H
#define SB_API_METRICS_H
#include <stdatomic.h>

#include "api/internal.h"
#include "base/buf.h"

/* Counters without locks: updated by every thread, summed up when they are asked for. */
#define METHODS 6
#define STATUSES 26
#define TEMPLATES_MAX 40
#define BUCKETS 12
#define JOB_KINDS 2
#define PLAN_OUTCOMES 4 /* found, infeasible, refused, canceled */

struct histogram {
	atomic_ullong bucket[BUCKETS + 1]; /* not cumulative; the last is +Inf */
	atomic_ullong sum_us;
};
struct metrics {
	atomic_ullong requests[TEMPLATES_MAX][METHODS][STATUSES];
	struct histogram duration[TEMPLATES_MAX];
	atomic_ullong request_bytes, response_bytes;
	atomic_ullong uploads, upload_bytes;
	struct histogram jobs[JOB_KINDS][2]; /* failed, done */
	struct histogram plans;
	atomic_ullong plan_outcome[PLAN_OUTCOMES];
};

void histogram_add(struct histogram *h, double seconds);
/* Writes the samples of a histogram; labels is "" or `name="value",` with its last comma. */
void histogram_write(struct sb_buf *b, const char *name, const char *labels, struct histogram *h);
void family_write(struct sb_buf *b, const char *name, const char *type, const char *help);
/* The process itself: processor time, memory, descriptors, start. */
void process_write(struct sb_buf *b);
#endif
