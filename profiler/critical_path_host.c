#include <stdlib.h>

#include "profiler/critical_path_parts.h"

/* Annotations and Python frames lie around what is done and say nothing of it. */
static bool is_action(uint8_t kind)
{
	return kind == EVENT_HOST_OP || kind == EVENT_HOST_RUNTIME || kind == EVENT_HOST_LOADING ||
	       kind == EVENT_HOST_WAIT || kind == EVENT_HOST_GARBAGE;
}

/* An event of one lane while the lanes are sorted. */
struct lane_event {
	int64_t start, dur;
	uint32_t lane, event;
};

static int by_lane(const void *a, const void *b)
{
	const struct lane_event *x = a, *y = b;
	const int64_t left[] = {x->lane, x->start, y->dur, x->event};
	const int64_t right[] = {y->lane, y->start, x->dur, y->event};

	return sb_compare(left, right, 4);
}

/* Keeps the outermost of each lane: what lies in another is part of it. */
static void keep_outermost(struct path_host *h, const struct lane_event *sorted, size_t n)
{
	int64_t end = INT64_MIN;

	for (size_t i = 0, lane = 0; i < n; i++) {
		const struct lane_event *e = &sorted[i];
		int64_t to = interval_end(e->start, e->dur);

		while (lane <= e->lane) {
			h->first[lane++] = h->count;
			end = INT64_MIN;
		}
		if (to <= end)
			continue;
		end = to;
		h->events[h->count++] = e->event;
	}
}

static int sort_lanes(struct path_host *h)
{
	const struct trace *t = h->t;
	struct lane_event *sorted;
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += is_action(t->kind[i]) && t->lane[i] < t->lane_count;
	sorted = malloc((n + 1) * sizeof(*sorted));
	h->events = malloc((n + 1) * sizeof(*h->events));
	h->first = malloc((t->lane_count + 1) * sizeof(*h->first));
	if (!sorted || !h->events || !h->first) {
		free(sorted);
		return SB_ENOMEM;
	}
	n = 0;
	for (size_t i = 0; i < t->count; i++)
		if (is_action(t->kind[i]) && t->lane[i] < t->lane_count)
			sorted[n++] = (struct lane_event){interval_bound(t->start_ns[i]), t->dur_ns[i],
			                                  t->lane[i], (uint32_t)i};
	qsort(sorted, n, sizeof(*sorted), by_lane);
	for (size_t i = 0; i <= t->lane_count; i++)
		h->first[i] = SIZE_MAX;
	keep_outermost(h, sorted, n);
	for (size_t i = 0; i <= t->lane_count; i++)
		if (h->first[i] == SIZE_MAX)
			h->first[i] = h->count;
	free(sorted);
	return SB_OK;
}

int path_host_build(const struct trace *t, struct path_host *out)
{
	struct path_host h = {.t = t};
	int rc = launches_build(t, &h.launches);

	if (rc == SB_OK)
		rc = sort_lanes(&h);
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
	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (h->t->start_ns[h->events[mid]] < time)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
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
