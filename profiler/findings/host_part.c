#include "profiler/findings/host_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/activity.h"
#include "profiler/kernel_name.h"

/* What the source says itself, HOST_NONE where only the name can tell. */
static enum host_class class_of_kind(uint8_t kind)
{
	return kind == EVENT_HOST_LOADING   ? HOST_LOADING
	       : kind == EVENT_HOST_WAIT    ? HOST_SYNCHRONIZATION
	       : kind == EVENT_HOST_GARBAGE ? HOST_GARBAGE
	                                    : HOST_NONE;
}

static bool is_host(uint8_t kind)
{
	return kind >= EVENT_HOST_OP && kind <= EVENT_HOST_GARBAGE;
}

/* The classes of a capture's names, each looked at once. */
struct names {
	const struct trace *t;
	uint8_t *class_of; /* by text: enum host_class + 1; 0 = not looked at yet */
	size_t count;
};

static int names_init(struct names *n, const struct trace *t)
{
	n->t = t;
	n->count = sb_strings_count(t->strings);
	n->class_of = calloc(n->count + 1, 1);
	return n->class_of ? SB_OK : SB_ENOMEM;
}

/* The class of a host event. */
static enum host_class class_at(struct names *n, size_t i)
{
	const struct trace *t = n->t;
	uint32_t name = t->name[i];
	uint8_t *known = &n->class_of[name < n->count ? name : n->count];
	enum host_class class = class_of_kind(t->kind[i]);

	if (!*known)
		*known = (uint8_t)(host_class_of(trace_text(t, name, NULL)) + 1);
	if (class == HOST_NONE)
		class = (enum host_class)(*known - 1);
	/* a Python frame of a file called …dataloader.py is no wait for data unless it fetches a batch */
	if (class == HOST_LOADING && t->kind[i] == EVENT_HOST_PYTHON &&
	    !strstr(trace_text(t, name, NULL), "__next__"))
		return HOST_NONE;
	return class;
}

struct work {
	const struct thresholds *t;
	struct host_part *h;
	struct names names;
	uint8_t *gc_lane;
};

static void work_free(struct work *w)
{
	free(w->names.class_of);
	free(w->gc_lane);
}

static int work_init(struct work *w)
{
	const struct trace *t = &w->h->c->trace;
	int rc = names_init(&w->names, t);

	w->gc_lane = calloc(t->lane_count + 1, 1);
	if (rc != SB_OK || !w->gc_lane)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++) {
		w->gc_lane[i] = name_has(trace_text(t, t->lanes[i].process, NULL), "Python GC");
		w->h->seen.gc_known = w->h->seen.gc_known || w->gc_lane[i];
	}
	return SB_OK;
}

static double threshold_of(const struct work *w, const char *name)
{
	const struct threshold *t = threshold_get(w->t, name);

	return t ? t->value : 0;
}

static int keep(struct work *w, enum host_class class, size_t i)
{
	const struct trace *t = &w->h->c->trace;
	struct event_list *list = &w->h->events_of[class];

	if (sb_grow(&list->items, list->count, sizeof(*list->items)) != SB_OK)
		return SB_ENOMEM;
	list->items[list->count++] = (uint32_t)i;
	return intervals_add(&w->h->of[class], t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

static int add_garbage(struct work *w, size_t i)
{
	const struct trace *t = &w->h->c->trace;

	if ((double)t->dur_ns[i] < threshold_of(w, "garbage_collection_us") * 1000)
		return SB_OK;
	w->h->seen.garbage_count++;
	w->h->seen.garbage_max_ns = sb_larger(w->h->seen.garbage_max_ns, t->dur_ns[i]);
	return keep(w, HOST_GARBAGE, i);
}

/* Over the threshold a call of the loader counts whatever else the step does. */
static int add_long_loading(struct work *w, size_t i)
{
	const struct trace *t = &w->h->c->trace;
	struct host_time *h = &w->h->seen;

	h->loading_calls++;
	h->loading_max_ns = sb_larger(h->loading_max_ns, t->dur_ns[i]);
	if ((double)t->dur_ns[i] < threshold_of(w, "dataloader_us") * 1000)
		return SB_OK;
	h->loading_count++;
	return intervals_add(&w->h->long_loading, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

static int add_host(struct work *w, size_t i)
{
	const struct trace *t = &w->h->c->trace;
	struct host_time *h = &w->h->seen;
	enum host_class class = class_at(&w->names, i);
	int rc = SB_OK;

	h->host_known = true;
	h->cann_known = h->cann_known || t->kind[i] == EVENT_HOST_RUNTIME;
	if (class == HOST_NONE)
		return SB_OK;
	if (class == HOST_GARBAGE)
		return add_garbage(w, i);
	if (class == HOST_LOADING)
		rc = add_long_loading(w, i);
	h->batch_norm_count += class == HOST_BATCH_NORM && t->kind[i] == EVENT_HOST_OP;
	h->compilation_count += class == HOST_COMPILATION;
	h->synchronization_count += class == HOST_SYNCHRONIZATION;
	if (class == HOST_ALLOCATION) {
		h->allocation_count++;
		h->allocation_total_ns = sb_add_sat(h->allocation_total_ns, t->dur_ns[i]);
	}
	return rc == SB_OK ? keep(w, class, i) : rc;
}

int host_events(const struct capture *c, enum host_class class, uint32_t **out, size_t *out_count)
{
	const struct trace *t = &c->trace;
	struct names names = {0};
	uint32_t *list = NULL;
	size_t n = 0;
	int rc = names_init(&names, t);

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		if (!is_host(t->kind[i]) || class_at(&names, i) != class)
			continue;
		rc = sb_grow(&list, n, sizeof(*list));
		if (rc == SB_OK)
			list[n++] = (uint32_t)i;
	}
	free(names.class_of);
	if (rc != SB_OK) {
		free(list);
		return rc;
	}
	*out = list;
	*out_count = n;
	return SB_OK;
}

static int walk(struct work *w)
{
	const struct trace *t = &w->h->c->trace;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		uint8_t kind = t->kind[i];

		w->h->seen.gc_known = w->h->seen.gc_known || kind == EVENT_HOST_GARBAGE;
		if (kind == EVENT_HOST_GARBAGE || (t->lane[i] < t->lane_count && w->gc_lane[t->lane[i]]))
			rc = add_garbage(w, i);
		else if (is_host(kind))
			rc = add_host(w, i);
	}
	for (int i = 0; i < HOST_CLASSES; i++)
		intervals_normalise(&w->h->of[i]);
	intervals_normalise(&w->h->long_loading);
	return rc;
}

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int find_devices(struct host_part *h)
{
	const struct trace *t = &h->c->trace;
	size_t kept = 0;

	h->devices = calloc(t->lane_count + 1, sizeof(*h->devices));
	if (!h->devices)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++)
		h->devices[i] = t->lanes[i].device;
	qsort(h->devices, t->lane_count, sizeof(*h->devices), by_number);
	for (size_t i = 0; i < t->lane_count; i++) {
		if (i == 0 || h->devices[i] != h->devices[kept - 1])
			h->devices[kept++] = h->devices[i];
	}
	h->device_count = kept;
	return SB_OK;
}

/* Which of the devices each lane belongs to. */
static uint32_t *places_of_lanes(const struct host_part *h)
{
	const struct trace *t = &h->c->trace;
	uint32_t *place = calloc(t->lane_count + 1, sizeof(*place));

	for (size_t i = 0; place && i < t->lane_count; i++) {
		const int32_t *at =
		    bsearch(&t->lanes[i].device, h->devices, h->device_count, sizeof(*h->devices), by_number);

		place[i] = (uint32_t)(at - h->devices);
	}
	return place;
}

static bool is_grouped(const struct trace *t, size_t event)
{
	return event_is_device_work(t->kind[event]) && t->lane[event] < t->lane_count;
}

/* A counting sort: the events of each device keep their order. */
static int group_events(struct host_part *h, const uint32_t *place)
{
	const struct trace *t = &h->c->trace;
	size_t sum = 0;

	h->first = calloc(h->device_count + 2, sizeof(*h->first));
	if (!h->first)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		if (is_grouped(t, i))
			h->first[place[t->lane[i]] + 2]++;
	}
	for (size_t i = 0; i < h->device_count; i++)
		sum += h->first[i + 2];
	h->events = calloc(sum + 1, sizeof(*h->events));
	if (!h->events)
		return SB_ENOMEM;
	for (size_t i = 2; i < h->device_count + 2; i++)
		h->first[i] += h->first[i - 1];
	for (size_t i = 0; i < t->count; i++) {
		if (is_grouped(t, i))
			h->events[h->first[place[t->lane[i]] + 1]++] = (uint32_t)i;
	}
	return SB_OK;
}

static int group_by_device(struct host_part *h)
{
	uint32_t *place;
	int rc = find_devices(h);

	/* the host and one device: nothing to tell apart */
	if (rc != SB_OK || h->device_count <= 2)
		return rc;
	place = places_of_lanes(h);
	rc = place ? group_events(h, place) : SB_ENOMEM;
	free(place);
	return rc;
}

int host_part_fill(const struct thresholds *t, const struct capture *c, struct host_part *out)
{
	struct work w = {.t = t, .h = out};
	int rc;

	*out = (struct host_part){.c = c};
	rc = work_init(&w);
	if (rc == SB_OK)
		rc = walk(&w);
	work_free(&w);
	if (rc == SB_OK && !capture_is_ascend(c))
		rc = group_by_device(out);
	if (rc == SB_OK)
		rc = launches_build(&c->trace, &out->launches);
	if (rc == SB_OK)
		rc = graph_launches_count(&c->trace, &out->launches, &out->graphs);
	return rc == SB_OK ? launch_blocking_ratio(out, &out->blocked_ratio) : rc;
}

void host_part_free(struct host_part *h)
{
	for (int i = 0; i < HOST_CLASSES; i++) {
		intervals_free(&h->of[i]);
		free(h->events_of[i].items);
	}
	launches_free(&h->launches);
	intervals_free(&h->long_loading);
	free(h->devices);
	free(h->events);
	free(h->first);
	*h = (struct host_part){0};
}
