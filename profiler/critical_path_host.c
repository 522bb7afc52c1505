#include <stdlib.h>

#include "base/search.h"
#include "profiler/critical_path_parts.h"

/* Annotations and Python frames lie around what is done and say nothing of it. */
static bool is_action(uint8_t kind)
{
	return kind == EVENT_HOST_OP || kind == EVENT_HOST_RUNTIME || kind == EVENT_HOST_LOADING ||
	       kind == EVENT_HOST_WAIT || kind == EVENT_HOST_GARBAGE;
}

static bool is_taken(const struct trace *t, size_t event)
{
	return is_action(t->kind[event]) && t->lane[event] < t->lane_count;
}

/* A counting sort: the actions of each lane, in the order of the trace. */
static int group_by_lane(struct path_host *h)
{
	const struct trace *t = h->t;
	size_t *next = calloc(t->lane_count + 1, sizeof(*next));

	h->first = calloc(t->lane_count + 1, sizeof(*h->first));
	if (!next || !h->first) {
		free(next);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < t->count; i++)
		if (is_taken(t, i))
			h->first[t->lane[i] + 1]++;
	for (size_t i = 0; i < t->lane_count; i++)
		next[i + 1] = h->first[i + 1] += h->first[i];
	h->events = malloc((h->first[t->lane_count] + 1) * sizeof(*h->events));
	for (size_t i = 0; h->events && i < t->count; i++)
		if (is_taken(t, i))
			h->events[next[t->lane[i]]++] = (uint32_t)i;
	free(next);
	return h->events ? SB_OK : SB_ENOMEM;
}

/* Keeps the outermost of each lane: what lies in another is part of it. */
static int keep_outermost(struct path_host *h)
{
	const struct trace *t = h->t;
	size_t from = 0;
	int rc = SB_OK;

	for (size_t lane = 0; lane < t->lane_count && rc == SB_OK; lane++) {
		size_t to = h->first[lane + 1];
		int64_t reach = INT64_MIN;

		rc = trace_sort(t, h->events + from, to - from);
		h->first[lane] = h->count;
		for (; from < to; from++) {
			uint32_t event = h->events[from];
			int64_t end = interval_end(interval_bound(t->start_ns[event]), t->dur_ns[event]);

			if (end <= reach)
				continue;
			reach = end;
			h->events[h->count++] = event;
		}
	}
	h->first[t->lane_count] = h->count;
	return rc;
}

int path_host_build(const struct trace *t, struct path_host *out)
{
	struct path_host h = {.t = t};
	int rc = launches_build(t, &h.launches);

	if (rc == SB_OK)
		rc = group_by_lane(&h);
	if (rc == SB_OK)
		rc = keep_outermost(&h);
	if (rc != SB_OK)
		path_host_free(&h);
	else
		*out = h;
	return rc;
}

void path_host_free(struct path_host *h)
{
	launches_free(&h->launches);
	free(h->events);
	free(h->first);
	*h = (struct path_host){0};
}

/* How many of a lane's events begin before a time. */
static size_t begun(const struct path_host *h, size_t from, size_t to, int64_t time)
{
	return SB_BISECT(i, from, to, h->t->start_ns[h->events[i]] < time);
}

/* What the thread did from `from` to where the path stands, backwards. */
static void add_thread(struct path_draft *d, const struct path_host *h, uint32_t capture, uint32_t lane,
                       int64_t from)
{
	size_t first = h->first[lane], i = begun(h, first, h->first[lane + 1], d->at);

	for (; i > first && d->at > from && d->rc == SB_OK; i--) {
		uint32_t event = h->events[i - 1];
		int64_t start = interval_bound(h->t->start_ns[event]);
		int64_t end = interval_end(start, h->t->dur_ns[event]);

		if (end <= from)
			break;
		/* between two operations the thread runs code that nothing was recorded of */
		if (end < d->at)
			path_add(d, capture, PATH_HOST, 0, end);
		if (start < d->at)
			path_add(d, capture, PATH_HOST, h->t->name[event], start > from ? start : from);
	}
	if (d->at > from)
		path_add(d, capture, PATH_HOST, 0, from);
}

void path_wait(struct path_draft *d, const struct path_host *h, const struct path_works *w, size_t at,
               int64_t from)
{
	const struct launch *l = h ? launches_find(&h->launches, w->items[at].link) : NULL;
	uint32_t lane;
	int64_t end;

	if (from >= d->at)
		return;
	if (!l || l->start <= from || h->t->lane[l->event] >= h->t->lane_count) {
		path_add(d, w->capture, PATH_GAP, 0, from);
		return;
	}
	lane = h->t->lane[l->event];
	end = interval_end(h->t->start_ns[l->event], h->t->dur_ns[l->event]);
	if (end < d->at)
		path_add(d, w->capture, PATH_GAP, 0, end);
	add_thread(d, h, w->capture, lane, from);
}
