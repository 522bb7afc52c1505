#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/chips.h"
#include "profiler/findings/roofline.h"
#include "profiler/gpu_works.h"

/* The class of each operator's kernels, all alike. */
static bool by_shapes(const struct check_context *ctx, const struct chip *chip, const struct host_work *h,
                      struct roof_item *out)
{
	double u = limit(ctx, "roofline_utilization"), reachable = limit(ctx, "roofline_reachable");
	double seconds = h->kernel_ns / 1e9;
	const struct work w = {h->flops, h->bytes};
	struct roof r = {chip_peak(chip, gpu_work_precision(h)), chip->memory_bytes_per_second};

	out->basis = BASIS_SHAPES;
	out->class = roof_classify(&r, &w, seconds, u);
	if (out->class == ROOF_UNDER)
		out->factor = fmin(roof_least(&r, &w, reachable, u) / seconds, 1);
	r.bytes_per_second = NAN;
	if (out->class == ROOF_MEMORY)
		out->factor = fmin(roof_least(&r, &w, reachable, u) / seconds, 1);
	return out->class != ROOF_UNKNOWN;
}

/* A shorter kernel does not get much shorter on more of the device. */
#define SHORTEST_NS 3000

/* Few blocks leave most of the device idle. */
static bool by_launch(const struct check_context *ctx, const struct kernel_fill *f, struct roof_item *out)
{
	double blocks;

	if (!f || !(f->ns > 0))
		return false;
	blocks = f->blocks_ns / f->ns;
	out->basis = BASIS_LAUNCH;
	out->class = blocks < limit(ctx, "blocks_per_sm") ? ROOF_UNDER : ROOF_COMPUTE;
	if (out->class == ROOF_UNDER)
		out->factor = fmin(fmax(blocks, SHORTEST_NS / out->ns), 1);
	return true;
}

static const struct kernel_fill **fills_by_name(const struct capture *c)
{
	const struct kernel_fill **by = calloc(sb_strings_count(c->trace.strings) + 1, sizeof(*by));

	for (size_t i = 0; by && i < c->fill_count; i++)
		if (c->fills[i].name < sb_strings_count(c->trace.strings))
			by[c->fills[i].name] = &c->fills[i];
	return by;
}

int roof_walk_gpu(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit, void *self)
{
	const struct chip *chip = chip_find(v->c->chip);
	const struct capture *c = v->c;
	const struct trace *t = &c->trace;
	const struct kernel_fill **fills;
	size_t joined = chip ? c->work_kernel_count : 0, next = 0;

	if (joined == 0 && c->fill_count == 0)
		return SB_OK;
	fills = fills_by_name(c);
	if (!fills)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		struct roof_item item = {.kind = RELIEF_EVENT,
		                         .index = i,
		                         .ns = (double)t->dur_ns[i],
		                         .factor = 1,
		                         .name = t->name[i]};

		const struct host_work *h = NULL;

		if (next < joined && c->work_kernels[next].event == i)
			h = &c->host_works[c->work_kernels[next++].work];
		if (!is_kernel_of(v, i) || t->dur_ns[i] <= 0)
			continue;
		if ((h && by_shapes(ctx, chip, h, &item)) || by_launch(ctx, fills[t->name[i]], &item))
			visit(self, &item);
	}
	free(fills);
	return SB_OK;
}
