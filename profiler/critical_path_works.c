#include <stdlib.h>

#include "base/grow.h"
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

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int add_device(struct path_devices *d, int32_t device)
{
	/* work comes in long runs of one device */
	if (d->count > 0 && d->items[d->count - 1] == device)
		return SB_OK;
	if (sb_grow(&d->items, d->count, sizeof(*d->items)) != SB_OK)
		return SB_ENOMEM;
	d->items[d->count++] = device;
	return SB_OK;
}

static int list_devices(const struct capture *c, struct path_devices *d)
{
	int rc = SB_OK;

	for (size_t i = 0; by_kernels(c) && i < c->kernel_count && rc == SB_OK; i++)
		if (is_timed(&c->kernels[i]))
			rc = add_device(d, device_of_kernel(&c->kernels[i]));
	for (size_t i = 0; !by_kernels(c) && i < c->trace.count && rc == SB_OK; i++)
		if (event_is_device_work(c->trace.kind[i]))
			rc = add_device(d, device_of_event(&c->trace, i));
	return rc;
}

int path_devices_find(const struct capture *c, struct path_devices *out)
{
	struct path_devices d = {0};
	size_t kept = 0;

	if (list_devices(c, &d) != SB_OK) {
		free(d.items);
		return SB_ENOMEM;
	}
	if (d.count > 0)
		qsort(d.items, d.count, sizeof(*d.items), by_number);
	for (size_t i = 0; i < d.count; i++)
		if (kept == 0 || d.items[kept - 1] != d.items[i])
			d.items[kept++] = d.items[i];
	d.count = kept;
	*out = d;
	return SB_OK;
}

void path_devices_free(struct path_devices *d)
{
	free(d->items);
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

/* A kernel row says nothing of its launch: the event of the timeline that starts with it does. */
struct timed_link {
	int64_t start, link;
};

static int by_start(const void *a, const void *b)
{
	const struct timed_link *x = a, *y = b;

	return sb_compare(&x->start, &y->start, 1);
}

static int find_links(const struct trace *t, struct path_works *w)
{
	struct timed_link *links = malloc((t->count + 1) * sizeof(*links));
	size_t n = 0;

	if (!links)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		if (event_is_device_work(t->kind[i]) && t->link[i] >= 0)
			links[n++] = (struct timed_link){interval_bound(t->start_ns[i]), t->link[i]};
	qsort(links, n, sizeof(*links), by_start);
	for (size_t i = 0; i < w->count && n > 0; i++) {
		const struct timed_link key = {.start = w->items[i].start};
		const struct timed_link *found = bsearch(&key, links, n, sizeof(*links), by_start);

		if (found)
			w->items[i].link = found->link;
	}
	free(links);
	return SB_OK;
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

static void fill(const struct capture *c, int32_t device, struct path_works *w)
{
	for (size_t i = 0; w->kernels && i < c->kernel_count; i++)
		if (is_timed(&c->kernels[i]) && device_of_kernel(&c->kernels[i]) == device)
			w->items[w->count++] = work_of_kernel(&c->kernels[i], i);
	for (size_t i = 0; !w->kernels && i < c->trace.count; i++)
		if (event_is_device_work(c->trace.kind[i]) && device_of_event(&c->trace, i) == device)
			w->items[w->count++] = work_of_event(&c->trace, i);
}

int path_works_collect(const struct profile *p, uint32_t capture, int32_t device, struct path_works *out)
{
	const struct capture *c = &p->captures[capture];
	struct path_works w = {
	    .capture = capture, .device = device < 0 ? SB_NULL : device, .kernels = by_kernels(c)};
	int rc;

	w.items = malloc((count_works(c) + 1) * sizeof(*w.items));
	if (!w.items)
		return SB_ENOMEM;
	fill(c, device, &w);
	qsort(w.items, w.count, sizeof(*w.items), by_end);
	for (size_t i = 1; i < w.count; i++)
		if (w.items[i].start <= w.items[w.first].start)
			w.first = i;
	rc = link_streams(&w);
	if (rc == SB_OK && w.kernels)
		rc = find_links(&c->trace, &w);
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
