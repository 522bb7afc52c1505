#include "profiler/replay/graph.h"

/* The device's queue holds about 1022 to 1024 launches (research page analyses, section 4): with as many
 * ahead, a launch waits until one of them starts. */
#define QUEUE_FULL 1000
/* Shorter calls waited for nothing. */
#define CALL_NS 5000

static bool is_launched(const struct trace *t, const struct launches *l, uint32_t work)
{
	return t->link[work] >= 0 && launches_find(l, t->link[work]);
}

void replay_full_queues(const struct capture *c, const struct launches *l, struct replay_entries *e)
{
	const struct trace *t = &c->trace;
	size_t ahead = 0, full = 0;

	for (size_t i = 0; i < e->count; i++) {
		struct replay_entry *x = &e->items[i];

		/* one launch may start many pieces of work: then the queue looks shorter than it is */
		if (x->what == ENTRY_WORK)
			ahead -= ahead > 0 && is_launched(t, l, x->event);
		if (x->what != ENTRY_LAUNCH)
			continue;
		if (ahead++ < QUEUE_FULL || t->dur_ns[x->event] < CALL_NS)
			continue;
		x->what = ENTRY_FULL;
		full++;
	}
	for (size_t i = 0; i < e->count && full > 0; i++) {
		struct replay_entry *x = &e->items[i];

		if (x->what == ENTRY_FULL)
			x->at = interval_end(t->start_ns[x->event], t->dur_ns[x->event]) - e->host_shift;
	}
	if (full > 0)
		replay_entries_sort(e);
}
