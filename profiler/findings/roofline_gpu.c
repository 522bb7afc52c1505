#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/chips.h"
#include "profiler/findings/roofline.h"

/* A timeline of GPUs: kernels belong to the host operator during which they were launched; its shapes tell
 * what all of them together have to do. */

#define NONE UINT32_MAX
#define DEPTH_MAX 64 /* such operators hardly nest at all */

struct work_span {
	uint32_t lane;
	uint32_t work;   /* index into host_works */
	uint32_t parent; /* the span that this one lies in, NONE = none */
	int64_t start, end;
};

struct gpu_works {
	struct work_span *spans; /* by lane and start, the longer first */
	size_t count;
	double *ns;        /* by work: of its kernels */
	bool *tf32;        /* by work: a kernel's name says so */
	uint32_t *work_of; /* by event of the timeline */
};

static void works_free(struct gpu_works *g)
{
	free(g->spans);
	free(g->ns);
	free(g->tf32);
	free(g->work_of);
}

static int by_place(const void *a, const void *b)
{
	const struct work_span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (x->work > y->work) - (x->work < y->work);
}

static void sort_spans(struct gpu_works *g, const struct capture *c)
{
	const struct trace *t = &c->trace;

	for (size_t i = 0; i < c->host_work_count; i++) {
		uint32_t e = c->host_works[i].event;

		if (e < t->count && t->kind[e] == EVENT_HOST_OP)
			g->spans[g->count++] =
			    (struct work_span){t->lane[e], (uint32_t)i, NONE, t->start_ns[e],
			                       interval_end(t->start_ns[e], t->dur_ns[e])};
	}
	qsort(g->spans, g->count, sizeof(*g->spans), by_place);
	for (size_t i = 1; i < g->count; i++) {
		uint32_t up = (uint32_t)i - 1;

		while (up != NONE &&
		       (g->spans[up].lane != g->spans[i].lane || g->spans[up].end < g->spans[i].end))
			up = g->spans[up].parent;
		g->spans[i].parent = up;
	}
}

/* The innermost span of the lane that holds the time. */
static uint32_t span_at(const struct gpu_works *g, uint32_t lane, int64_t time)
{
	size_t lo = 0, hi = g->count;
	uint32_t at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct work_span *s = &g->spans[mid];

		if (s->lane < lane || (s->lane == lane && s->start <= time))
			lo = mid + 1;
		else
			hi = mid;
	}
	at = lo > 0 ? (uint32_t)lo - 1 : NONE;
	for (int depth = 0; at != NONE && (g->spans[at].lane != lane || g->spans[at].end < time); depth++)
		at = depth < DEPTH_MAX ? g->spans[at].parent : NONE;
	return at == NONE ? NONE : g->spans[at].work;
}

static void join(struct gpu_works *g, const struct rank_view *v, const struct launches *l)
{
	const struct trace *t = &v->c->trace;

	for (size_t i = 0; i < t->count; i++) {
		const struct launch *from;
		uint32_t work;

		g->work_of[i] = NONE;
		if (!is_kernel_of(v, i) || !(from = launches_find(l, t->link[i])))
			continue;
		work = span_at(g, t->lane[from->event], from->start);
		if (work == NONE)
			continue;
		g->work_of[i] = work;
		g->ns[work] += (double)t->dur_ns[i];
		/* cuBLAS, cutlass and cuDNN: fp32 operands on the tensor cores */
		if (v->c->host_works[work].precision == PRECISION_FP32 && !g->tf32[work]) {
			const char *name = view_text(v, t->name[i]);

			g->tf32[work] = strstr(name, "tf32") || strstr(name, "s1688");
		}
	}
}

static int works_build(struct gpu_works *g, const struct rank_view *v)
{
	LAUNCHES_AUTO l = {0};
	const struct capture *c = v->c;
	int rc;

	g->spans = calloc(c->host_work_count + 1, sizeof(*g->spans));
	g->ns = calloc(c->host_work_count + 1, sizeof(*g->ns));
	g->tf32 = calloc(c->host_work_count + 1, sizeof(*g->tf32));
	g->work_of = calloc(c->trace.count + 1, sizeof(*g->work_of));
	if (!g->spans || !g->ns || !g->tf32 || !g->work_of)
		return SB_ENOMEM;
	rc = launches_build(&c->trace, &l);
	if (rc != SB_OK)
		return rc;
	sort_spans(g, c);
	join(g, v, &l);
	return SB_OK;
}

/* The class of each operator's kernels, all alike. */
static bool by_shapes(const struct check_context *ctx, const struct rank_view *v, const struct chip *chip,
                      const struct gpu_works *g, uint32_t work, struct roof_item *out)
{
	const struct host_work *h = &v->c->host_works[work];
	double u = limit(ctx, "roofline_utilization"), reachable = limit(ctx, "roofline_reachable");
	double seconds = g->ns[work] / 1e9;
	enum precision p = g->tf32[work] ? PRECISION_TF32 : (enum precision)h->precision;
	const struct work w = {h->flops, h->bytes};
	struct roof r = {chip_peak(chip, p), chip->memory_bytes_per_second};

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
	__attribute__((cleanup(works_free))) struct gpu_works g = {0};
	const struct chip *chip = chip_find(v->c->chip);
	const struct trace *t = &v->c->trace;
	const struct kernel_fill **fills;
	bool shapes = chip && v->c->host_work_count > 0;

	if (!shapes && v->c->fill_count == 0)
		return SB_OK;
	if (shapes && works_build(&g, v) != SB_OK)
		return SB_ENOMEM;
	fills = fills_by_name(v->c);
	if (!fills)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		struct roof_item item = {.kind = RELIEF_EVENT,
		                         .index = i,
		                         .ns = (double)t->dur_ns[i],
		                         .factor = 1,
		                         .name = t->name[i]};

		if (!is_kernel_of(v, i) || t->dur_ns[i] <= 0)
			continue;
		if ((shapes && g.work_of[i] != NONE && by_shapes(ctx, v, chip, &g, g.work_of[i], &item)) ||
		    by_launch(ctx, fills[t->name[i]], &item))
			visit(self, &item);
	}
	free(fills);
	return SB_OK;
}
