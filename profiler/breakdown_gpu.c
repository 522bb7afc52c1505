#include <stdlib.h>

#include "profiler/breakdown_parts.h"

/* Past this many (device, step) pairs, pairs without work get no row: a hostile trace may name thousands of
 * both. */
#define ROWS_MAX 100000

struct work {
	uint32_t event;
	uint32_t step; /* NO_STEP = launched outside every step, or the launch is not known */
};

struct devices {
	int32_t *ids; /* ascending; -1 (unknown) last */
	size_t count;
	uint32_t *of_lane; /* index into ids */
};

struct gpu {
	const struct profile *p;
	const struct capture *c;
	size_t capture;
	struct devices devices;
	struct work *work; /* by device, step */
	size_t count;
	bool linked; /* at least one launch is known */
};

static void gpu_free(struct gpu *g)
{
	free(g->devices.ids);
	free(g->devices.of_lane);
	free(g->work);
}

static int by_device(const void *a, const void *b)
{
	/* -1 as unsigned is the largest: unknown comes last */
	uint32_t x = (uint32_t) * (const int32_t *)a, y = (uint32_t) * (const int32_t *)b;

	return (x > y) - (x < y);
}

static int32_t device_of(const struct trace *t, size_t event)
{
	int32_t device = t->lane[event] < t->lane_count ? t->lanes[t->lane[event]].device : -1;

	return device < 0 ? -1 : device;
}

/* The devices that have work. */
static int find_devices(struct gpu *g)
{
	const struct trace *t = &g->c->trace;
	struct devices *d = &g->devices;
	size_t n = 0;

	d->ids = calloc(t->lane_count + 1, sizeof(*d->ids));
	d->of_lane = calloc(t->lane_count + 1, sizeof(*d->of_lane));
	if (!d->ids || !d->of_lane)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		size_t lane = t->lane[i] < t->lane_count ? t->lane[i] : t->lane_count;

		if (event_is_device_work(t->kind[i])) {
			g->count++;
			if (!d->of_lane[lane])
				d->ids[n++] = device_of(t, i);
			d->of_lane[lane] = 1;
		}
	}
	qsort(d->ids, n, sizeof(*d->ids), by_device);
	for (size_t i = 0; i < n; i++)
		if (d->count == 0 || d->ids[i] != d->ids[d->count - 1])
			d->ids[d->count++] = d->ids[i];
	for (size_t lane = 0; lane <= t->lane_count && d->count > 0; lane++) {
		int32_t id = lane < t->lane_count && t->lanes[lane].device >= 0 ? t->lanes[lane].device : -1;
		const int32_t *at = bsearch(&id, d->ids, d->count, sizeof(*d->ids), by_device);

		d->of_lane[lane] = at ? (uint32_t)(at - d->ids) : 0;
	}
	return SB_OK;
}

static size_t key_of(const struct gpu *g, const struct work *w, bool by_step)
{
	const struct trace *t = &g->c->trace;
	size_t lane = t->lane[w->event] < t->lane_count ? t->lane[w->event] : t->lane_count;

	if (by_step)
		return w->step == NO_STEP ? g->c->step_count : w->step;
	return g->devices.of_lane[lane];
}

/* One pass of a stable counting sort from g->work into *to, which change places. */
static int counting_pass(struct gpu *g, struct work **to, bool by_step, size_t keys)
{
	size_t *at = calloc(keys + 1, sizeof(*at));
	struct work *swap = g->work;

	if (!at)
		return SB_ENOMEM;
	for (size_t i = 0; i < g->count; i++)
		at[key_of(g, &g->work[i], by_step) + 1]++;
	for (size_t k = 0; k < keys; k++)
		at[k + 1] += at[k];
	for (size_t i = 0; i < g->count; i++)
		(*to)[at[key_of(g, &g->work[i], by_step)]++] = g->work[i];
	g->work = *to;
	*to = swap;
	free(at);
	return SB_OK;
}

static int sort_work(struct gpu *g)
{
	struct work *other = calloc(g->count + 1, sizeof(*other));
	int rc = other ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK)
		rc = counting_pass(g, &other, true, g->c->step_count + 1);
	if (rc == SB_OK)
		rc = counting_pass(g, &other, false, g->devices.count);
	free(other);
	return rc;
}

/* Lists the work and the step that launched each piece. */
static int collect_work(struct gpu *g)
{
	const struct trace *t = &g->c->trace;
	LAUNCHES_AUTO launches = {0};
	STEP_WINDOWS_AUTO windows = {0};
	size_t n = 0;
	int rc = launches_build(t, &launches);

	if (rc == SB_OK)
		rc = step_windows_build(g->c, &windows);
	if (rc != SB_OK)
		return rc;
	g->work = calloc(g->count + 1, sizeof(*g->work));
	if (!g->work)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		if (!event_is_device_work(t->kind[i]))
			continue;
		int64_t start = launches_start(&launches, t->link[i]);

		g->linked = g->linked || start != SB_NULL;
		g->work[n++] = (struct work){
		    (uint32_t)i,
		    start == SB_NULL ? NO_STEP : step_windows_at(&windows, interval_bound(start))};
	}
	return SB_OK;
}

static int fill(const struct gpu *g, size_t from, size_t to, struct breakdown_row *row)
{
	const struct trace *t = &g->c->trace;
	ACTIVITY_AUTO a = ACTIVITY_NONE;
	INTERVALS_AUTO covered = {0};
	int rc = SB_OK;

	for (size_t i = from; i < to && rc == SB_OK; i++) {
		uint32_t e = g->work[i].event;

		rc = activity_add(&a, t->kind[e], t->start_ns[e], t->dur_ns[e]);
	}
	activity_normalise(&a);
	if (rc == SB_OK)
		rc = intervals_union(&a.compute, &a.communication, &covered);
	if (rc != SB_OK)
		return rc;
	row->span_ns = a.first == SB_NULL ? 0 : a.last - a.first;
	row->compute_ns = intervals_total(&a.compute);
	row->communication_ns = intervals_total(&a.communication);
	row->overlap_ns = intervals_common(&a.communication, &a.compute);
	row->exposed_ns = row->communication_ns - row->overlap_ns;
	row->copy_ns = intervals_total(&a.copy);
	row->copy_exposed_ns = row->copy_ns - intervals_common(&a.copy, &covered);
	row->busy_ns = row->compute_ns + row->exposed_ns + row->copy_exposed_ns;
	row->free_ns = row->span_ns - row->busy_ns;
	return SB_OK;
}

/* Rows of one device, whose work is g->work[from, to). */
static int device_rows(const struct gpu *g, size_t device, size_t from, size_t to, struct row_list *out)
{
	size_t steps = g->c->step_count, at = from;
	bool all = steps == 0 || g->devices.count <= ROWS_MAX / steps;
	int64_t id = g->devices.ids[device] < 0 ? SB_NULL : g->devices.ids[device];
	struct breakdown_row row;
	int rc;

	for (size_t s = 0; s < steps; s++) {
		size_t end = at;

		while (end < to && g->work[end].step == s)
			end++;
		if ((end == at && !all) || g->c->steps[s].number == SB_NULL) {
			at = end;
			continue;
		}
		row = row_empty(g->p, g->capture, id, (uint32_t)s);
		/* no launch is known at all: what a step launched cannot be told, which is not 0 */
		rc = g->linked ? fill(g, at, end, &row) : SB_OK;
		if (rc == SB_OK)
			rc = rows_add(out, &row);
		if (rc != SB_OK)
			return rc;
		at = end;
	}
	row = row_empty(g->p, g->capture, id, NO_STEP);
	rc = fill(g, from, to, &row);
	return rc == SB_OK ? rows_add(out, &row) : rc;
}

/* A capture without device work: the steps of the host, and no device quantities. */
static int host_rows(const struct gpu *g, struct row_list *out)
{
	for (size_t s = 0; s <= g->c->step_count; s++) {
		if (s < g->c->step_count && g->c->steps[s].number == SB_NULL)
			continue;
		struct breakdown_row row =
		    row_empty(g->p, g->capture, SB_NULL, s < g->c->step_count ? (uint32_t)s : NO_STEP);
		int rc = rows_add(out, &row);

		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int breakdown_gpu(const struct profile *p, size_t capture, struct row_list *out)
{
	__attribute__((cleanup(gpu_free))) struct gpu g = {
	    .p = p, .c = &p->captures[capture], .capture = capture};
	size_t from = 0;
	int rc = find_devices(&g);

	if (rc == SB_OK && g.count == 0)
		return host_rows(&g, out);
	if (rc == SB_OK)
		rc = collect_work(&g);
	if (rc == SB_OK)
		rc = sort_work(&g);
	for (size_t d = 0; d < g.devices.count && rc == SB_OK; d++) {
		size_t to = from;

		while (to < g.count && key_of(&g, &g.work[to], false) == d)
			to++;
		rc = device_rows(&g, d, from, to, out);
		from = to;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return rc;
}
