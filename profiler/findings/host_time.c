#include <stdlib.h>

#include "base/search.h"
#include "profiler/findings/idle.h"
#include "profiler/kernel_name.h"

/* What is collected over the timeline of one device. */
struct work {
	struct rank_view *v;
	const struct host_part *host;
	double loading_share, allocation_us;            /* thresholds */
	struct interval_set receives;                   /* of a pipeline's stages, on GPUs */
	struct interval_set fetching, busy, free, idle; /* free: inside the span; idle: also the rest of the
	                                                   steps */
	struct gaps gaps;                               /* of the free time */
	struct activity activity;
};

static void work_free(struct work *w)
{
	intervals_free(&w->receives);
	intervals_free(&w->fetching);
	intervals_free(&w->busy);
	intervals_free(&w->free);
	intervals_free(&w->idle);
	gaps_free(&w->gaps);
	activity_free(&w->activity);
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
		if (name_has(name, words[i]) || name_has(kind, words[i]))
			return true;
	return false;
}

/* A receive waits for the stage before. NCCL sends and receives by one kernel, which also serves for
 * exchanges of all with all: only where the trace names the collective can it be told. */
static int add_receive(struct work *w, size_t i)
{
	const struct trace *t = &w->v->c->trace;
	const struct event_detail *d = trace_detail(t, (uint32_t)i);
	const char *type = d ? trace_text(t, d->type, NULL) : "";

	if (*type == '\0')
		w->v->receives.unnamed += name_has(trace_text(t, t->name[i], NULL), "SendRecv");
	if (!name_has(type, "recv") && !name_has(type, "receive"))
		return SB_OK;
	w->v->receives.count++;
	return intervals_add(&w->receives, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
}

/* For GPUs it also collects when the device was at work. */
static int add_event(void *self, size_t i)
{
	struct work *w = self;
	const struct trace *t = &w->v->c->trace;
	uint8_t kind = t->kind[i];
	int rc = SB_OK;

	if (!capture_is_ascend(w->v->c))
		rc = activity_add(&w->activity, kind, t->start_ns[i], t->dur_ns[i]);
	if (rc == SB_OK && kind == EVENT_MEMCPY && host_copy_to_device(t, i)) {
		w->v->host.fetching_count++;
		w->v->host.pageable_count += name_has(trace_text(t, t->name[i], NULL), "pageable ->");
		rc = intervals_add(&w->fetching, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
	}
	if (rc == SB_OK && kind == EVENT_COMMUNICATION && !capture_is_ascend(w->v->c))
		rc = add_receive(w, i);
	return rc;
}

/* The place of the view's device among those of the capture; device_count when it has none. */
static size_t place_of(const struct rank_view *v)
{
	const struct host_part *h = v->part;
	int64_t device = v->device == SB_NULL ? -1 : v->device;
	size_t at = SB_BISECT(i, 0, h->device_count, h->devices[i] < device);

	return at < h->device_count && h->devices[at] == device ? at : h->device_count;
}

int device_work_each(const struct rank_view *v, int (*visit)(void *, size_t), void *self)
{
	const struct host_part *h = v->part;
	const struct trace *t = &v->c->trace;
	size_t place = place_of(v);
	int rc = SB_OK;

	if (!h->events) {
		for (size_t i = 0; i < t->count && rc == SB_OK; i++)
			if (event_is_device_work(t->kind[i]) && on_device(v, i))
				rc = visit(self, i);
		return rc;
	}
	if (place == h->device_count)
		return SB_OK;
	for (size_t i = h->first[place]; i < h->first[place + 1] && rc == SB_OK; i++)
		if (on_device(v, h->events[i]))
			rc = visit(self, h->events[i]);
	return rc;
}

static int meet(void *self, size_t i)
{
	struct work *w = self;

	gaps_meet(&w->gaps, &w->v->c->trace, &w->host->launches, i);
	return SB_OK;
}

static void exchange(struct interval_set *a, struct interval_set *b)
{
	struct interval_set c = *a;

	*a = *b;
	*b = c;
}

static int find_idle(struct work *w)
{
	const struct activity *a = &w->activity;
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
		if (rc == SB_OK)
			exchange(&w->free, &gaps);
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
	const struct interval_set *idle = &w->idle;
	size_t from, to;

	if (idle->count == 0 || cause->count == 0)
		return (struct interval_set){0};
	from = intervals_ended(cause, idle->items[0].start);
	from -= from > 0;
	to = intervals_begun(cause, idle->items[idle->count - 1].end);
	return (struct interval_set){.items = cause->items + from, .count = to - from};
}

/* Takes a cause's part of the idle time that is left, and the free time it explains. */
static int take(struct work *w, const struct interval_set *cause, int64_t *out_ns)
{
	INTERVALS_AUTO idle = {0};
	INTERVALS_AUTO free_left = {0};
	int rc;

	*out_ns = intervals_common(cause, &w->idle);
	w->v->host.explained_ns += intervals_common(cause, &w->free);
	rc = intervals_difference(&w->idle, cause, &idle);
	if (rc == SB_OK)
		rc = intervals_difference(&w->free, cause, &free_left);
	if (rc != SB_OK)
		return rc;
	exchange(&w->idle, &idle);
	exchange(&w->free, &free_left);
	return SB_OK;
}

/* What was in the queue already when the device fell idle, and no cause has taken, is none of the host's
 * doing. */
static int leave_queued(struct work *w)
{
	INTERVALS_AUTO queued = {0};
	INTERVALS_AUTO idle = {0};
	INTERVALS_AUTO free_left = {0};
	int rc = gaps_of_cause(&w->gaps, GAP_DEVICE, &queued);

	w->v->host.queued_ns = intervals_common(&queued, &w->free);
	if (rc == SB_OK)
		rc = intervals_difference(&w->idle, &queued, &idle);
	if (rc == SB_OK)
		rc = intervals_difference(&w->free, &queued, &free_left);
	if (rc != SB_OK)
		return rc;
	exchange(&w->idle, &idle);
	exchange(&w->free, &free_left);
	return SB_OK;
}

/* A wait costs the host its lead: the device then idles between launches until the host is ahead again. Idle
 * time behind a wait belongs to it, outside the waits at most as much as they were long in all, for that is
 * what the host would have gained without them. */
static int stretch_waits(struct work *w, const struct interval_set *waits, struct interval_set *out)
{
	int64_t left = 0;
	size_t k = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < waits->count && rc == SB_OK; i++) {
		int64_t at = waits->items[i].end;
		int64_t stop = i + 1 < waits->count ? waits->items[i + 1].start : INT64_MAX;

		left = sb_add_sat(left, at - waits->items[i].start);
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

static int take_stretched(struct work *w, enum host_class class, int64_t *out_ns)
{
	INTERVALS_AUTO stretched = {0};
	const struct interval_set waits = near_idle(w, &w->host->of[class]);
	int rc = stretch_waits(w, &waits, &stretched);

	if (rc == SB_OK && class == HOST_SYNCHRONIZATION)
		rc = intervals_intersection(&stretched, &w->idle, &w->v->waited);
	return rc == SB_OK ? take(w, &stretched, out_ns) : rc;
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
	rc = take_stretched(w, HOST_GARBAGE, &h->garbage_ns);
	if (rc == SB_OK)
		rc = take_part(w, &w->host->of[HOST_COMPILATION], &h->compilation_ns);
	if (rc == SB_OK)
		rc = take_allocation(w);
	if (rc == SB_OK)
		rc = take_loading(w);
	if (rc == SB_OK)
		rc = take(w, &w->fetching, &ignored);
	if (rc == SB_OK)
		rc = leave_queued(w);
	return rc == SB_OK ? take_stretched(w, HOST_SYNCHRONIZATION, &h->synchronization_ns) : rc;
}

/* The gaps, and what ended each of them. */
static int find_gaps(struct work *w)
{
	int rc = gaps_from(&w->free, &w->gaps);

	return rc == SB_OK && w->host->launches.count > 0 ? device_work_each(w->v, meet, w) : rc;
}

static int collect(struct work *w)
{
	int rc = SB_OK;

	if (capture_is_ascend(w->v->c)) {
		rc = ascend_activity(w->v->c, ascend_source_of(w->v->c), INT64_MIN, INT64_MAX, &w->activity);
		w->v->host.cann_known = w->v->host.cann_known || w->v->c->api_count > 0;
	}
	if (rc == SB_OK)
		rc = device_work_each(w->v, add_event, w);
	activity_normalise(&w->activity);
	intervals_normalise(&w->receives);
	w->v->receives.exposed_ns =
	    intervals_total(&w->receives) - intervals_common(&w->receives, &w->activity.compute);
	return rc;
}

int host_time_fill(const struct thresholds *t, const struct host_part *host, struct rank_view *v)
{
	__attribute__((cleanup(work_free))) struct work w = {
	    .v = v,
	    .host = host,
	    .loading_share = threshold_get(t, "loading_share")->value,
	    .allocation_us = threshold_get(t, "allocation_us")->value,
	    .activity = ACTIVITY_NONE};
	int64_t short_ns = (int64_t)(threshold_get(t, "dispatch_gap_us")->value * 1000);
	int rc;

	v->host = host->seen;
	v->part = host;
	rc = collect(&w);
	if (rc == SB_OK)
		rc = find_idle(&w);
	if (rc == SB_OK)
		rc = find_gaps(&w);
	if (rc == SB_OK)
		rc = split(&w);
	if (rc == SB_OK)
		rc = silence_find(t, host, v, &w.free);
	if (rc == SB_OK)
		rc = gaps_sum(&w.gaps, &w.free, short_ns, &v->c->trace, &v->idle);
	exchange(&v->left, &w.free);
	return rc;
}
