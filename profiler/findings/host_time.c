#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/findings/findings.h"

enum host_class { HOST_NONE, HOST_LOADING, HOST_SYNCHRONIZATION, HOST_COMPILATION, HOST_CLASSES };

/* Substring without regard to case: strcasestr is no standard function. */
static bool has(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return false;
}

static enum host_class class_of(const char *name)
{
	static const char *const waits[] = {"DeviceSynchronize", "StreamSynchronize", "EventSynchronize",
	                                    "SynchronizeStream", "SynchronizeDevice", "SynchronizeEvent"};

	if (has(name, "dataloader"))
		return HOST_LOADING;
	if (strstr(name, "aclopCompileAndExecute"))
		return HOST_COMPILATION;
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

/* What is collected over the timeline of one capture. */
struct work {
	const struct thresholds *t;
	struct rank_view *v;
	uint8_t *class_of_text; /* enum host_class + 1; 0 = not looked at yet */
	size_t text_count;
	uint8_t *gc_lane;
	struct interval_set of[HOST_CLASSES], garbage, fetching;
	struct interval_set busy, free, idle; /* free: inside the span; idle: also the rest of the steps */
};

static void work_free(struct work *w)
{
	free(w->class_of_text);
	free(w->gc_lane);
	for (int i = 0; i < HOST_CLASSES; i++)
		intervals_free(&w->of[i]);
	intervals_free(&w->garbage);
	intervals_free(&w->fetching);
	intervals_free(&w->busy);
	intervals_free(&w->free);
	intervals_free(&w->idle);
}

static int work_init(struct work *w)
{
	const struct trace *t = &w->v->c->trace;
	size_t texts = sb_strings_count(t->strings);

	w->text_count = texts;
	w->class_of_text = calloc(texts + 1, 1);
	w->gc_lane = calloc(t->lane_count + 1, 1);
	if (!w->class_of_text || !w->gc_lane)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++) {
		w->gc_lane[i] = has(trace_text(t, t->lanes[i].process, NULL), "Python GC");
		w->v->host.gc_known = w->v->host.gc_known || w->gc_lane[i];
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
	const struct trace *t = &w->v->c->trace;

	if ((double)t->dur_ns[i] < threshold_of(w, "garbage_collection_us") * 1000)
		return SB_OK;
	w->v->host.garbage_count++;
	w->v->host.garbage_max_ns = larger(w->v->host.garbage_max_ns, t->dur_ns[i]);
	return intervals_add(&w->garbage, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

static int add_host(struct work *w, size_t i)
{
	const struct trace *t = &w->v->c->trace;
	const char *name = trace_text(t, t->name[i], NULL);
	uint8_t *known = &w->class_of_text[t->name[i] < w->text_count ? t->name[i] : w->text_count];
	struct host_time *h = &w->v->host;
	enum host_class class = class_of_kind(t->kind[i]);

	if (!*known)
		*known = (uint8_t)(class_of(name) + 1);
	if (class == HOST_NONE)
		class = (enum host_class)(*known - 1);
	h->host_known = true;
	h->cann_known = h->cann_known || t->kind[i] == EVENT_HOST_RUNTIME;
	if (class == HOST_NONE)
		return SB_OK;
	/* a Python frame of a file called …dataloader.py is no wait for data unless it fetches a batch */
	if (class == HOST_LOADING && t->kind[i] == EVENT_HOST_PYTHON && !strstr(name, "__next__"))
		return SB_OK;
	if (class == HOST_LOADING) {
		if ((double)t->dur_ns[i] < threshold_of(w, "dataloader_us") * 1000)
			return SB_OK;
		h->loading_count++;
		h->loading_max_ns = larger(h->loading_max_ns, t->dur_ns[i]);
	}
	h->compilation_count += class == HOST_COMPILATION;
	h->synchronization_count += class == HOST_SYNCHRONIZATION;
	return intervals_add(&w->of[class], t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

static bool on_device(const struct rank_view *v, size_t event)
{
	const struct trace *t = &v->c->trace;
	int32_t device = t->lane[event] < t->lane_count ? t->lanes[t->lane[event]].device : -1;

	return capture_is_ascend(v->c) || (device < 0 ? v->device == SB_NULL : v->device == device);
}

static bool to_device(const struct trace *t, size_t event)
{
	static const char *const words[] = {"HtoD", "HostToDevice", "H2D", "host to device",
	                                    "HOST_TO_DEVICE"};
	const struct event_detail *d = trace_detail(t, (uint32_t)event);
	const char *name = trace_text(t, t->name[event], NULL);
	const char *kind = d ? trace_text(t, d->type, NULL) : "";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has(name, words[i]) || has(kind, words[i]))
			return true;
	return false;
}

/* One pass over the events. For GPUs it also collects when the device was at work. */
static int walk(struct work *w, struct activity *a)
{
	const struct trace *t = &w->v->c->trace;
	bool gpu = !capture_is_ascend(w->v->c);
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		uint8_t kind = t->kind[i];

		w->v->host.gc_known = w->v->host.gc_known || kind == EVENT_HOST_GARBAGE;
		if (kind == EVENT_HOST_GARBAGE || (t->lane[i] < t->lane_count && w->gc_lane[t->lane[i]]))
			rc = add_garbage(w, i);
		else if (is_host(kind))
			rc = add_host(w, i);
		else if (event_is_device_work(kind) && on_device(w->v, i)) {
			if (gpu)
				rc = activity_add(a, kind, t->start_ns[i], t->dur_ns[i]);
			if (rc == SB_OK && kind == EVENT_MEMCPY && to_device(t, i)) {
				w->v->host.fetching_count++;
				rc = intervals_add(&w->fetching, t->start_ns[i],
				                   interval_end(t->start_ns[i], t->dur_ns[i]));
			}
		}
	}
	return rc;
}

static int find_idle(struct work *w, const struct activity *a)
{
	INTERVALS_AUTO span = {0};
	INTERVALS_AUTO steps = {0};
	int rc = intervals_union(&a->compute, &a->communication, &w->busy);

	if (rc == SB_OK && a->first != SB_NULL)
		rc = intervals_add(&span, a->first, a->last);
	if (rc == SB_OK)
		rc = intervals_difference(&span, &w->busy, &w->free);
	if (rc == SB_OK && !capture_is_ascend(w->v->c)) {
		/* on GPUs a copy is no free time */
		INTERVALS_AUTO gaps = {0};

		rc = intervals_difference(&w->free, &a->copy, &gaps);
		if (rc == SB_OK) {
			struct interval_set swap = w->free;

			w->free = gaps;
			gaps = swap;
		}
	} else {
		for (size_t i = 0; i < w->v->c->step_count && rc == SB_OK; i++) {
			const struct step *s = &w->v->c->steps[i];

			if (s->start_ns != SB_NULL)
				rc = intervals_add(&steps, s->start_ns, interval_end(s->start_ns, s->dur_ns));
		}
		intervals_normalise(&steps);
	}
	INTERVALS_AUTO waiting = {0};

	if (rc == SB_OK)
		rc = intervals_difference(&steps, &w->busy, &waiting);
	return rc == SB_OK ? intervals_union(&w->free, &waiting, &w->idle) : rc;
}

/* Takes a cause's part of the idle time that is left, and the free time it explains. */
static int take(struct work *w, struct interval_set *cause, int64_t *out_ns)
{
	INTERVALS_AUTO idle = {0};
	INTERVALS_AUTO free_left = {0};
	struct interval_set swap;
	int rc;

	intervals_normalise(cause);
	*out_ns = intervals_common(cause, &w->idle);
	w->v->host.explained_ns += intervals_common(cause, &w->free);
	rc = intervals_difference(&w->idle, cause, &idle);
	if (rc == SB_OK)
		rc = intervals_difference(&w->free, cause, &free_left);
	if (rc != SB_OK)
		return rc;
	swap = w->idle;
	w->idle = idle;
	idle = swap;
	swap = w->free;
	w->free = free_left;
	free_left = swap;
	return SB_OK;
}

/* A wait costs the host its lead: the device then idles between launches until the host is ahead again. Idle
 * time from one wait to the next belongs to the wait, outside it at most as much as the wait was long, for
 * that is what the host would have gained without it. */
static int stretch_waits(struct work *w)
{
	struct interval_set *waits = &w->of[HOST_SYNCHRONIZATION];
	size_t count, k = 0;
	int rc = SB_OK;

	intervals_normalise(waits);
	count = waits->count;
	for (size_t i = 0; i < count && rc == SB_OK; i++) {
		int64_t at = waits->items[i].end, left = at - waits->items[i].start;
		int64_t stop = i + 1 < count ? waits->items[i + 1].start : INT64_MAX;

		while (k < w->idle.count && w->idle.items[k].end <= at)
			k++;
		for (; k < w->idle.count && w->idle.items[k].start < stop && rc == SB_OK; k++) {
			const struct interval gap = w->idle.items[k];
			int64_t from = gap.start > at ? gap.start : at, to = gap.end < stop ? gap.end : stop;

			if (to - from > left)
				to = from + left;
			left -= to - from;
			rc = intervals_add(waits, from, to);
			/* the gap may reach into the next wait's turn */
			if (gap.end > stop)
				break;
		}
	}
	return rc;
}

static int split(struct work *w)
{
	struct host_time *h = &w->v->host;
	int64_t ignored = 0;
	int rc;

	intervals_normalise(&w->fetching);
	h->fetching_ns = intervals_total(&w->fetching) - intervals_common(&w->fetching, &w->busy);
	/* the most particular cause first: a collection or a wait inside the data loader is the loader's only
	 * where nothing nearer explains it */
	rc = take(w, &w->garbage, &h->garbage_ns);
	if (rc == SB_OK)
		rc = take(w, &w->of[HOST_COMPILATION], &h->compilation_ns);
	if (rc == SB_OK)
		rc = take(w, &w->of[HOST_LOADING], &h->loading_ns);
	if (rc == SB_OK)
		rc = take(w, &w->fetching, &ignored);
	if (rc == SB_OK)
		rc = stretch_waits(w);
	return rc == SB_OK ? take(w, &w->of[HOST_SYNCHRONIZATION], &h->synchronization_ns) : rc;
}

int host_time_fill(const struct thresholds *t, struct rank_view *v)
{
	__attribute__((cleanup(work_free))) struct work w = {.t = t, .v = v};
	ACTIVITY_AUTO a = ACTIVITY_NONE;
	int rc = work_init(&w);

	v->host = (struct host_time){.gc_known = v->host.gc_known};
	if (rc == SB_OK && capture_is_ascend(v->c)) {
		rc = ascend_activity(v->c, ascend_source_of(v->c), INT64_MIN, INT64_MAX, &a);
		v->host.cann_known = v->c->api_count > 0;
	}
	if (rc == SB_OK)
		rc = walk(&w, &a);
	activity_normalise(&a);
	if (rc == SB_OK)
		rc = find_idle(&w, &a);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return rc == SB_OK ? split(&w) : rc;
}
