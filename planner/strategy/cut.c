#include <string.h>

#include "base/num.h"
#include "planner/strategy/strategy.h"

/* The pipeline's cut into slices, and what a stage has of them. */

bool strategy_slices_fit(int64_t pp, int64_t vpp, int64_t layers)
{
	return pp <= layers && (vpp == 1 || (vpp <= layers && pp * vpp <= layers + 2));
}

static struct even_cut even_of(const struct strategy *s, int64_t layers)
{
	int64_t slices = s->pp * s->vpp, last = layers / slices - s->last_fewer, left;

	if (slices == 1)
		return (struct even_cut){0, 0, layers};
	left = layers - last - s->first_more;
	/* Later stages hold fewer micro-batches in flight: they take what does not divide. */
	return (struct even_cut){left / (slices - 1), slices - 1 - left % (slices - 1), last};
}

static int64_t even_layers(const struct strategy *s, const struct even_cut *e, int64_t slice)
{
	return slice == s->pp * s->vpp - 1
	           ? e->last
	           : e->base + (slice == 0 ? s->first_more : 0) + (slice >= e->longer ? 1 : 0);
}

int64_t strategy_slice_layers(const struct strategy *s, int64_t layers, int64_t slice)
{
	struct even_cut e;

	if (s->slice_layers)
		return s->slice_layers[slice];
	e = even_of(s, layers);
	return even_layers(s, &e, slice);
}

/* The first layer of a slice. */
static int64_t even_start(const struct strategy *s, const struct even_cut *e, int64_t slice)
{
	return slice * e->base + (slice > 0 ? s->first_more : 0) +
	       (slice > e->longer ? slice - e->longer : 0);
}

static int64_t slice_start(const struct strategy *s, int64_t layers, int64_t slice)
{
	int64_t start = 0;
	struct even_cut e;

	if (s->slice_layers) {
		for (int64_t i = 0; i < slice; i++)
			start += s->slice_layers[i];
		return start;
	}
	e = even_of(s, layers);
	return even_start(s, &e, slice);
}

int64_t strategy_stage_layers(const struct strategy *s, int64_t layers, int64_t stage)
{
	int64_t n = 0;

	for (int64_t j = 0; j < s->vpp; j++)
		n += strategy_slice_layers(s, layers, j * s->pp + stage);
	return n;
}

/* Layers that a stage recomputes with so many of each of its chunks. */
static int64_t recomputed_with(const struct strategy *s, int64_t layers, int64_t stage, int64_t each)
{
	int64_t n = 0;

	for (int64_t j = 0; j < s->vpp; j++)
		n += sb_smaller(each, strategy_slice_layers(s, layers, j * s->pp + stage));
	return n;
}

int64_t strategy_recompute_each(const struct strategy *s, int64_t layers, int64_t stage, int64_t n)
{
	int64_t low = 0, high = layers;

	if (n < 0)
		return -1;
	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (recomputed_with(s, layers, stage, mid) >= n)
			high = mid;
		else
			low = mid + 1;
	}
	return recomputed_with(s, layers, stage, low) == n ? low : -1;
}

/* Those with experts of the n layers from the first one on. */
static int64_t experts_among(const struct model *m, int64_t first, int64_t n)
{
	int64_t behind = first + n - m->moe.first_dense;

	if (!m->has_moe || behind <= 0)
		return 0;
	if (m->moe.every == 1)
		return sb_smaller(behind, n);
	return model_layers_of(m, first + n, LAYER_MOE) - model_layers_of(m, first, LAYER_MOE);
}

static void count_kinds(const struct model *m, int64_t first, int64_t n, int64_t out[LAYER_KINDS])
{
	out[LAYER_MOE] = experts_among(m, first, n);
	out[LAYER_DENSE] = n - out[LAYER_MOE];
}

int stage_only_kind(const struct stage_run *run)
{
	int only = 0;

	for (int k = 1; k < LAYER_KINDS; k++) {
		if (run->layers[k] > 0 && run->layers[only] > 0)
			return LAYER_KINDS;
		only = run->layers[k] > 0 ? k : only;
	}
	return only;
}

static struct chunk chunk_between(const struct model *m, const struct stage_run *run, int64_t start,
                                  int64_t n)
{
	int64_t recomputed = sb_smaller(run->each, n);
	struct chunk c;

	count_kinds(m, start, n, c.layers);
	count_kinds(m, start + recomputed, n - recomputed, c.kept);
	return c;
}

struct chunk strategy_chunk(const struct model *m, const struct strategy *s, const struct stage_run *run,
                            int64_t j)
{
	int64_t slice = j * s->pp + run->first, n = run->chunk + (j >= s->vpp - run->longer);
	struct chunk c = {.layers = {0}};
	int only = stage_only_kind(run);

	if (run->uneven)
		return chunk_between(m, run, slice_start(s, m->layers, slice),
		                     strategy_slice_layers(s, m->layers, slice));
	c.layers[only] = n;
	c.kept[only] = n - sb_smaller(run->each, n);
	return c;
}

struct chunk_walk strategy_chunks(const struct model *m, const struct strategy *s,
                                  const struct stage_run *run)
{
	struct chunk_walk w = {.model = m, .strategy = s, .run = run, .slice = run->first};

	if (s->slice_layers)
		w.start = slice_start(s, m->layers, run->first);
	else
		w.even = even_of(s, m->layers);
	return w;
}

struct chunk strategy_next_chunk(struct chunk_walk *w)
{
	const struct strategy *s = w->strategy;
	int64_t slice = w->slice, start = w->start;

	w->slice += s->pp;
	if (!s->slice_layers)
		return chunk_between(w->model, w->run, even_start(s, &w->even, slice),
		                     even_layers(s, &w->even, slice));
	/* the last one has none after it */
	for (int64_t i = slice; i < sb_smaller(w->slice, s->pp * s->vpp); i++)
		w->start += s->slice_layers[i];
	return chunk_between(w->model, w->run, start, s->slice_layers[slice]);
}

void strategy_recompute_first(const struct model *m, const struct strategy *s, int64_t n,
                              struct stage_run *run)
{
	int only = stage_only_kind(run);

	run->each = n;
	memset(run->kept, 0, sizeof(run->kept));
	if (s->vpp > 1 && run->uneven) {
		struct chunk_walk w = strategy_chunks(m, s, run);

		for (int64_t j = 0; j < s->vpp; j++) {
			struct chunk c = strategy_next_chunk(&w);

			for (int k = 0; k < LAYER_KINDS; k++)
				run->kept[k] += c.kept[k];
		}
	} else if (s->vpp > 1) {
		run->kept[only] = run->layers[only] - (s->vpp - run->longer) * sb_smaller(n, run->chunk) -
		                  run->longer * sb_smaller(n, run->chunk + 1);
	} else if (only < LAYER_KINDS) { /* which of equal layers they are does not matter */
		run->kept[only] = run->layers[only] - sb_smaller(n, run->layers[only]);
	} else {
		int64_t layers = run->layers[LAYER_DENSE] + run->layers[LAYER_MOE];

		n = sb_smaller(n, layers);
		count_kinds(m, run->start + n, layers - n, run->kept);
	}
}

/* Counts a stage's layers, and what its chunks have of them. Chunks with layers of several kinds count as
 * uneven: the first that recompute may be others in each. */
static void count_layers(const struct model *m, const struct strategy *s, const struct even_cut *e,
                         struct stage_run *run)
{
	run->chunk = s->slice_layers ? s->slice_layers[run->first] : even_layers(s, e, run->first);
	count_kinds(m, run->start, run->chunk, run->layers);
	for (int64_t j = 1; j < s->vpp; j++) {
		int64_t slice = j * s->pp + run->first, start = 0, of[LAYER_KINDS];
		int64_t n = s->slice_layers ? s->slice_layers[slice] : even_layers(s, e, slice);

		if (m->has_moe)
			start = s->slice_layers ? slice_start(s, m->layers, slice) : even_start(s, e, slice);
		count_kinds(m, start, n, of);
		for (int k = 0; k < LAYER_KINDS; k++)
			run->layers[k] += of[k];
		run->longer += n == run->chunk + 1;
		run->uneven = run->uneven || n != run->chunk + (run->longer > 0);
	}
	run->uneven = s->vpp > 1 && (run->uneven || stage_only_kind(run) == LAYER_KINDS);
}

/* Of two runs' stages that have the same layers: in the same chunks, too? Those that are uneven are told
 * apart. */
static bool same_chunks(const struct stage_run *a, const struct stage_run *b)
{
	return !a->uneven && !b->uneven && a->each == b->each && a->chunk == b->chunk &&
	       a->longer == b->longer;
}

static bool same_layers(const struct stage_run *a, const struct stage_run *b)
{
	return memcmp(a->layers, b->layers, sizeof(a->layers)) == 0 &&
	       memcmp(a->kept, b->kept, sizeof(a->kept)) == 0;
}

int64_t strategy_runs(const struct model *m, const struct strategy *s, struct stage_run *out_runs)
{
	struct even_cut e = s->slice_layers ? (struct even_cut){0} : even_of(s, m->layers);
	int64_t runs = 0, at = 0;

	for (int64_t i = 0; i < s->pp; i++) {
		struct stage_run r = {.first = i, .count = 1, .start = at, .each = INT64_MAX};

		count_layers(m, s, &e, &r);
		at += r.chunk;
		if (s->stage_recompute)
			strategy_recompute_first(
			    m, s, strategy_recompute_each(s, m->layers, i, s->stage_recompute[i]), &r);
		/* The first and the last stage carry the embedding and the head: always their own runs. */
		if (i > 1 && i < s->pp - 1 && same_layers(&out_runs[runs - 1], &r) &&
		    (s->vpp == 1 || same_chunks(&out_runs[runs - 1], &r)))
			out_runs[runs - 1].count++;
		else
			out_runs[runs++] = r;
	}
	return runs;
}
