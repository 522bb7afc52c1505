#include "profiler/findings/findings.h"

/* A long call of the data loader while the device was idle. Which of reading, processing or fetching is slow
 * cannot be told without the queues (Hermes 5.1). */
static void judge_loading(struct check_context *ctx, const struct rank_view *v)
{
	const struct host_time *h = &v->host;
	struct finding *f;

	if (h->loading_count == 0 || h->loading_ns == 0)
		return;
	f = finding_new(ctx, "io.loading", v, true);
	finding_cost(ctx, f, v, h->loading_ns);
	finding_gain(f, v, h->loading_ns);
	finding_evidence(ctx, f, "longest_dataloader_us", (double)h->loading_max_ns / 1000, "us",
	                 "dataloader_us");
	finding_evidence(ctx, f, "dataloader_calls", (double)h->loading_count, "events", NULL);
	finding_evidence(ctx, f, "device_idle_while_loading_us", (double)h->loading_ns / 1000, "us", NULL);
	if (v->preparing_ns != SB_NULL)
		finding_evidence(ctx, f, "preparing_us", (double)v->preparing_ns / 1000, "us", NULL);
}

void check_loading(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		if (!ctx->views[i].host.host_known)
			continue;
		*out_judged = true;
		judge_loading(ctx, &ctx->views[i]);
	}
}

void check_fetching(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		double share = (double)v->host.fetching_ns / (double)v->total_ns;
		struct finding *f;

		/* without a timeline no copy can be seen, and a sparse one shows none */
		if (v->c->trace.count == 0 || capture_format_facts(v->c->format)->sparse_timeline)
			continue;
		*out_judged = true;
		if (!(share > limit(ctx, "fetching_share")))
			continue;
		f = finding_new(ctx, "io.fetching", v, true);
		finding_cost(ctx, f, v, v->host.fetching_ns);
		finding_gain(f, v, v->host.fetching_ns);
		finding_evidence(ctx, f, "exposed_copy_share", share, "share", "fetching_share");
		finding_evidence(ctx, f, "exposed_copy_us", (double)v->host.fetching_ns / 1000, "us", NULL);
		finding_evidence(ctx, f, "host_to_device_copies", (double)v->host.fetching_count, "events",
		                 NULL);
	}
}
