#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"

/* The device waits and none of the causes below says why. */
void check_host_bound(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t rest;
		double share;
		struct finding *f;

		if (v->free_ns == SB_NULL)
			continue;
		*out_judged = true;
		rest = v->free_ns > v->host.explained_ns ? v->free_ns - v->host.explained_ns : 0;
		share = (double)rest / (double)v->total_ns;
		if (!(share > limit(ctx, "free_share")))
			continue;
		f = finding_new(ctx, "cpu.host_bound", v, true);
		/* a profiler that records much makes the host slow itself (advisor-rules 1.2) */
		finding_at_most(f, CONFIDENCE_MEDIUM);
		finding_cost(ctx, f, v, rest);
		finding_gain(f, v, rest);
		finding_evidence(ctx, f, "unexplained_free_share", share, "share", "free_share");
		finding_evidence(ctx, f, "free_us", (double)v->free_ns / 1000, "us", NULL);
		finding_evidence(ctx, f, "explained_free_us", (double)v->host.explained_ns / 1000, "us",
		                 NULL);
		if (v->preparing_ns != SB_NULL)
			finding_evidence(ctx, f, "preparing_us", (double)v->preparing_ns / 1000, "us", NULL);
	}
}

static void compiled(struct check_context *ctx, const struct rank_view *v, int64_t count, int64_t api_ns)
{
	struct finding *f = finding_new(ctx, "cpu.compilation", v, true);

	if (v->host.compilation_count > 0) {
		finding_cost(ctx, f, v, v->host.compilation_ns);
		finding_gain(f, v, v->host.compilation_ns);
	}
	finding_evidence(ctx, f, "compilations", (double)count, "events", "compilation_events");
	if (v->host.compilation_count > 0)
		finding_evidence(ctx, f, "device_idle_while_compiling_us",
		                 (double)v->host.compilation_ns / 1000, "us", NULL);
	if (api_ns > 0)
		finding_evidence(ctx, f, "host_time_us", (double)api_ns / 1000, "us", NULL);
}

void check_compilation(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t count = v->host.compilation_count, api_ns = 0, api_count = 0;

		if (!capture_is_ascend(v->c) || !v->host.cann_known)
			continue;
		*out_judged = true;
		for (size_t k = 0; k < v->c->api_count; k++) {
			const struct api_row *a = &v->c->apis[k];

			if (!strstr(trace_text(&v->c->trace, a->name, NULL), "aclopCompileAndExecute"))
				continue;
			api_count = sb_add_sat(api_count, a->count);
			api_ns = sb_add_sat(api_ns, a->time_ns);
		}
		if (api_count > count)
			count = api_count;
		if ((double)count >= limit(ctx, "compilation_events"))
			compiled(ctx, v, count, api_ns);
	}
}

void check_synchronization(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		double share = (double)v->host.synchronization_ns / (double)v->total_ns;
		struct finding *f;

		if (!v->host.host_known)
			continue;
		*out_judged = true;
		if (!(share > limit(ctx, "synchronization_share")))
			continue;
		f = finding_new(ctx, "cpu.synchronization", v, true);
		finding_cost(ctx, f, v, v->host.synchronization_ns);
		finding_gain(f, v, v->host.synchronization_ns);
		finding_evidence(ctx, f, "idle_in_synchronization_share", share, "share",
		                 "synchronization_share");
		finding_evidence(ctx, f, "device_idle_by_synchronization_us",
		                 (double)v->host.synchronization_ns / 1000, "us", NULL);
		finding_evidence(ctx, f, "synchronizing_calls", (double)v->host.synchronization_count,
		                 "events", NULL);
	}
}

void check_garbage_collection(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct finding *f;

		if (!v->host.gc_known)
			continue;
		*out_judged = true;
		if (v->host.garbage_count == 0)
			continue;
		f = finding_new(ctx, "cpu.garbage_collection", v, true);
		finding_cost(ctx, f, v, v->host.garbage_ns);
		finding_gain(f, v, v->host.garbage_ns);
		finding_evidence(ctx, f, "longest_collection_us", (double)v->host.garbage_max_ns / 1000, "us",
		                 "garbage_collection_us");
		finding_evidence(ctx, f, "collections", (double)v->host.garbage_count, "events", NULL);
		finding_evidence(ctx, f, "device_idle_while_collecting_us", (double)v->host.garbage_ns / 1000,
		                 "us", NULL);
	}
}
