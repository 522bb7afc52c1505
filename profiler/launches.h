#ifndef SB_PROFILER_LAUNCHES_H
#define SB_PROFILER_LAUNCHES_H
#include <stdbool.h>

#include "profiler/trace.h"

/* Which host event launched which work of the device: launches by correlation. Of several with one
 * correlation the one that started last counts: the order of the file does not. */
struct launches {
	struct launch *items; /* by link, then start */
	size_t count;
	bool borrowed; /* the items are the trace's */
};
/* Finds the launches of a trace that nothing is added to any more, once for all who ask: they stay with the
 * trace. SB_ENOMEM. */
int launches_keep(struct trace *t);
/* All launches of a trace: those kept with it, or else found now. The trace must outlive *out, which is to be
 * freed by launches_free(). SB_ENOMEM. */
int launches_build(const struct trace *t, struct launches *out);
/* Start of the host event that launched work with this correlation, or SB_NULL. O(log n). */
int64_t launches_start(const struct launches *l, int64_t link);
/* The launch itself, borrowed, or NULL. O(log n). */
const struct launch *launches_find(const struct launches *l, int64_t link);
void launches_free(struct launches *l);
#define LAUNCHES_AUTO __attribute__((cleanup(launches_free))) struct launches

#endif
