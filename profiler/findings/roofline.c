#include "profiler/findings/roofline.h"

#include <math.h>
#include <string.h>

#include "profiler/chips.h"

enum roof_class roof_classify(const struct roof *r, const struct work *w, double seconds, double u)
{
	double arithmetic = w->flops / seconds / r->flops_per_second;
	double memory = w->bytes / seconds / r->bytes_per_second;
	double ridge = r->flops_per_second / r->bytes_per_second;
	bool left = w->flops <= ridge * w->bytes, right = w->flops > ridge * w->bytes;

	if (!(seconds > 0))
		return ROOF_UNKNOWN;
	if (left && memory >= u)
		return ROOF_MEMORY;
	if (right && arithmetic >= u)
		return ROOF_COMPUTE;
	if (left || right)
		return ROOF_UNDER;
	return memory >= u ? ROOF_MEMORY : ROOF_UNKNOWN;
}

double roof_least(const struct roof *r, const struct work *w, double compute_share, double memory_share)
{
	double compute = w->flops / (r->flops_per_second * compute_share);
	double memory = w->bytes / (r->bytes_per_second * memory_share);

	if (!(compute > 0))
		compute = 0;
	if (!(memory > 0))
		memory = 0;
	return compute > memory ? compute : memory;
}

/* What counters of pipes tell: the busiest one at its limit is a bound, of the memory when it is one that
 * reaches it. */
static bool by_pipes(const struct check_context *ctx, const struct rank_view *v, const struct kernel *k,
                     struct roof_item *out)
{
	double u = limit(ctx, "pipe_ratio");
	const char *pipe = view_text(v, k->pipe);

	if (isnan(k->pipe_ratio))
		return false;
	out->basis = BASIS_PIPES;
	/* the ratio is text with few digits: compare in its own precision */
	if (k->pipe_ratio <= (float)u) {
		out->class = ROOF_UNDER;
		out->factor = (double)k->pipe_ratio / u;
	} else if (strstr(pipe, "mte2") || strstr(pipe, "mte3")) {
		out->class = ROOF_MEMORY;
		out->factor = isnan(k->inner_ratio) ? 0 : fmin((double)k->inner_ratio / u, 1);
	} else {
		out->class = ROOF_COMPUTE;
	}
	return true;
}

static struct roof roof_of(const struct rank_view *v, const struct chip *chip, const struct kernel *k)
{
	enum precision p = kernel_precision(v, k->input_types, 0);

	if (!on_vector_cores(v, k))
		return (struct roof){chip_peak(chip, p), chip->memory_bytes_per_second};
	/* a vector core does half as much of twice the width */
	return (struct roof){p == PRECISION_FP16 ? chip->vector_fp16 : chip->vector_fp16 / 2,
	                     chip->memory_bytes_per_second};
}

/* Operations and bytes, counted both or one of them from shapes. */
static bool by_roof(const struct check_context *ctx, const struct rank_view *v, const struct chip *chip,
                    const struct kernel *k, struct roof_item *out)
{
	double seconds = (double)k->dur_ns / 1e9, u = limit(ctx, "roofline_utilization");
	struct work w = {k->flops, k->bytes};
	struct roof r;

	if (!chip)
		return false;
	out->basis = BASIS_COUNTERS;
	if (isnan(w.flops) || isnan(w.bytes)) {
		struct work told = kernel_work(v, k);

		out->basis = BASIS_SHAPES;
		w.flops = isnan(w.flops) ? told.flops : w.flops;
		w.bytes = isnan(w.bytes) ? told.bytes : w.bytes;
	}
	r = roof_of(v, chip, k);
	out->class = roof_classify(&r, &w, seconds, u);
	if (out->class == ROOF_UNDER)
		out->factor = roof_least(&r, &w, limit(ctx, "roofline_reachable"), u) / seconds;
	else if (out->class == ROOF_MEMORY)
		out->factor = roof_least(&(struct roof){r.flops_per_second, NAN}, &w,
		                         limit(ctx, "roofline_reachable"), u) /
		              seconds;
	out->factor = fmin(out->factor, 1);
	return out->class != ROOF_UNKNOWN;
}

int roof_walk_table(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit, void *self)
{
	const struct chip *chip = chip_find(v->c->chip);

	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];
		struct roof_item item = {.kind = RELIEF_KERNEL,
		                         .index = i,
		                         .ns = (double)k->dur_ns,
		                         .factor = 1,
		                         .name = k->type ? k->type : k->name};
		bool counted = !isnan(k->flops) && !isnan(k->bytes);

		/* operators on the AICPU have a check of their own */
		if (k->communication || k->dur_ns <= 0 || on_aicpu(v, k))
			continue;
		if (!(counted && by_roof(ctx, v, chip, k, &item)) && !by_pipes(ctx, v, k, &item) &&
		    !(!counted && by_roof(ctx, v, chip, k, &item)))
			continue;
		/* the cause of these is known, and told by its own check */
		if ((item.class == ROOF_UNDER && kernel_misfits(ctx, v, k)) ||
		    (item.class == ROOF_MEMORY && is_conversion(v, k)))
			item.class = ROOF_UNKNOWN;
		visit(self, &item);
	}
	return SB_OK;
}

int roof_walk(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit, void *self)
{
	return v->c->kernel_count > 0 ? roof_walk_table(ctx, v, visit, self)
	                              : roof_walk_gpu(ctx, v, visit, self);
}
