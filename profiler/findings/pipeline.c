#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"

int64_t bubble_of(const struct rank_view *v)
{
	if (v->bubble_ns != SB_NULL)
		return v->bubble_ns;
	return v->receives.exposed_ns;
}

/* The stages of a pipeline, as far as captures tell theirs. */
struct stages {
	int64_t count;   /* the highest number + 1; 0 = none is told */
	double mean_ns;  /* of what a rank computes in a step */
	double worst_ns; /* … of the stage that computes most */
};

#define STAGES_MAX 1024

static void stages_of(const struct check_context *ctx, struct stages *out)
{
	double sum[STAGES_MAX] = {0}, all = 0;
	int64_t ranks[STAGES_MAX] = {0}, n = 0;

	*out = (struct stages){0};
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];

		if (v->c->stage < 0 || v->c->stage >= STAGES_MAX || v->compute_ns == SB_NULL)
			continue;
		sum[v->c->stage] += (double)v->compute_ns / (double)v->steps;
		all += (double)v->compute_ns / (double)v->steps;
		ranks[v->c->stage]++;
		n++;
		if (v->c->stage >= out->count)
			out->count = v->c->stage + 1;
	}
	if (n == 0)
		return;
	out->mean_ns = all / (double)n;
	for (int64_t k = 0; k < out->count; k++)
		if (ranks[k] > 0 && sum[k] / (double)ranks[k] > out->worst_ns)
			out->worst_ns = sum[k] / (double)ranks[k];
}

static bool is_receive(const struct trace *t, uint32_t name)
{
	return strncmp(trace_text(t, name, NULL), "hcom_receive", 12) == 0;
}

/* GPUs name them in the trace; Ascend in its table of operators, else in the trace. */
static int64_t count_receives(const struct rank_view *v)
{
	const struct trace *t = &v->c->trace;
	int64_t n = 0;

	if (v->receives.count > 0)
		return v->receives.count;
	for (size_t i = 0; i < v->c->communication_count; i++)
		n += is_receive(t, v->c->communications[i].name);
	for (size_t i = 0; v->c->communication_count == 0 && i < t->count; i++)
		n += t->kind[i] == EVENT_COMMUNICATION && is_receive(t, t->name[i]);
	return n;
}

/* How many micro-batches the bubble is the price of, and whether the stages are equal. */
static void tell_pipeline(const struct check_context *ctx, const struct rank_view *v,
                          const struct stages *stages, struct finding *f)
{
	double receives = (double)count_receives(v) / (double)v->steps;
	int64_t p = stages->count, s = v->c->stage;

	if (receives > 0)
		finding_evidence(ctx, f, "receives_per_step", receives, "events", NULL);
	if (p < 2 || s == SB_NULL)
		return;
	finding_evidence(ctx, f, "stages", (double)p, "stages", NULL);
	if (receives > 0) {
		/* a stage in the middle receives twice a micro-batch; 1F1B with m of them idles (p-1)/(m+p-1)
		 */
		double m = s == 0 || s == p - 1 ? receives : receives / 2;

		finding_evidence(ctx, f, "bubble_share_of_equal_stages",
		                 (double)(p - 1) / (m + (double)(p - 1)), "share", NULL);
	}
	if (stages->mean_ns > 0)
		finding_evidence(ctx, f, "slowest_stage_over_mean", stages->worst_ns / stages->mean_ns,
		                 "ratio", NULL);
}

/* Ascend's span leaves the bubble out, that of GPUs has it inside. */
static double bubble_share(const struct rank_view *v)
{
	return (double)bubble_of(v) /
	       (double)(v->bubble_ns == SB_NULL ? v->span_ns : v->span_ns + v->bubble_ns);
}

/* What the step of all ranks can lose at most, ns: of a wait that all have the part that the least waiting
 * one has, and where stages are unequal, what is left when their work is spread evenly. */
static int64_t bubble_of_all(const struct check_context *ctx)
{
	double sum = 0, least = INFINITY;

	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		double bubble = (double)exposed_at_most(v, (double)bubble_of(v)) / (double)v->steps;

		sum += bubble;
		if (bubble_of(v) > 0 && bubble_share(v) > limit(ctx, "bubble_share"))
			least = fmin(least, bubble);
	}
	return ns_at_most(fmin(least, sum / (double)ctx->view_count), INT64_MAX);
}

/* Receive operators that wait for another stage: the bubble's share of the device's step. */
void check_pipeline_bubble(struct check_context *ctx, bool *out_judged)
{
	struct stages stages;
	int64_t gain_ns;

	stages_of(ctx, &stages);
	gain_ns = ctx->view_count > 0 ? bubble_of_all(ctx) : 0;
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t bubble = bubble_of(v), cost, all;
		struct finding *f;
		double share;

		if (v->receives.unnamed > 0)
			ctx->needs =
			    "the names of the collectives beside NCCL's kernels, which tell receives from "
			    "exchanges of all with all";
		if (bubble == 0)
			continue;
		*out_judged = true;
		share = bubble_share(v);
		if (!(share > limit(ctx, "bubble_share")))
			continue;
		f = finding_new(ctx, "parallel.pipeline_bubble", v, true);
		cost = exposed_at_most(v, (double)bubble);
		all = ns_at_most((double)gain_ns * (double)v->steps, cost);
		finding_cost(ctx, f, v, cost);
		finding_gain(f, v, all);
		if (f && f->gain_method && all < cost)
			f->gain_method =
			    "what all ranks wait, as far as each of them does and their work can be "
			    "spread evenly, no replay: an upper bound";
		finding_evidence(ctx, f, "bubble_share", share, "share", "bubble_share");
		finding_evidence(ctx, f, "bubble_us", (double)bubble / 1000, "us", NULL);
		/* the denominator of the share */
		finding_evidence(ctx, f, "step_us", (double)v->total_ns / (double)v->steps / 1000, "us",
		                 NULL);
		tell_pipeline(ctx, v, &stages, f);
	}
}
