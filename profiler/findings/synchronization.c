#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/findings/call_site.h"
#include "profiler/findings/host_part.h"

/* Calls that wait for the device (Hermes, Table 2), shown with who made them. */

/* Where so many calls come from is enough to know. */
#define SITES_MAX 256

/* One wait of a thread, and the idle time of the device that began in it or in its wake. */
struct wait {
	int64_t start, end;
	uint32_t event;
	int64_t cost_ns;
};

struct waits {
	struct wait *items;
	size_t count;
};

static void waits_free(struct waits *w)
{
	free(w->items);
}

/* Of waits inside each other the outermost comes first. */
static int by_start(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return sb_compare((const int64_t[]){x->start, -x->end, x->event},
	                  (const int64_t[]){y->start, -y->end, y->event}, 3);
}

static int by_cost(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return sb_compare((const int64_t[]){-x->cost_ns, x->start, x->event},
	                  (const int64_t[]){-y->cost_ns, y->start, y->event}, 3);
}

/* The outermost waits in order of time. Those of several threads at one time are one: the device is idle
 * once. */
static int list_waits(const struct rank_view *v, struct waits *out)
{
	const struct event_list *list = &v->part->events_of[HOST_SYNCHRONIZATION];
	const struct trace *t = &v->c->trace;
	size_t kept = 0;

	out->items = calloc(list->count + 1, sizeof(*out->items));
	if (!out->items)
		return SB_ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t e = list->items[i];

		out->items[i] = (struct wait){interval_bound(t->start_ns[e]),
		                              interval_end(t->start_ns[e], t->dur_ns[e]), e, 0};
	}
	qsort(out->items, list->count, sizeof(*out->items), by_start);
	for (size_t i = 0; i < list->count; i++)
		if (kept == 0 || out->items[i].end > out->items[kept - 1].end)
			out->items[kept++] = out->items[i];
	out->count = kept;
	return SB_OK;
}

/* Each idle time belongs to the wait that began last before it. */
static void share_out(struct waits *w, const struct interval_set *waited)
{
	size_t at = 0;

	for (size_t i = 0; i < waited->count && w->count > 0; i++) {
		const struct interval *x = &waited->items[i];

		while (at + 1 < w->count && w->items[at + 1].start <= x->start)
			at++;
		w->items[at].cost_ns = sb_add_sat(w->items[at].cost_ns, x->end - x->start);
	}
}

struct named_cost {
	uint32_t text; /* of the context's strings */
	double us;
};

static int by_text(const void *a, const void *b)
{
	const struct named_cost *x = a, *y = b;

	return (x->text > y->text) - (x->text < y->text);
}

static int by_us(const void *a, const void *b)
{
	const struct named_cost *x = a, *y = b;

	if (x->us != y->us)
		return x->us > y->us ? -1 : 1;
	return by_text(a, b);
}

/* One line a place in the program, the costliest first. */
static void show(struct check_context *ctx, struct finding *f, struct named_cost *costs, size_t count)
{
	size_t kept = 0;

	qsort(costs, count, sizeof(*costs), by_text);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && costs[kept - 1].text == costs[i].text)
			costs[kept - 1].us += costs[i].us;
		else
			costs[kept++] = costs[i];
	}
	qsort(costs, kept, sizeof(*costs), by_us);
	for (size_t i = 0; i < kept && i < FINDING_OPERATORS_MAX; i++)
		finding_operator(ctx, f, sb_strings_get(ctx->strings, costs[i].text, NULL), costs[i].us);
}

static int64_t cost_of(const struct waits *w, uint32_t event)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->items[i].event == event)
			return w->items[i].cost_ns;
	return 0;
}

/* w->items: at most SITES_MAX, those that cost something. */
static int name_sites(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                      const struct waits *w)
{
	struct call_site *sites = calloc(w->count + 1, sizeof(*sites));
	struct named_cost *costs = calloc(w->count + 1, sizeof(*costs));
	int rc = sites && costs ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < w->count; i++)
		sites[i].event = w->items[i].event;
	if (rc == SB_OK)
		rc = call_sites_find(&v->c->trace, sites, w->count);
	for (size_t i = 0; rc == SB_OK && i < w->count; i++) {
		char text[CALL_SITE_TEXT_MAX];

		call_site_text(&v->c->trace, &sites[i], text);
		rc = sb_strings_add(ctx->strings, text, strlen(text), &costs[i].text);
		costs[i].us = (double)cost_of(w, sites[i].event) / 1000;
	}
	if (rc == SB_OK)
		show(ctx, f, costs, w->count);
	free(sites);
	free(costs);
	return rc;
}

/* The last wait that has begun by a time, NULL before the first. */
static const struct wait *wait_at(const struct waits *w, int64_t time)
{
	size_t at = SB_BISECT(i, 0, w->count, w->items[i].start <= time);

	return at > 0 ? &w->items[at - 1] : NULL;
}

/* Without the calls that cost something somewhere the host would not stop; what they hold goes with them. All
 * calls of their names go: where the device is at work on a transfer it does not idle, and yet its products
 * may wait for the host. */
static int relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                   const struct waits *w)
{
	const struct event_list *list = &v->part->events_of[HOST_SYNCHRONIZATION];
	const struct trace *t = &v->c->trace;
	uint8_t *costly = calloc(sb_strings_count(t->strings) + 1, 1);

	if (!costly)
		return SB_ENOMEM;
	for (size_t i = 0; i < w->count; i++)
		costly[t->name[w->items[i].event]] |= w->items[i].cost_ns > 0;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t e = list->items[i];
		int64_t start = interval_bound(t->start_ns[e]);
		const struct wait *outer = wait_at(w, start);

		if (outer && costly[t->name[outer->event]] && start < outer->end)
			finding_relief(ctx, f, v, RELIEF_EVENT, e, 0);
	}
	free(costly);
	return SB_OK;
}

static void show_calls(struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	__attribute__((cleanup(waits_free))) struct waits w = {0};
	size_t costly = 0;

	if (!f || v->part->events_of[HOST_SYNCHRONIZATION].count == 0)
		return;
	ctx->failed = list_waits(v, &w);
	if (ctx->failed != SB_OK)
		return;
	share_out(&w, &v->waited);
	ctx->failed = relieve(ctx, f, v, &w);
	qsort(w.items, w.count, sizeof(*w.items), by_cost);
	while (costly < w.count && costly < SITES_MAX && w.items[costly].cost_ns > 0)
		costly++;
	w.count = costly;
	if (ctx->failed == SB_OK)
		ctx->failed = name_sites(ctx, f, v, &w);
}

static void judge(struct check_context *ctx, const struct rank_view *v)
{
	int64_t cost = v->host.synchronization_ns, norms = v->host.batch_norm_count;
	bool blocked = v->part->blocked_ratio > limit(ctx, "launch_blocking_ratio"),
	     waits = (double)cost / (double)v->total_ns > limit(ctx, "synchronization_share"),
	     many = (double)norms >= limit(ctx, "syncbatchnorm_events");
	struct finding *f;

	if (blocked)
		cost = sb_add_sat(cost, v->idle.starved_ns);
	if (!waits && !blocked && !many)
		return;
	f = finding_new(ctx, "cpu.synchronization", v, true);
	finding_cost(ctx, f, v, cost);
	finding_gain(f, v, cost);
	if (blocked)
		finding_evidence(ctx, f, "launches_that_wait_ratio", v->part->blocked_ratio, "ratio",
		                 "launch_blocking_ratio");
	else if (!waits)
		finding_evidence(ctx, f, "sync_batch_norm_calls", (double)norms, "events",
		                 "syncbatchnorm_events");
	finding_evidence(ctx, f, "idle_in_synchronization_share", (double)cost / (double)v->total_ns, "share",
	                 "synchronization_share");
	finding_evidence(ctx, f, "device_idle_by_synchronization_us", (double)cost / 1000, "us", NULL);
	finding_evidence(ctx, f, "synchronizing_calls", (double)v->host.synchronization_count, "events",
	                 NULL);
	if (waits && many)
		finding_evidence(ctx, f, "sync_batch_norm_calls", (double)norms, "events", NULL);
	show_calls(ctx, f, v);
}

void check_synchronization(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		if (!ctx->views[i].host.host_known)
			continue;
		*out_judged = true;
		judge(ctx, &ctx->views[i]);
	}
}
