#include "profiler/findings/host_part.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "profiler/activity.h"

/* Substring without regard to case: strcasestr is no standard function. */
bool host_text_has(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return false;
}

/* A call that allocates memory of the device or gives it back: the driver works, and a release waits for the
 * device. Allocations from a stream's pool do neither. */
bool host_allocates(const char *name)
{
	static const char *const calls[] = {"cudaMalloc",        "cudaFree",
	                                    "hipMalloc",         "hipFree",
	                                    "cuMemAlloc",        "cuMemFree",
	                                    "cuMemAlloc_v2",     "cuMemFree_v2",
	                                    "cudaMallocManaged", "cudaMallocPitch",
	                                    "aclrtFree",         "aclMallocMemInner",
	                                    "aclrtFreePhysical", NULL};
	const char *at = strchr(name, '@');

	name = at ? at + 1 : name;
	if (strncmp(name, "aclrtMalloc", 11) == 0)
		return strcmp(name, "aclrtMallocHost") != 0;
	for (size_t i = 0; calls[i]; i++)
		if (strcmp(name, calls[i]) == 0)
			return true;
	return false;
}

static enum host_class class_of(const char *name)
{
	static const char *const waits[] = {"DeviceSynchronize", "StreamSynchronize", "EventSynchronize",
	                                    "SynchronizeStream", "SynchronizeDevice", "SynchronizeEvent"};

	if (host_text_has(name, "dataloader"))
		return HOST_LOADING;
	if (strstr(name, "aclopCompileAndExecute"))
		return HOST_COMPILATION;
	if (host_allocates(name))
		return HOST_ALLOCATION;
	if (strcmp(name, "aten::item") == 0 || strcmp(name, "aten::_local_scalar_dense") == 0)
		return HOST_SYNCHRONIZATION;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strstr(name, waits[i]))
			return HOST_SYNCHRONIZATION;
	return HOST_NONE;
}

/* What the source says itself, HOST_NONE where only the name can tell. */
static enum host_class class_of_kind(uint8_t kind)
{
	return kind == EVENT_HOST_LOADING ? HOST_LOADING
	       : kind == EVENT_HOST_WAIT  ? HOST_SYNCHRONIZATION
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
		*known = (uint8_t)(class_of(trace_text(t, name, NULL)) + 1);
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
		w->gc_lane[i] = host_text_has(trace_text(t, t->lanes[i].process, NULL), "Python GC");
		w->h->seen.gc_known = w->h->seen.gc_known || w->gc_lane[i];
	}
	return SB_OK;
}

static double threshold_of(const struct work *w, const char *name)
{
	const struct threshold *t = threshold_get(w->t, name);

	return t ? t->value : 0;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int add_garbage(struct work *w, size_t i)
{
	const struct trace *t = &w->h->c->trace;

	if ((double)t->dur_ns[i] < threshold_of(w, "garbage_collection_us") * 1000)
		return SB_OK;
	w->h->seen.garbage_count++;
	w->h->seen.garbage_max_ns = larger(w->h->seen.garbage_max_ns, t->dur_ns[i]);
	return intervals_add(&w->h->garbage, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

/* Over the threshold a call of the loader counts whatever else the step does. */
static int add_long_loading(struct work *w, size_t i)
{
	const struct trace *t = &w->h->c->trace;
	struct host_time *h = &w->h->seen;

	h->loading_calls++;
	h->loading_max_ns = larger(h->loading_max_ns, t->dur_ns[i]);
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
	if (class == HOST_LOADING)
		rc = add_long_loading(w, i);
	h->compilation_count += class == HOST_COMPILATION;
	h->synchronization_count += class == HOST_SYNCHRONIZATION;
	if (class == HOST_ALLOCATION) {
		h->allocation_count++;
		h->allocation_total_ns = sb_add_sat(h->allocation_total_ns, t->dur_ns[i]);
	}
	return rc == SB_OK ? intervals_add(&w->h->of[class], t->start_ns[i],
	                                   interval_end(t->start_ns[i], t->dur_ns[i]))
	                   : rc;
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
	intervals_normalise(&w->h->garbage);
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
	return rc;
}

void host_part_free(struct host_part *h)
{
	for (int i = 0; i < HOST_CLASSES; i++)
		intervals_free(&h->of[i]);
	intervals_free(&h->garbage);
	intervals_free(&h->long_loading);
	free(h->devices);
	free(h->events);
	free(h->first);
	*h = (struct host_part){0};
}
