#include <math.h>

#include "profiler/findings/roofline.h"

/* compute.memory_bound and compute.underutilized: two classes of the roofline (Hermes 4.2.2). */

struct class_sums {
	enum roof_class wanted;
	struct check_context *ctx;
	const struct rank_view *v;
	struct tally *tally;
	struct finding *f; /* set on the second walk, which adds the reliefs */
	double ns, won_ns; /* of the wanted class */
	int64_t kernels;
	double basis_ns[BASIS_COUNT]; /* of all kernels that could be judged */
	int64_t basis_kernels[BASIS_COUNT];
};

static void sum_up(void *self, const struct roof_item *item)
{
	struct class_sums *s = self;

	s->basis_ns[item->basis] += item->ns;
	s->basis_kernels[item->basis]++;
	if (item->class != s->wanted)
		return;
	s->ns += item->ns;
	s->won_ns += item->ns * (1 - item->factor);
	s->kernels++;
	tally_add(s->tally, item->name, item->ns / 1000);
}

static void relieve(void *self, const struct roof_item *item)
{
	struct class_sums *s = self;

	if (item->class == s->wanted && item->factor < 1)
		finding_relief(s->ctx, s->f, s->v, item->kind, item->index, item->factor);
}

static const char *const BASES[BASIS_COUNT] = {"judged_by_counters", "judged_by_pipe_ratios",
                                               "judged_by_shapes", "judged_by_launch_size"};

/* The basis that most of the judged time has. */
static enum roof_basis main_basis(const struct class_sums *s)
{
	int best = 0;

	for (int i = 1; i < BASIS_COUNT; i++)
		if (s->basis_ns[i] > s->basis_ns[best])
			best = i;
	return (enum roof_basis)best;
}

static bool any_judged(const struct class_sums *s)
{
	for (int i = 0; i < BASIS_COUNT; i++)
		if (s->basis_kernels[i] > 0)
			return true;
	return false;
}

struct class_words {
	const char *code, *share, *threshold, *us, *kernels, *method;
};

static void report(struct check_context *ctx, const struct rank_view *v, const struct class_words *w,
                   struct class_sums *s, double all_us)
{
	enum roof_basis basis = main_basis(s);
	int64_t won = ns_at_most(s->won_ns, v->total_ns);
	struct finding *f = finding_new(ctx, w->code, v, true);

	/* what shapes tell is the least traffic: a kernel may be at the memory's limit with more of it. Pipe
	 * ratios are counters of the device, and blocks that were launched are all that can run. */
	if (basis == BASIS_SHAPES && s->wanted == ROOF_UNDER)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_cost(ctx, f, v, won);
	finding_gain(f, v, won);
	if (f && f->gain_method)
		f->gain_method = w->method;
	finding_evidence(ctx, f, w->share, s->ns / 1000 / all_us, "share", w->threshold);
	finding_evidence(ctx, f, "utilization_limit",
	                 limit(ctx, basis == BASIS_PIPES ? "pipe_ratio" : "roofline_utilization"), "ratio",
	                 basis == BASIS_PIPES ? "pipe_ratio" : "roofline_utilization");
	finding_evidence(ctx, f, w->us, s->ns / 1000, "us", NULL);
	finding_evidence(ctx, f, w->kernels, (double)s->kernels, "kernels", NULL);
	for (int i = 0; i < BASIS_COUNT; i++)
		if (s->basis_kernels[i] > 0)
			finding_evidence(ctx, f, BASES[i], (double)s->basis_kernels[i], "kernels", NULL);
	tally_into(s->tally, ctx, v->c, f);
	s->f = f;
	if (f && roof_walk(ctx, v, relieve, s) != SB_OK)
		ctx->failed = SB_ENOMEM;
}

static void judge(struct check_context *ctx, const struct rank_view *v, const struct class_words *w,
                  enum roof_class wanted, bool *out_judged)
{
	TALLY_AUTO tally = {0};
	struct class_sums s = {.wanted = wanted, .ctx = ctx, .v = v, .tally = &tally};
	double all_us = compute_us(v);

	if (ctx->failed != SB_OK || !start_tally(ctx, &tally, v))
		return;
	if (roof_walk(ctx, v, sum_up, &s) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	/* the size of a launch says nothing of the memory */
	if (!any_judged(&s) || (wanted == ROOF_MEMORY && main_basis(&s) == BASIS_LAUNCH))
		return;
	*out_judged = true;
	if (s.won_ns > 0 && s.ns / 1000 / all_us >= limit(ctx, w->threshold))
		report(ctx, v, w, &s, all_us);
}

void check_memory_bound(struct check_context *ctx, bool *out_judged)
{
	static const struct class_words words = {
	    "compute.memory_bound",
	    "memory_bound_share_of_compute",
	    "memory_bound_share",
	    "memory_bound_us",
	    "memory_bound_kernels",
	    "kernels without the traffic that bounds them (fused into their neighbours), no replay: an upper "
	    "bound"};

	for (size_t i = 0; i < ctx->view_count; i++)
		judge(ctx, &ctx->views[i], &words, ROOF_MEMORY, out_judged);
}

void check_underutilized(struct check_context *ctx, bool *out_judged)
{
	static const struct class_words words = {"compute.underutilized",
	                                         "underutilized_share_of_compute",
	                                         "underutilized_share",
	                                         "underutilized_us",
	                                         "underutilized_kernels",
	                                         "kernels sped up until the busiest part of the device is at "
	                                         "its limit, no replay: an upper bound"};

	for (size_t i = 0; i < ctx->view_count; i++)
		judge(ctx, &ctx->views[i], &words, ROOF_UNDER, out_judged);
}
