#include <stdlib.h>
#include <string.h>

#include "profiler/findings/host_part.h"
#include "profiler/findings/io_queues.h"

static bool judge(struct check_context *ctx, const struct capture *c, struct io_verdict *out)
{
	int rc = c->queue_count + c->iteration_count > 0 ? io_judge(ctx->t, c, out) : SB_OK;

	if (c->queue_count + c->iteration_count == 0)
		*out = (struct io_verdict){.waiting_ns = SB_NULL};
	if (rc != SB_OK)
		ctx->failed = rc;
	return rc == SB_OK;
}

/* The findings of one code by the queues, and by the intervals between iterations. */
static void by_queues(struct check_context *ctx, const char *code, bool *out_judged)
{
	for (size_t i = 0; i < ctx->p->count; i++) {
		const struct capture *c = &ctx->p->captures[i];
		struct io_verdict v;

		if (!judge(ctx, c, &v))
			return;
		*out_judged = *out_judged || v.queues_known;
		if (v.code && strcmp(v.code, code) == 0)
			io_report(ctx, c, &v);
	}
}

void check_reading(struct check_context *ctx, bool *out_judged)
{
	by_queues(ctx, "io.reading", out_judged);
}

/* Calls of the loader by the operators that run inside them on their own thread. */
struct loading {
	uint32_t *events; /* the calls that count */
	size_t count;
	struct interval_set calls, inside;
	int64_t single_process;
};

static void loading_free(struct loading *l)
{
	free(l->events);
	intervals_free(&l->calls);
	intervals_free(&l->inside);
}

static bool counts(const struct check_context *ctx, const struct rank_view *v, size_t event)
{
	return v->host.loading_by_share ||
	       (double)v->c->trace.dur_ns[event] >= limit(ctx, "dataloader_us") * 1000;
}

static int loading_find(const struct check_context *ctx, const struct rank_view *v, struct loading *l)
{
	const struct trace *t = &v->c->trace;
	size_t kept = 0;
	int rc = host_events(v->c, HOST_LOADING, &l->events, &l->count);

	for (size_t i = 0; i < l->count && rc == SB_OK; i++) {
		uint32_t e = l->events[i];

		if (!counts(ctx, v, e))
			continue;
		l->events[kept++] = e;
		l->single_process += strstr(trace_text(t, t->name[e], NULL), "SingleProcess") != NULL;
		rc = intervals_add(&l->calls, t->start_ns[e], interval_end(t->start_ns[e], t->dur_ns[e]));
	}
	l->count = kept;
	intervals_normalise(&l->calls);
	return rc;
}

/* How much of the calls operators take that run on the loader's own thread: decoding and transforms. */
static int operators_inside(const struct rank_view *v, struct loading *l, double *out_share)
{
	const struct trace *t = &v->c->trace;
	uint8_t *lanes = calloc(t->lane_count + 1, 1);
	int rc = lanes ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; i < l->count && lanes; i++)
		if (t->lane[l->events[i]] < t->lane_count)
			lanes[t->lane[l->events[i]]] = 1;
	for (size_t i = 0; i < t->count && rc == SB_OK; i++)
		if (t->kind[i] == EVENT_HOST_OP && t->lane[i] < t->lane_count && lanes[t->lane[i]] &&
		    !strstr(trace_text(t, t->name[i], NULL), "DataLoader"))
			rc = intervals_add(&l->inside, t->start_ns[i],
			                   interval_end(t->start_ns[i], t->dur_ns[i]));
	intervals_normalise(&l->inside);
	free(lanes);
	if (rc == SB_OK)
		*out_share =
		    (double)intervals_common(&l->inside, &l->calls) / (double)intervals_total(&l->calls);
	return rc;
}

/* A loader without workers runs in the training's own process: where operators take most of its time it is
 * the preparation that is slow. Else which of reading and preparing it is cannot be told without the queues
 * (Hermes 5.1). */
static const char *stage_of(const struct check_context *ctx, const struct loading *l, double inside)
{
	return l->single_process == (int64_t)l->count && inside > limit(ctx, "loading_operators_share")
	           ? "io.processing"
	           : "io.loading";
}

static void report_loading(struct check_context *ctx, const struct rank_view *v, const struct loading *l,
                           const char *code, double inside)
{
	const struct host_time *h = &v->host;
	struct finding *f = finding_new(ctx, code, v, true);

	finding_cost(ctx, f, v, h->loading_ns);
	finding_gain(f, v, h->loading_ns);
	if (h->loading_count > 0)
		finding_evidence(ctx, f, "longest_dataloader_us", (double)h->loading_max_ns / 1000, "us",
		                 "dataloader_us");
	else
		finding_evidence(ctx, f, "idle_while_loading_share", h->loading_share, "share",
		                 "loading_share");
	finding_evidence(ctx, f, "dataloader_calls", (double)l->count, "events", NULL);
	finding_evidence(ctx, f, "device_idle_while_loading_us", (double)h->loading_ns / 1000, "us", NULL);
	if (l->single_process > 0)
		finding_evidence(ctx, f, "calls_without_workers", (double)l->single_process, "events", NULL);
	finding_evidence(ctx, f, "operators_in_loader_share", inside, "share of loading",
	                 "loading_operators_share");
	if (v->preparing_ns != SB_NULL)
		finding_evidence(ctx, f, "preparing_us", (double)v->preparing_ns / 1000, "us", NULL);
	for (size_t i = 0; i < l->count; i++)
		finding_relief(ctx, f, v, RELIEF_EVENT, l->events[i], 0);
	if (strcmp(code, "io.processing") == 0)
		finding_at_most(f, CONFIDENCE_MEDIUM);
}

/* Long calls of the data loader, or many short ones, while the device was idle. */
static void judge_loading(struct check_context *ctx, const struct rank_view *v, const char *code)
{
	__attribute__((cleanup(loading_free))) struct loading l = {0};
	double inside = 0;
	int rc;

	if (v->host.loading_ns == 0)
		return;
	rc = loading_find(ctx, v, &l);
	if (rc == SB_OK && l.count > 0)
		rc = operators_inside(v, &l, &inside);
	if (rc != SB_OK)
		ctx->failed = rc;
	else if (l.count > 0 && strcmp(stage_of(ctx, &l, inside), code) == 0)
		report_loading(ctx, v, &l, code, inside);
}

/* Of captures whose queues do not tell the stage. */
static void by_calls(struct check_context *ctx, const char *code, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		struct io_verdict v;

		if (!ctx->views[i].host.host_known || !judge(ctx, ctx->views[i].c, &v))
			continue;
		*out_judged = true;
		if (!v.queues_known && !v.code)
			judge_loading(ctx, &ctx->views[i], code);
	}
}

void check_processing(struct check_context *ctx, bool *out_judged)
{
	bool ignored = false;

	by_queues(ctx, "io.processing", out_judged);
	by_calls(ctx, "io.processing", &ignored);
}

void check_loading(struct check_context *ctx, bool *out_judged)
{
	by_queues(ctx, "io.loading", out_judged);
	by_calls(ctx, "io.loading", out_judged);
}

/* The copies that cost time: those of this device. */
static void relieve_copies(struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	const struct trace *t = &v->c->trace;

	for (size_t i = 0; i < t->count; i++) {
		int32_t device = t->lane[i] < t->lane_count ? t->lanes[t->lane[i]].device : -1;
		bool mine = capture_is_ascend(v->c) || v->device == SB_NULL || v->device == device;

		if (t->kind[i] == EVENT_MEMCPY && mine && host_copy_to_device(t, i))
			finding_relief(ctx, f, v, RELIEF_EVENT, i, 0);
	}
}

static void judge_copies(struct check_context *ctx, const struct rank_view *v)
{
	double share = (double)v->host.fetching_ns / (double)v->total_ns;
	struct finding *f;

	if (!(share > limit(ctx, "fetching_share")))
		return;
	f = finding_new(ctx, "io.fetching", v, true);
	finding_cost(ctx, f, v, v->host.fetching_ns);
	finding_gain(f, v, v->host.fetching_ns);
	finding_evidence(ctx, f, "exposed_copy_share", share, "share", "fetching_share");
	finding_evidence(ctx, f, "exposed_copy_us", (double)v->host.fetching_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "host_to_device_copies", (double)v->host.fetching_count, "events", NULL);
	finding_evidence(ctx, f, "copies_from_pageable_memory", (double)v->host.pageable_count, "events",
	                 NULL);
	relieve_copies(ctx, f, v);
}

void check_fetching(struct check_context *ctx, bool *out_judged)
{
	by_queues(ctx, "io.fetching", out_judged);
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct io_verdict x;

		/* without a timeline no copy can be seen, and a sparse one shows none */
		if (v->c->trace.count == 0 || capture_format_facts(v->c->format)->sparse_timeline)
			continue;
		*out_judged = true;
		if (judge(ctx, v->c, &x) && !(x.code && strcmp(x.code, "io.fetching") == 0))
			judge_copies(ctx, v);
	}
}
