#include "profiler/findings/findings.h"

/* Poor parallelism (Hermes 4.2.1): the share of the step in which compute and communication run together is
 * small. It means something only where there is communication left to cover. */
static void judge(struct check_context *ctx, const struct rank_view *v)
{
	double overlap = (double)v->overlap_ns / (double)v->total_ns;
	/* waiting for the stage before is the bubble's matter, as in the CSV's "Exclude Receive" column */
	int64_t bubble = v->bubble_ns == SB_NULL ? 0 : v->bubble_ns;
	int64_t exposed_ns = v->exposed_ns > bubble ? v->exposed_ns - bubble : 0;
	double exposed = (double)exposed_ns / (double)v->total_ns;
	int64_t alone = v->compute_ns - v->overlap_ns;
	struct finding *f;
	TALLY_AUTO tally = {0};

	if (!(exposed > limit(ctx, "exposed_share")) || !(overlap < limit(ctx, "overlap_share")))
		return;
	f = finding_new(ctx, "parallel.poor_overlap", v, true);
	finding_cost(ctx, f, v, exposed_ns);
	/* at best all compute runs under communication that is exposed now */
	finding_gain(f, v, exposed_ns < alone ? exposed_ns : alone);
	if (f && f->gain_method)
		f->gain_method = "exposed communication moved under compute that runs alone, no replay: an "
		                 "upper bound";
	finding_evidence(ctx, f, "overlap_share", overlap, "share", "overlap_share");
	finding_evidence(ctx, f, "exposed_share", exposed, "share", "exposed_share");
	finding_evidence(ctx, f, "overlap_us", (double)v->overlap_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "exposed_us", (double)exposed_ns / 1000, "us", NULL);
	if (tally_init(&tally, v->c) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < v->c->communication_count; i++)
		tally_add(&tally, v->c->communications[i].name, v->c->communications[i].elapse_us);
	for (size_t i = 0; i < v->c->trace.count && v->c->communication_count == 0; i++)
		if (v->c->trace.kind[i] == EVENT_COMMUNICATION)
			tally_add(&tally, v->c->trace.name[i], (double)v->c->trace.dur_ns[i] / 1000);
	tally_into(&tally, ctx, v->c, f);
}

void check_poor_overlap(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];

		if (v->overlap_ns == SB_NULL || v->exposed_ns == SB_NULL || v->compute_ns == SB_NULL)
			continue;
		*out_judged = true;
		judge(ctx, v);
	}
}

/* Receive operators that wait for another stage: the bubble's share of the device's step. */
void check_pipeline_bubble(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct finding *f;
		double share;
		int64_t cost;

		if (v->bubble_ns == SB_NULL || v->bubble_ns == 0)
			continue;
		*out_judged = true;
		share = (double)v->bubble_ns / (double)(v->span_ns + v->bubble_ns);
		if (!(share > limit(ctx, "bubble_share")))
			continue;
		f = finding_new(ctx, "parallel.pipeline_bubble", v, true);
		cost = exposed_at_most(v, (double)v->bubble_ns);
		finding_cost(ctx, f, v, cost);
		finding_gain(f, v, cost);
		finding_evidence(ctx, f, "bubble_share", share, "share", "bubble_share");
		finding_evidence(ctx, f, "bubble_us", (double)v->bubble_ns / 1000, "us", NULL);
	}
}
