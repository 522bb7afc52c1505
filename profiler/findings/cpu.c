#include <string.h>

#include "profiler/findings/host_part.h"

int64_t host_rest(const struct rank_view *v)
{
	const struct host_time *h = &v->host;
	int64_t claimed = sb_add_sat(h->explained_ns, h->queued_ns);

	if (h->silent_count >= SILENCES_LEAST)
		claimed = sb_add_sat(claimed, h->silent_ns);
	claimed = sb_add_sat(claimed, v->contention.cost_ns);
	if (v->free_ns == SB_NULL || v->free_ns <= claimed)
		return 0;
	return v->free_ns - claimed;
}

void doubt_idle(const struct check_context *ctx, struct finding *f, const struct rank_view *v)
{
	if (!f)
		return;
	finding_at_most(f, CONFIDENCE_LOW);
	f->severity = SEVERITY_INFO;
	finding_evidence(ctx, f, "graph_launches_without_kernels", (double)v->part->graphs.unrecorded,
	                 "events", NULL);
	finding_evidence(ctx, f, "graph_launches", (double)v->part->graphs.count, "events", NULL);
}

/* Share of the idle time in gaps that ended with work launched too late, for a sure verdict. */
#define STARVED_MIN 0.5

static bool records_stack(const struct capture *c)
{
	for (size_t i = 0; i < c->trace.count; i++)
		if (c->trace.kind[i] == EVENT_HOST_PYTHON)
			return true;
	return false;
}

static void report_host_bound(struct check_context *ctx, const struct rank_view *v, int64_t rest)
{
	struct finding *f = finding_new(ctx, "cpu.host_bound", v, true);
	const struct idle_sum *s = &v->idle;

	/* idle time alone may be anything; sure are gaps that an empty queue explains. A profiler that
	 * records the Python stack makes the host slow itself (advisor-rules 1.2). */
	if ((double)s->host_ns < STARVED_MIN * (double)rest || records_stack(v->c))
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_cost(ctx, f, v, rest);
	finding_gain(f, v, rest);
	finding_evidence(ctx, f, "unexplained_free_share", (double)rest / (double)v->total_ns, "share",
	                 "free_share");
	if (v->part->graphs.unreliable)
		doubt_idle(ctx, f, v);
	finding_evidence(ctx, f, "free_us", (double)v->free_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "explained_free_us", (double)v->host.explained_ns / 1000, "us", NULL);
	if (s->gaps > 0) {
		/* together they are the idle time, over the same gaps */
		finding_evidence(ctx, f, "longest_gaps_us", (double)s->listed_ns / 1000, "us", NULL);
		finding_evidence(ctx, f, "smaller_gaps_us", (double)(s->total_ns - s->listed_ns) / 1000, "us",
		                 NULL);
	}
	if (s->host_ns + s->queued_ns > 0)
		finding_evidence(ctx, f, "launched_too_late_us", (double)s->host_ns / 1000, "us", NULL);
	if (v->preparing_ns != SB_NULL)
		finding_evidence(ctx, f, "preparing_us", (double)v->preparing_ns / 1000, "us", NULL);
	if (v->part->launches.count > 0)
		finding_relief(ctx, f, v, RELIEF_HOST, 0, 0);
	show_gaps(ctx, f, v);
}

/* The device waits and none of the other causes says why. */
void check_host_bound(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t rest = sb_sub_sat(host_rest(v), v->dispatch_ns);
		bool blocked = v->part->blocked_ratio > limit(ctx, "launch_blocking_ratio");

		if (v->free_ns == SB_NULL)
			continue;
		*out_judged = true;
		if (blocked)
			rest = sb_sub_sat(rest, v->idle.starved_ns);
		if ((double)rest / (double)v->total_ns > limit(ctx, "free_share"))
			report_host_bound(ctx, v, rest);
	}
}

/* CANN compiles operators of a new shape one by one: their number tells. Elsewhere the idle time does. */
static void compiled(struct check_context *ctx, const struct rank_view *v, int64_t count, int64_t api_ns,
                     bool by_count)
{
	const struct event_list *list = &v->part->events_of[HOST_COMPILATION];
	struct finding *f = finding_new(ctx, "cpu.compilation", v, true);
	double share = (double)v->host.compilation_ns / (double)v->total_ns;

	if (v->host.compilation_count > 0) {
		finding_cost(ctx, f, v, v->host.compilation_ns);
		finding_gain(f, v, v->host.compilation_ns);
	}
	if (by_count)
		finding_evidence(ctx, f, "compilations", (double)count, "events", "compilation_events");
	if (v->host.compilation_count > 0) {
		finding_evidence(ctx, f, "device_idle_while_compiling_share", share, "share",
		                 by_count ? NULL : "compilation_share");
		finding_evidence(ctx, f, "device_idle_while_compiling_us",
		                 (double)v->host.compilation_ns / 1000, "us", NULL);
	}
	if (!by_count)
		finding_evidence(ctx, f, "compilations", (double)count, "events", NULL);
	if (api_ns > 0)
		finding_evidence(ctx, f, "host_time_us", (double)api_ns / 1000, "us", NULL);
	show_dynamic(ctx, f, v);
	for (size_t i = 0; i < list->count; i++)
		finding_relief(ctx, f, v, RELIEF_EVENT, list->items[i], 0);
}

/* Calls and their time as the table of calls has them. */
static int64_t compilations_of_table(const struct capture *c, int64_t *out_ns)
{
	int64_t count = 0;

	*out_ns = 0;
	for (size_t k = 0; k < c->api_count; k++) {
		const struct api_row *a = &c->apis[k];

		if (!strstr(trace_text(&c->trace, a->name, NULL), "aclopCompileAndExecute"))
			continue;
		count = sb_add_sat(count, a->count);
		*out_ns = sb_add_sat(*out_ns, a->time_ns);
	}
	return count;
}

void check_compilation(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t count = v->host.compilation_count, api_ns, api_count;
		bool ascend = capture_is_ascend(v->c), by_count;

		/* without the calls of the runtime nothing says that there were none */
		if (!v->host.cann_known)
			continue;
		*out_judged = true;
		api_count = compilations_of_table(v->c, &api_ns);
		if (api_count > count)
			count = api_count;
		by_count = ascend && (double)count >= limit(ctx, "compilation_events");
		if (by_count ||
		    (double)v->host.compilation_ns > limit(ctx, "compilation_share") * (double)v->total_ns)
			compiled(ctx, v, count, api_ns, by_count);
	}
}
