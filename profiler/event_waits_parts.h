#ifndef SB_PROFILER_EVENT_WAITS_PARTS_H
#define SB_PROFILER_EVENT_WAITS_PARTS_H
#include "profiler/event_waits.h"

/* A record of an event that something waits for. */
struct event_record {
	int64_t link;          /* of the call that recorded the event */
	uint32_t lane;         /* EVENT_WAIT_NOTHING = not known */
	uint32_t first, count; /* of the work behind which it stands, once that is known */
	bool made;
};
struct event_records {
	struct event_record *items; /* by link, each once */
	size_t count;
};
/* Is this a wait that names its record? */
bool event_names_record(const struct trace *t, const struct event_detail *d);
/* The records of a trace that have `waits` waits. *out is to be freed by event_records_free(). SB_ENOMEM. */
int event_records_find(const struct trace *t, size_t waits, struct event_records *out);
/* The record of a call; NULL when nothing waits for it. O(log n). */
struct event_record *event_record_of(const struct event_records *r, int64_t link);
void event_records_free(struct event_records *r);
#endif
