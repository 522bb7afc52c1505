#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"

static const char *text(const struct rank_view *v, uint32_t id)
{
	return trace_text(&v->c->trace, id, NULL);
}

/* Level 0 captures name neither type nor core. */
static bool types_known(const struct rank_view *v)
{
	for (size_t i = 0; i < v->c->kernel_count; i++)
		if (v->c->kernels[i].type)
			return true;
	return false;
}

/* Judges each view whose kernels have types; the others leave the check open. */
static void judge_typed(struct check_context *ctx,
                        void (*judge)(struct check_context *ctx, const struct rank_view *v), bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		if (!types_known(&ctx->views[i]))
			continue;
		*out_judged = true;
		judge(ctx, &ctx->views[i]);
	}
}

static double compute_us(const struct rank_view *v)
{
	int64_t sum = 0;

	for (size_t i = 0; i < v->c->kernel_count; i++)
		if (!v->c->kernels[i].communication)
			sum = sb_add_sat(sum, v->c->kernels[i].dur_ns);
	return (double)sum / 1000;
}

static bool start_tally(struct check_context *ctx, struct tally *t, const struct rank_view *v)
{
	if (tally_init(t, v->c) == SB_OK)
		return true;
	ctx->failed = SB_ENOMEM;
	return false;
}

static bool on_aicpu(const struct rank_view *v, const struct kernel *k)
{
	const char *core = text(v, k->core);

	return !k->communication && (strstr(core, "AI_CPU") || strstr(core, "AICPU"));
}

/* Under-utilised (Hermes 4.2.2, third class), with the pipe ratios as stand-in: FLOPs and bytes are never in
 * one capture. What could be won is the time above that of a kernel whose busiest pipe is at the limit. */
static void judge_pipes(struct check_context *ctx, const struct rank_view *v)
{
	double u = limit(ctx, "pipe_ratio"), under_us = 0, won_us = 0, all_us = compute_us(v);
	int64_t under = 0, counted = 0;
	struct finding *f;
	TALLY_AUTO tally = {0};

	if (!start_tally(ctx, &tally, v))
		return;
	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];
		double us = (double)k->dur_ns / 1000;

		/* operators on the AICPU have a check of their own */
		if (k->communication || isnan(k->pipe_ratio) || on_aicpu(v, k))
			continue;
		counted++;
		/* the ratio is text with few digits: compare in its own precision */
		if (k->pipe_ratio > (float)u)
			continue;
		under++;
		under_us += us;
		won_us += us * (1 - (double)k->pipe_ratio / u);
		tally_add(&tally, k->type ? k->type : k->name, us);
	}
	if (!(under_us / all_us >= limit(ctx, "underutilized_share")))
		return;
	f = finding_new(ctx, "compute.underutilized", v, true);
	finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_cost(ctx, f, v, ns_at_most(won_us * 1000, v->total_ns));
	finding_gain(f, v, ns_at_most(won_us * 1000, v->total_ns));
	if (f && f->gain_method)
		f->gain_method = "kernels sped up until their busiest pipe is at the limit, no replay: an "
		                 "upper bound";
	finding_evidence(ctx, f, "underutilized_share_of_compute", under_us / all_us, "share",
	                 "underutilized_share");
	finding_evidence(ctx, f, "largest_pipe_ratio", u, "ratio", "pipe_ratio");
	finding_evidence(ctx, f, "underutilized_us", under_us, "us", NULL);
	finding_evidence(ctx, f, "underutilized_kernels", (double)under, "kernels", NULL);
	finding_evidence(ctx, f, "kernels_with_counters", (double)counted, "kernels", NULL);
	tally_into(&tally, ctx, v->c, f);
}

void check_underutilized(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		bool counters = false;

		for (size_t k = 0; k < v->c->kernel_count && !counters; k++)
			counters = !isnan(v->c->kernels[k].pipe_ratio);
		if (!counters)
			continue;
		*out_judged = true;
		judge_pipes(ctx, v);
	}
}

/* AICPU operators cost only what no other kernel hides. */
static void judge_aicpu(struct check_context *ctx, const struct rank_view *v)
{
	int64_t longest = 0, count = 0, total = 0, exposed;
	INTERVALS_AUTO on = {0};
	INTERVALS_AUTO others = {0};
	TALLY_AUTO tally = {0};
	struct finding *f;

	if (!start_tally(ctx, &tally, v))
		return;
	for (size_t i = 0; i < v->c->kernel_count && ctx->failed == SB_OK; i++) {
		const struct kernel *k = &v->c->kernels[i];
		bool aicpu = on_aicpu(v, k);

		/* MindSpore's operator that waits for data: no other unit would make it faster */
		if (aicpu && strstr(text(v, k->type ? k->type : k->name), "GetNext"))
			continue;
		ctx->failed =
		    intervals_add(aicpu ? &on : &others, k->start_ns, interval_end(k->start_ns, k->dur_ns));
		if (!aicpu)
			continue;
		count++;
		total = sb_add_sat(total, k->dur_ns);
		longest = k->dur_ns > longest ? k->dur_ns : longest;
		tally_add(&tally, k->type ? k->type : k->name, (double)k->dur_ns / 1000);
	}
	if (ctx->failed != SB_OK || count == 0 || (double)longest < limit(ctx, "aicpu_us") * 1000)
		return;
	intervals_normalise(&on);
	intervals_normalise(&others);
	exposed = intervals_total(&on) - intervals_common(&on, &others);
	f = finding_new(ctx, "compute.aicpu", v, false);
	finding_cost(ctx, f, v, exposed);
	finding_gain(f, v, exposed);
	finding_evidence(ctx, f, "longest_aicpu_us", (double)longest / 1000, "us", "aicpu_us");
	finding_evidence(ctx, f, "aicpu_kernels", (double)count, "kernels", NULL);
	finding_evidence(ctx, f, "aicpu_us", (double)total / 1000, "us", NULL);
	finding_evidence(ctx, f, "aicpu_exposed_us", (double)exposed / 1000, "us", NULL);
	tally_into(&tally, ctx, v->c, f);
}

void check_aicpu(struct check_context *ctx, bool *out_judged)
{
	judge_typed(ctx, judge_aicpu, out_judged);
}

/* Operators that only change between ND and a private format. A Cast changes the type and a Transpose the
 * order that the model asked for: neither is counted. */
static bool is_conversion(const char *type)
{
	return strcmp(type, "TransData") == 0 || strcmp(type, "FormatCast") == 0 ||
	       strcmp(type, "NpuFormatCast") == 0;
}

static void judge_conversion(struct check_context *ctx, const struct rank_view *v)
{
	double all_us = compute_us(v), us;
	int64_t total = 0, count = 0;
	struct finding *f;
	TALLY_AUTO tally = {0};

	if (!start_tally(ctx, &tally, v))
		return;
	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];

		if (k->communication || !is_conversion(text(v, k->type)))
			continue;
		count++;
		total = sb_add_sat(total, k->dur_ns);
		tally_add(&tally, k->type, (double)k->dur_ns / 1000);
	}
	us = (double)total / 1000;
	if (count == 0 || !(us / all_us >= limit(ctx, "format_conversion_share")))
		return;
	f = finding_new(ctx, "compute.format_conversion", v, false);
	finding_cost(ctx, f, v, total);
	finding_gain(f, v, total);
	finding_evidence(ctx, f, "conversion_share_of_compute", us / all_us, "share",
	                 "format_conversion_share");
	finding_evidence(ctx, f, "conversion_us", us, "us", NULL);
	finding_evidence(ctx, f, "conversions", (double)count, "kernels", NULL);
	tally_into(&tally, ctx, v->c, f);
}

void check_format_conversion(struct check_context *ctx, bool *out_judged)
{
	judge_typed(ctx, judge_conversion, out_judged);
}
