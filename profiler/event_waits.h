#ifndef SB_PROFILER_EVENT_WAITS_H
#define SB_PROFILER_EVENT_WAITS_H
#include "profiler/launches.h"

/* What the events of a device hold back, by the ids of the trace: an event is recorded on a stream, behind
 * the work launched there so far, and another stream or the host waits for it. Work launched to the waiting
 * stream then depends on the last work before the record (HTA's rule of stream waits; analyses.md 5). */
struct event_wait {
	uint32_t event;  /* device work that is held back, or the call of the host that waits or makes a
	                    stream wait */
	uint32_t behind; /* device work; EVENT_WAIT_NOTHING: a call whose record is known, of which there is
	                    no more to say */
};
#define EVENT_WAIT_NOTHING UINT32_MAX

struct event_waits {
	struct event_wait *items; /* by event; of one event what ended last comes first */
	size_t count;
};
/* The waits of a trace whose records are in it, too: O(n log n) in its device work, nothing where the trace
 * names no record. What the times contradict is left out, so each `behind` starts before its work. *out is to
 * be freed by event_waits_free(). SB_ENOMEM. */
int event_waits_build(const struct trace *t, const struct launches *l, struct event_waits *out);
/* The waits of an event, *out_count of them; NULL when none is known. O(log n). */
const struct event_wait *event_waits_of(const struct event_waits *w, uint32_t event, size_t *out_count);
void event_waits_free(struct event_waits *w);
#define EVENT_WAITS_AUTO __attribute__((cleanup(event_waits_free))) struct event_waits
#endif
