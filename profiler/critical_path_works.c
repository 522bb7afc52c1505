#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/critical_path_parts.h"

/* Does the kernel table tell of the device's work? For Ascend it does: its copies are free time. */
static bool by_kernels(const struct capture *c)
{
	return c->kernel_count > 0 && (capture_is_ascend(c) || c->trace.count == 0);
}

static int32_t device_of_event(const struct trace *t, size_t event)
{
	return t->lane[event] < t->lane_count ? t->lanes[t->lane[event]].device : -1;
}

static int32_t device_of_kernel(const struct kernel *k)
{
	return (int32_t)k->device - 1;
}

static bool is_timed(const struct kernel *k)
{
	return k->start_ns != SB_NULL && k->dur_ns >= 0;
}

static int by_device(const void *a, const void *b)
{
	const struct device_work *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static size_t count_works(const struct capture *c)
{
	size_t n = 0;

	if (by_kernels(c))
		return c->kernel_count;
	for (size_t i = 0; i < c->trace.count; i++)
		n += event_is_device_work(c->trace.kind[i]);
	return n;
}

static size_t list_works(const struct capture *c, struct device_work *out)
{
	bool kernels = by_kernels(c);
	size_t n = 0;

	for (size_t i = 0; kernels && i < c->kernel_count; i++)
		if (is_timed(&c->kernels[i]))
			out[n++] = (struct device_work){device_of_kernel(&c->kernels[i]), (uint32_t)i};
	for (size_t i = 0; !kernels && i < c->trace.count; i++)
		if (event_is_device_work(c->trace.kind[i]))
			out[n++] = (struct device_work){device_of_event(&c->trace, i), (uint32_t)i};
	return n;
}

/* Most captures are of one device, and in order already. */
static void sort_works(struct device_work *works, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (by_device(&works[i - 1], &works[i]) > 0) {
			qsort(works, n, sizeof(*works), by_device);
			return;
		}
}

static int by_start(const void *a, const void *b)
{
	const struct timed_link *x = a, *y = b;

	return sb_compare((const int64_t[]){x->start, x->link}, (const int64_t[]){y->start, y->link}, 2);
}

static int list_links(const struct trace *t, struct path_devices *d)
{
	d->links = malloc((t->count + 1) * sizeof(*d->links));
	if (!d->links)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (event_is_device_work(t->kind[i]) && t->link[i] >= 0)
			d->links[d->link_count++] =
			    (struct timed_link){interval_bound(t->start_ns[i]), t->link[i]};
	qsort(d->links, d->link_count, sizeof(*d->links), by_start);
	return SB_OK;
}

static int find_waits(const struct trace *t, struct event_waits *out)
{
	LAUNCHES_AUTO launches = {0};
	int rc = launches_build(t, &launches);

	return rc == SB_OK ? event_waits_build(t, &launches, out) : rc;
}

int path_devices_find(const struct capture *c, struct path_devices *out)
{
	struct path_devices d = {0};
	size_t n = count_works(c);
	int rc = SB_OK;

	d.works = malloc((n + 1) * sizeof(*d.works));
	if (!d.works)
		return SB_ENOMEM;
	n = list_works(c, d.works);
	sort_works(d.works, n);
	for (size_t i = 0; i <= n && rc == SB_OK; i++) {
		if (i > 0 && i < n && d.works[i].device == d.works[i - 1].device)
			continue;
		rc = sb_grow(&d.first, d.count, sizeof(*d.first));
		if (rc == SB_OK)
			d.first[d.count++] = i;
	}
	if (rc == SB_OK)
		d.count--; /* the last is the end */
	if (rc == SB_OK)
		rc = by_kernels(c) ? list_links(&c->trace, &d) : find_waits(&c->trace, &d.waits);
	if (rc == SB_OK)
		*out = d;
	else
		path_devices_free(&d);
	return rc;
}

void path_devices_free(struct path_devices *d)
{
	free(d->works);
	free(d->first);
	free(d->links);
	event_waits_free(&d->waits);
	*d = (struct path_devices){0};
}

static enum path_part part_of(uint8_t kind)
{
	switch (kind) {
	case EVENT_COMMUNICATION: return PATH_COMMUNICATION;
	case EVENT_MEMCPY:
	case EVENT_MEMSET: return PATH_COPY;
	default: return PATH_COMPUTE;
	}
}

/* Rows of collectives have no stream of their own: they count as one, behind all others. */
static struct path_work work_of_kernel(const struct kernel *k, size_t i)
{
	return (struct path_work){.start = interval_bound(k->start_ns),
	                          .end = interval_end(k->start_ns, k->dur_ns),
	                          .link = -1,
	                          .index = (uint32_t)i,
	                          .name = k->name,
	                          .stream = k->communication ? UINT32_MAX : (uint32_t)k->stream,
	                          .before = NO_WORK,
	                          .behind = NO_WORK,
	                          .part = k->communication ? PATH_COMMUNICATION : PATH_COMPUTE};
}

static struct path_work work_of_event(const struct trace *t, size_t i)
{
	return (struct path_work){.start = interval_bound(t->start_ns[i]),
	                          .end = interval_end(t->start_ns[i], t->dur_ns[i]),
	                          .link = t->link[i],
	                          .index = (uint32_t)i,
	                          .name = t->name[i],
	                          .stream = t->lane[i],
	                          .before = NO_WORK,
	                          .behind = NO_WORK,
	                          .part = part_of(t->kind[i])};
}

static int by_end(const void *a, const void *b)
{
	const struct path_work *x = a, *y = b;
	/* the place in the file comes last, so that the order of events changes no sum */
	const int64_t left[] = {x->end, x->start, x->part, x->index};
	const int64_t right[] = {y->end, y->start, y->part, y->index};

	return sb_compare(left, right, 4);
}

/* A work of a stream, to find the one before it. */
struct stream_place {
	int64_t start;
	uint32_t stream, at; /* at: place by end, which settles what starts together */
};

static int by_stream(const void *a, const void *b)
{
	const struct stream_place *x = a, *y = b;
	const int64_t left[] = {x->stream, x->start, x->at}, right[] = {y->stream, y->start, y->at};

	return sb_compare(left, right, 3);
}

static int link_streams(struct path_works *w)
{
	struct stream_place *places = malloc((w->count + 1) * sizeof(*places));

	if (!places)
		return SB_ENOMEM;
	for (size_t i = 0; i < w->count; i++)
		places[i] = (struct stream_place){w->items[i].start, w->items[i].stream, (uint32_t)i};
	qsort(places, w->count, sizeof(*places), by_stream);
	for (size_t i = 1; i < w->count; i++)
		if (places[i].stream == places[i - 1].stream)
			w->items[places[i].at].before = places[i - 1].at;
	free(places);
	return SB_OK;
}

static void find_links(const struct path_devices *d, struct path_works *w)
{
	for (size_t i = 0; i < w->count; i++) {
		size_t at = SB_BISECT(k, 0, d->link_count, d->links[k].start < w->items[i].start);

		if (at < d->link_count && d->links[at].start == w->items[i].start)
			w->items[i].link = d->links[at].link;
	}
}

/* The place of an event of the device, or NO_WORK. */
static uint32_t place_of(const struct path_works *w, const struct trace *t, uint32_t event)
{
	const struct path_work key = work_of_event(t, event);
	const struct path_work *found = bsearch(&key, w->items, w->count, sizeof(key), by_end);

	return found ? (uint32_t)(found - w->items) : NO_WORK;
}

/* Of several that a stream waited for the last to end held it up. */
static void find_behind(const struct trace *t, const struct event_waits *waits, struct path_works *w)
{
	for (size_t i = 0; i < w->count && waits->count > 0; i++) {
		size_t n;
		const struct event_wait *x = event_waits_of(waits, w->items[i].index, &n);

		for (size_t k = 0; k < n && w->items[i].behind == NO_WORK; k++)
			w->items[i].behind = place_of(w, t, x[k].behind);
	}
}

int path_works_collect(const struct profile *p, uint32_t capture, const struct path_devices *d, size_t which,
                       struct path_works *out)
{
	const struct capture *c = &p->captures[capture];
	size_t n = d->first[which + 1] - d->first[which];
	const struct device_work *from = &d->works[d->first[which]];
	int32_t device = n > 0 ? from->device : -1;
	struct path_works w = {.capture = capture,
	                       .device = device < 0 ? SB_NULL : device,
	                       .kernels = by_kernels(c),
	                       .items = malloc((n + 1) * sizeof(*w.items))};
	int rc;

	if (!w.items)
		return SB_ENOMEM;
	for (; w.count < n; w.count++)
		w.items[w.count] = w.kernels
		                       ? work_of_kernel(&c->kernels[from[w.count].index], from[w.count].index)
		                       : work_of_event(&c->trace, from[w.count].index);
	qsort(w.items, w.count, sizeof(*w.items), by_end);
	for (size_t i = 1; i < w.count; i++)
		if (w.items[i].start <= w.items[w.first].start)
			w.first = i;
	rc = link_streams(&w);
	if (rc == SB_OK && w.kernels)
		find_links(d, &w);
	if (rc == SB_OK && !w.kernels)
		find_behind(&c->trace, &d->waits, &w);
	if (rc != SB_OK)
		path_works_free(&w);
	else
		*out = w;
	return rc;
}

void path_works_free(struct path_works *w)
{
	free(w->items);
	*w = (struct path_works){0};
}
