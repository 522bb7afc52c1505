#include <stdlib.h>

#include "base/search.h"
#include "profiler/activity.h"
#include "profiler/event_waits_parts.h"

bool event_names_record(const struct trace *t, const struct event_detail *d)
{
	return d->event < t->count && t->kind[d->event] == EVENT_DEVICE_WAIT && d->sequence >= 0 &&
	       t->lane[d->event] < t->lane_count;
}

static int compare_lanes(const struct lane *x, const struct lane *y)
{
	return sb_compare((const int64_t[]){x->process, x->thread, x->device},
	                  (const int64_t[]){y->process, y->thread, y->device}, 3);
}

static int by_place(const void *a, const void *b, void *trace)
{
	const struct trace *const *t = trace;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = compare_lanes(&(*t)->lanes[x], &(*t)->lanes[y]);

	return c != 0 ? c : (x > y) - (x < y);
}

/* The stream that a wait names, beside the one that waits. lanes: by process, thread and device. */
static uint32_t lane_of(const struct trace *t, const uint32_t *lanes, const struct event_detail *d)
{
	struct lane key = t->lanes[t->lane[d->event]];
	size_t lo;

	if (d->group == 0)
		return EVENT_WAIT_NOTHING;
	key.thread = d->group;
	lo = SB_BISECT(i, 0, t->lane_count, compare_lanes(&t->lanes[lanes[i]], &key) < 0);
	return lo < t->lane_count && compare_lanes(&t->lanes[lanes[lo]], &key) == 0 ? lanes[lo]
	                                                                            : EVENT_WAIT_NOTHING;
}

static int by_link(const void *a, const void *b)
{
	const struct event_record *x = a, *y = b;

	return sb_compare((const int64_t[]){x->link, x->lane}, (const int64_t[]){y->link, y->lane}, 2);
}

struct event_record *event_record_of(const struct event_records *r, int64_t link)
{
	size_t at = SB_BISECT(i, 0, r->count, r->items[i].link < link);

	return at < r->count && r->items[at].link == link ? &r->items[at] : NULL;
}

/* Of two waits that name one record, and two streams, one is wrong: the order of the file does not matter. */
static void keep_once(struct event_records *r)
{
	size_t kept = 0;

	qsort(r->items, r->count, sizeof(*r->items), by_link);
	for (size_t i = 0; i < r->count; i++)
		if (kept == 0 || r->items[i].link != r->items[kept - 1].link)
			r->items[kept++] = r->items[i];
	r->count = kept;
}

/* Newer traces tell the stream at the record, and may leave it out at the wait. */
static void find_streams(const struct trace *t, struct event_records *r)
{
	for (size_t i = 0; i < t->count; i++) {
		struct event_record *x;

		if (t->kind[i] != EVENT_DEVICE_OTHER || t->link[i] < 0)
			continue;
		x = event_record_of(r, t->link[i]);
		if (x && x->lane == EVENT_WAIT_NOTHING)
			x->lane = t->lane[i];
	}
}

int event_records_find(const struct trace *t, size_t waits, struct event_records *out)
{
	uint32_t *lanes = calloc(t->lane_count + 1, sizeof(*lanes));

	*out = (struct event_records){.items = calloc(waits + 1, sizeof(*out->items))};
	if (!lanes || !out->items) {
		free(lanes);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < t->lane_count; i++)
		lanes[i] = (uint32_t)i;
	qsort_r(lanes, t->lane_count, sizeof(*lanes), by_place, &t);
	for (size_t i = 0; i < t->detail_count; i++)
		if (event_names_record(t, &t->details[i]))
			out->items[out->count++] = (struct event_record){
			    .link = t->details[i].sequence, .lane = lane_of(t, lanes, &t->details[i])};
	free(lanes);
	keep_once(out);
	find_streams(t, out);
	return SB_OK;
}

void event_records_free(struct event_records *r)
{
	free(r->items);
	*r = (struct event_records){0};
}
