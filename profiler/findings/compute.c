#include <math.h>
#include <string.h>

#include "profiler/findings/compute_parts.h"

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

double compute_us(const struct rank_view *v)
{
	int64_t sum = 0;

	for (size_t i = 0; i < v->c->kernel_count; i++)
		if (!v->c->kernels[i].communication)
			sum = sb_add_sat(sum, v->c->kernels[i].dur_ns);
	if (v->c->kernel_count == 0)
		sum = v->compute_ns;
	return sum == SB_NULL ? NAN : (double)sum / 1000;
}

bool start_tally(struct check_context *ctx, struct tally *t, const struct rank_view *v)
{
	if (tally_init(t, v->c) == SB_OK)
		return true;
	ctx->failed = SB_ENOMEM;
	return false;
}

bool on_aicpu(const struct rank_view *v, const struct kernel *k)
{
	const char *core = view_text(v, k->core);

	return !k->communication && (strstr(core, "AI_CPU") || strstr(core, "AICPU"));
}

bool on_vector_cores(const struct rank_view *v, const struct kernel *k)
{
	const char *core = view_text(v, k->core);

	return k->vector || strstr(core, "VECTOR") || strstr(core, "AIV");
}

bool is_kernel_of(const struct rank_view *v, size_t event)
{
	const struct trace *t = &v->c->trace;

	return t->kind[event] == EVENT_KERNEL &&
	       (v->device == SB_NULL || t->lanes[t->lane[event]].device == v->device);
}

/* Does an operand have a type that the AI cores do not take for most operators? A cast would bring the
 * operator onto them (msprof-analyze's lists by CANN version agree in these). */
static bool has_unsupported_type(const struct rank_view *v, const struct kernel *k)
{
	static const char *const types[] = {"DOUBLE", "COMPLEX", "INT16", "INT64", "UINT"};
	const char *list = view_text(v, k->input_types);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strstr(list, types[i]))
			return true;
	return false;
}

/* MindSpore's operator that waits for data is none: no other unit would make it faster. */
static bool counts_as_aicpu(const struct rank_view *v, const struct kernel *k)
{
	return on_aicpu(v, k) && !strstr(view_text(v, k->type ? k->type : k->name), "GetNext");
}

/* The kernels that need not be there. */
static void relieve(struct check_context *ctx, const struct rank_view *v, struct finding *f,
                    bool (*is_one)(const struct rank_view *v, const struct kernel *k))
{
	for (size_t i = 0; f && i < v->c->kernel_count; i++)
		if (is_one(v, &v->c->kernels[i]))
			finding_relief(ctx, f, v, RELIEF_KERNEL, i, 0);
}

/* AICPU operators cost only what no other kernel hides. */
static void judge_aicpu(struct check_context *ctx, const struct rank_view *v)
{
	int64_t longest = 0, count = 0, total = 0, exposed, unsupported = 0, untold = 0;
	INTERVALS_AUTO on = {0};
	INTERVALS_AUTO others = {0};
	TALLY_AUTO tally = {0};
	struct finding *f;

	if (!start_tally(ctx, &tally, v))
		return;
	for (size_t i = 0; i < v->c->kernel_count && ctx->failed == SB_OK; i++) {
		const struct kernel *k = &v->c->kernels[i];
		bool aicpu = on_aicpu(v, k);

		if (aicpu && !counts_as_aicpu(v, k))
			continue;
		ctx->failed =
		    intervals_add(aicpu ? &on : &others, k->start_ns, interval_end(k->start_ns, k->dur_ns));
		if (!aicpu)
			continue;
		count++;
		total = sb_add_sat(total, k->dur_ns);
		longest = k->dur_ns > longest ? k->dur_ns : longest;
		untold += k->input_types == 0;
		if (has_unsupported_type(v, k))
			unsupported = sb_add_sat(unsupported, k->dur_ns);
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
	if (untold < count)
		finding_evidence(ctx, f, "aicpu_types_to_cast_us", (double)unsupported / 1000, "us", NULL);
	tally_into(&tally, ctx, v->c, f);
	relieve(ctx, v, f, counts_as_aicpu);
}

void check_aicpu(struct check_context *ctx, bool *out_judged)
{
	judge_typed(ctx, judge_aicpu, out_judged);
}

/* Operators that only change between ND and a private format. A Cast changes the type and a Transpose the
 * order that the model asked for: neither is counted. */
bool is_conversion(const struct rank_view *v, const struct kernel *k)
{
	const char *type = view_text(v, k->type);

	return !k->communication && (strcmp(type, "TransData") == 0 || strcmp(type, "FormatCast") == 0 ||
	                             strcmp(type, "NpuFormatCast") == 0);
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

		if (!is_conversion(v, k))
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
	relieve(ctx, v, f, is_conversion);
}

void check_format_conversion(struct check_context *ctx, bool *out_judged)
{
	judge_typed(ctx, judge_conversion, out_judged);
}
