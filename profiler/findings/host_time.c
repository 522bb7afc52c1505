#include <stdlib.h>

#include "profiler/findings/host_part.h"

/* What is collected over the timeline of one device. */
struct work {
	struct rank_view *v;
	const struct host_part *host;
	double loading_share, allocation_us;            /* thresholds */
	struct interval_set fetching, busy, free, idle; /* free: inside the span; idle: also the rest of the
	                                                   steps */
};

static void work_free(struct work *w)
{
	intervals_free(&w->fetching);
	intervals_free(&w->busy);
	intervals_free(&w->free);
	intervals_free(&w->idle);
}

static bool on_device(const struct rank_view *v, size_t event)
{
	const struct trace *t = &v->c->trace;
	int32_t device = t->lane[event] < t->lane_count ? t->lanes[t->lane[event]].device : -1;

	return capture_is_ascend(v->c) || (device < 0 ? v->device == SB_NULL : v->device == device);
}

bool host_copy_to_device(const struct trace *t, size_t event)
{
	static const char *const words[] = {"HtoD", "HostToDevice", "H2D", "host to device",
	                                    "HOST_TO_DEVICE"};
	const struct event_detail *d = trace_detail(t, (uint32_t)event);
	const char *name = trace_text(t, t->name[event], NULL);
	const char *kind = d ? trace_text(t, d->type, NULL) : "";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (host_text_has(name, words[i]) || host_text_has(kind, words[i]))
			return true;
	return false;
}

/* For GPUs it also collects when the device was at work. */
static int add_event(struct work *w, struct activity *a, size_t i)
{
	const struct trace *t = &w->v->c->trace;
	uint8_t kind = t->kind[i];
	int rc = SB_OK;

	if (!event_is_device_work(kind) || !on_device(w->v, i))
		return SB_OK;
	if (!capture_is_ascend(w->v->c))
		rc = activity_add(a, kind, t->start_ns[i], t->dur_ns[i]);
	if (rc == SB_OK && kind == EVENT_MEMCPY && host_copy_to_device(t, i)) {
		w->v->host.fetching_count++;
		w->v->host.pageable_count += host_text_has(trace_text(t, t->name[i], NULL), "pageable ->");
		rc = intervals_add(&w->fetching, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
	}
	return rc;
}

/* The place of the view's device among those of the capture; device_count when it has none. */
static size_t place_of(const struct work *w)
{
	const struct host_part *h = w->host;
	int64_t device = w->v->device == SB_NULL ? -1 : w->v->device;
	size_t lo = 0, hi = h->device_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->devices[mid] < device)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->device_count && h->devices[lo] == device ? lo : h->device_count;
}

static int walk(struct work *w, struct activity *a)
{
	const struct host_part *h = w->host;
	size_t place = place_of(w);
	int rc = SB_OK;

	if (!h->events) {
		for (size_t i = 0; i < w->v->c->trace.count && rc == SB_OK; i++)
			rc = add_event(w, a, i);
		return rc;
	}
	if (place == h->device_count)
		return SB_OK;
	for (size_t i = h->first[place]; i < h->first[place + 1] && rc == SB_OK; i++)
		rc = add_event(w, a, h->events[i]);
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

/* The part of a cause that can meet idle time: what lies in its range, and the one before, whose effect may
 * reach into it. The host of many devices is not walked for each of them. */
static struct interval_set near_idle(const struct work *w, const struct interval_set *cause)
{
	size_t lo = 0, hi = cause->count, from;
	const struct interval_set *idle = &w->idle;

	if (idle->count == 0 || cause->count == 0)
		return (struct interval_set){0};
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cause->items[mid].end <= idle->items[0].start)
			lo = mid + 1;
		else
			hi = mid;
	}
	from = lo > 0 ? lo - 1 : 0;
	hi = cause->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cause->items[mid].start < idle->items[idle->count - 1].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (struct interval_set){.items = cause->items + from, .count = lo - from};
}

/* Takes a cause's part of the idle time that is left, and the free time it explains. */
static int take(struct work *w, const struct interval_set *cause, int64_t *out_ns)
{
	INTERVALS_AUTO idle = {0};
	INTERVALS_AUTO free_left = {0};
	struct interval_set swap;
	int rc;

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
static int stretch_waits(struct work *w, const struct interval_set *waits, struct interval_set *out)
{
	size_t k = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < waits->count && rc == SB_OK; i++) {
		int64_t at = waits->items[i].end, left = at - waits->items[i].start;
		int64_t stop = i + 1 < waits->count ? waits->items[i + 1].start : INT64_MAX;

		rc = intervals_add(out, waits->items[i].start, at);
		while (k < w->idle.count && w->idle.items[k].end <= at)
			k++;
		for (; k < w->idle.count && w->idle.items[k].start < stop && rc == SB_OK; k++) {
			const struct interval gap = w->idle.items[k];
			int64_t from = gap.start > at ? gap.start : at, to = gap.end < stop ? gap.end : stop;

			if (to - from > left)
				to = from + left;
			left -= to - from;
			rc = intervals_add(out, from, to);
			/* the gap may reach into the next wait's turn */
			if (gap.end > stop)
				break;
		}
	}
	intervals_normalise(out);
	return rc;
}

static int take_waits(struct work *w)
{
	INTERVALS_AUTO stretched = {0};
	const struct interval_set waits = near_idle(w, &w->host->of[HOST_SYNCHRONIZATION]);
	int rc = stretch_waits(w, &waits, &stretched);

	return rc == SB_OK ? take(w, &stretched, &w->v->host.synchronization_ns) : rc;
}

static int take_part(struct work *w, const struct interval_set *cause, int64_t *out_ns)
{
	const struct interval_set part = near_idle(w, cause);

	return take(w, &part, out_ns);
}

/* One long call is a fault whatever it costs; short ones count when the device waits for them too much. */
static int take_loading(struct work *w)
{
	const struct interval_set all = near_idle(w, &w->host->of[HOST_LOADING]);
	double share = (double)intervals_common(&all, &w->idle) / (double)w->v->total_ns;

	w->v->host.loading_share = share;
	w->v->host.loading_by_share = share > w->loading_share;
	return take_part(w, w->v->host.loading_by_share ? &w->host->of[HOST_LOADING] : &w->host->long_loading,
	                 &w->v->host.loading_ns);
}

static int take_allocation(struct work *w)
{
	/* a few calls at the start of a job are how it begins */
	if ((double)w->v->host.allocation_total_ns < w->allocation_us * 1000)
		return SB_OK;
	return take_part(w, &w->host->of[HOST_ALLOCATION], &w->v->host.allocation_ns);
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
	rc = take_part(w, &w->host->garbage, &h->garbage_ns);
	if (rc == SB_OK)
		rc = take_part(w, &w->host->of[HOST_COMPILATION], &h->compilation_ns);
	if (rc == SB_OK)
		rc = take_allocation(w);
	if (rc == SB_OK)
		rc = take_loading(w);
	if (rc == SB_OK)
		rc = take(w, &w->fetching, &ignored);
	return rc == SB_OK ? take_waits(w) : rc;
}

int host_time_fill(const struct thresholds *t, const struct host_part *host, struct rank_view *v)
{
	struct work w = {.v = v,
	                 .host = host,
	                 .loading_share = threshold_get(t, "loading_share")->value,
	                 .allocation_us = threshold_get(t, "allocation_us")->value};
	ACTIVITY_AUTO a = ACTIVITY_NONE;
	int rc = SB_OK;

	v->host = host->seen;
	if (capture_is_ascend(v->c)) {
		rc = ascend_activity(v->c, ascend_source_of(v->c), INT64_MIN, INT64_MAX, &a);
		v->host.cann_known = v->host.cann_known || v->c->api_count > 0;
	}
	if (rc == SB_OK)
		rc = walk(&w, &a);
	activity_normalise(&a);
	if (rc == SB_OK)
		rc = find_idle(&w, &a);
	if (rc == SB_OK)
		rc = split(&w);
	work_free(&w);
	return rc;
}
