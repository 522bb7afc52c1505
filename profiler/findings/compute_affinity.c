#include <math.h>
#include <string.h>

#include "profiler/chips.h"
#include "profiler/findings/affinity.h"
#include "profiler/findings/roofline.h"

/* compute.affinity (Hermes, lesson 2; msprof-analyze's limits): shapes that do not suit the cube units, and
 * host operators that one fused call would do. Ascend only. */

/* Share of the time of misfits whose pipes must be counted for a sure verdict. */
#define COUNTED_MIN 0.5

enum misfit { FITS, MISFIT_PRODUCT, MISFIT_ATTENTION };

static bool is_plain(const struct rank_view *v, uint32_t formats)
{
	const char *text = view_text(v, formats);

	return !strstr(text, "FRACTAL") && !strstr(text, "NC1HWC0");
}

static bool divides(const struct check_context *ctx, const char *threshold, int64_t n)
{
	int64_t by = (int64_t)limit(ctx, threshold);

	return by <= 0 || n % by == 0;
}

/* Only large products are worth it; the size is counted as msprof-analyze does, two bytes an element. */
static bool product_misfits(const struct check_context *ctx, const struct rank_view *v,
                            const struct kernel *k)
{
	const struct shape a = kernel_shape(v, k->input_shapes, 0), b = kernel_shape(v, k->input_shapes, 1),
	                   c = kernel_shape(v, k->output_shapes, 0);
	double bytes = 2 * (shape_elements(&a) + shape_elements(&b) + (c.count > 0 ? shape_elements(&c) : 0));

	if (a.count < 2 || b.count < 2 || !is_plain(v, k->input_formats))
		return false;
	return bytes >= limit(ctx, "affinity_product_bytes") &&
	       (!divides(ctx, "affinity_inner_axis", a.dims[a.count - 1]) ||
	        !divides(ctx, "affinity_inner_axis", b.dims[b.count - 1]));
}

/* Head size and sequence; of a layout without a heads axis the head size is not known. */
static bool attention_misfits(const struct check_context *ctx, const struct rank_view *v,
                              const struct kernel *k)
{
	const struct shape q = kernel_shape(v, k->input_shapes, 0);
	int at = q.count == 3 ? 0 : 1;

	if (q.count != 3 && q.count != 4)
		return false;
	if (q.count == 4 && !divides(ctx, "affinity_attention_axis", q.dims[3]))
		return true;
	return !divides(ctx, "affinity_attention_axis",
	                q.dims[at] > q.dims[at + 1] ? q.dims[at] : q.dims[at + 1]);
}

static enum misfit misfit_of(const struct check_context *ctx, const struct rank_view *v,
                             const struct kernel *k)
{
	const char *type = view_text(v, k->type);

	if (k->communication || !k->input_shapes)
		return FITS;
	if (is_matrix_product(type))
		return product_misfits(ctx, v, k) ? MISFIT_PRODUCT : FITS;
	if (strncmp(type, "FlashAttentionScore", 19) == 0)
		return attention_misfits(ctx, v, k) ? MISFIT_ATTENTION : FITS;
	return FITS;
}

bool kernel_misfits(const struct check_context *ctx, const struct rank_view *v, const struct kernel *k)
{
	return misfit_of(ctx, v, k) != FITS;
}

/* What a kernel of a fitting shape would take: its busiest pipe at the limit or, without counters, the
 * reachable share of the roof. */
static double fitting(const struct check_context *ctx, const struct rank_view *v, const struct chip *chip,
                      const struct kernel *k)
{
	struct work w;
	struct roof r;

	if (!isnan(k->pipe_ratio))
		return fmin((double)k->pipe_ratio / limit(ctx, "pipe_ratio"), 1);
	w = kernel_work(v, k);
	r = (struct roof){chip_peak(chip, kernel_precision(v, k->input_types, 0)),
	                  chip ? chip->memory_bytes_per_second : NAN};
	if (isnan(w.flops / r.flops_per_second) || k->dur_ns <= 0)
		return 1;
	return fmin(roof_least(&r, &w, limit(ctx, "roofline_reachable"), limit(ctx, "roofline_utilization")) /
	                ((double)k->dur_ns / 1e9),
	            1);
}

struct misfits {
	double product_ns, attention_ns, won_ns;
	double counted_ns; /* of both, those whose pipes were counted */
	int64_t products, attentions, calls;
};

static void collect(const struct check_context *ctx, const struct rank_view *v, struct misfits *m,
                    struct tally *tally)
{
	const struct chip *chip = chip_find(v->c->chip);

	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];
		enum misfit what = misfit_of(ctx, v, k);
		double ns = (double)k->dur_ns;

		if (what == FITS)
			continue;
		*(what == MISFIT_PRODUCT ? &m->product_ns : &m->attention_ns) += ns;
		*(what == MISFIT_PRODUCT ? &m->products : &m->attentions) += 1;
		m->won_ns += ns * (1 - fitting(ctx, v, chip, k));
		m->counted_ns += isnan(k->pipe_ratio) ? 0 : ns;
		tally_add(tally, k->type, ns / 1000);
	}
}

static void relieve(struct check_context *ctx, const struct rank_view *v, struct finding *f)
{
	const struct chip *chip = chip_find(v->c->chip);

	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];

		if (misfit_of(ctx, v, k) != FITS)
			finding_relief(ctx, f, v, RELIEF_KERNEL, i, fitting(ctx, v, chip, k));
	}
}

static void report(struct check_context *ctx, const struct rank_view *v, const struct misfits *m,
                   struct tally *tally, const struct fused_calls *fused, size_t fused_count)
{
	double all_us = compute_us(v), us = (m->product_ns + m->attention_ns) / 1000;
	bool shapes = us / all_us >= limit(ctx, "affinity_share");
	struct finding *f;

	if (!shapes && m->calls < (int64_t)limit(ctx, "fusible_calls"))
		return;
	f = finding_new(ctx, "compute.affinity", v, false);
	/* that the shape costs time, the pipes say; calls that could fuse may well be cheap */
	if (!shapes || m->counted_ns < COUNTED_MIN * us * 1000)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_cost(ctx, f, v, ns_at_most(shapes ? m->won_ns : 0, v->total_ns));
	if (shapes) {
		finding_gain(f, v, ns_at_most(m->won_ns, v->total_ns));
		finding_evidence(ctx, f, "misfit_share_of_compute", us / all_us, "share", "affinity_share");
	} else {
		finding_evidence(ctx, f, "calls_that_fuse", (double)m->calls, "calls", "fusible_calls");
	}
	if (m->products > 0)
		finding_evidence(ctx, f, "products_off_the_inner_axis", (double)m->products, "kernels", NULL);
	if (m->attentions > 0)
		finding_evidence(ctx, f, "attention_off_the_axis", (double)m->attentions, "kernels", NULL);
	if (shapes && m->calls > 0)
		finding_evidence(ctx, f, "calls_that_fuse", (double)m->calls, "calls", NULL);
	if (shapes)
		tally_into(tally, ctx, v->c, f);
	for (size_t i = 0; i < fused_count; i++)
		finding_operator(ctx, f, fused[i].api, fused[i].host_ns / 1000);
	if (shapes)
		relieve(ctx, v, f);
}

static bool shapes_known(const struct rank_view *v)
{
	for (size_t i = 0; i < v->c->kernel_count; i++)
		if (v->c->kernels[i].input_shapes)
			return true;
	return false;
}

void check_affinity(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct fused_calls fused[FUSED_MAX];
		size_t fused_count = 0;
		struct misfits m = {0};
		TALLY_AUTO tally = {0};

		if (!capture_is_ascend(v->c) || !shapes_known(v) || !start_tally(ctx, &tally, v))
			continue;
		*out_judged = true;
		if (fused_calls_find(v->c, fused, &fused_count) != SB_OK) {
			ctx->failed = SB_ENOMEM;
			return;
		}
		for (size_t k = 0; k < fused_count; k++)
			m.calls += fused[k].count;
		collect(ctx, v, &m, &tally);
		report(ctx, v, &m, &tally, fused, fused_count);
	}
}
