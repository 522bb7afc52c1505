#include <string.h>

#include "planner/strategy/strategy.h"

/* The pipeline's cut into slices, and what a stage has of them. */

bool strategy_slices_fit(int64_t pp, int64_t vpp, int64_t layers)
{
	return pp <= layers && (vpp == 1 || (vpp <= layers && pp * vpp <= layers + 2));
}

/* The first layer of a slice, the model's layers behind the last one. */
static int64_t slice_start(const struct strategy *s, int64_t layers, int64_t slice)
{
	int64_t slices = s->pp * s->vpp, left, base, longer, start = 0;

	if (s->slice_layers) {
		for (int64_t i = 0; i < slice; i++)
			start += s->slice_layers[i];
		return start;
	}
	if (slice == 0 || slice == slices)
		return slice == 0 ? 0 : layers;
	left = layers - (layers / slices - s->last_fewer) - s->first_more;
	base = left / (slices - 1);
	/* Later stages hold fewer micro-batches in flight: they take what does not divide. */
	longer = slice - (slices - 1 - left % (slices - 1));
	return slice * base + s->first_more + (longer > 0 ? longer : 0);
}

int64_t strategy_slice_layers(const struct strategy *s, int64_t layers, int64_t slice)
{
	return s->slice_layers ? s->slice_layers[slice]
	                       : slice_start(s, layers, slice + 1) - slice_start(s, layers, slice);
}

int64_t strategy_stage_layers(const struct strategy *s, int64_t layers, int64_t stage)
{
	int64_t n = 0;

	for (int64_t j = 0; j < s->vpp; j++)
		n += strategy_slice_layers(s, layers, j * s->pp + stage);
	return n;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Layers that a stage recomputes with so many of each of its chunks. */
static int64_t recomputed_with(const struct strategy *s, int64_t layers, int64_t stage, int64_t each)
{
	int64_t n = 0;

	for (int64_t j = 0; j < s->vpp; j++)
		n += smaller(each, strategy_slice_layers(s, layers, j * s->pp + stage));
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

/* Layers of a kind among the n from the first one on. */
static int64_t layers_between(const struct model *m, int64_t first, int64_t n, enum layer_kind kind)
{
	return model_layers_of(m, first + n, kind) - model_layers_of(m, first, kind);
}

/* The only kind of layers that a stage has; LAYER_KINDS where it has several. */
static int only_kind(const struct stage_run *run)
{
	int only = 0;

	for (int k = 1; k < LAYER_KINDS; k++) {
		if (run->layers[k] > 0 && run->layers[only] > 0)
			return LAYER_KINDS;
		only = run->layers[k] > 0 ? k : only;
	}
	return only;
}

struct chunk strategy_chunk(const struct model *m, const struct strategy *s, const struct stage_run *run,
                            int64_t j)
{
	int64_t slice = j * s->pp + run->first, n = strategy_slice_layers(s, m->layers, slice), start;
	int64_t recomputed = smaller(run->each, n);
	int only = only_kind(run);
	struct chunk c = {.layers = {0}};

	if (only < LAYER_KINDS) {
		c.layers[only] = n;
		c.kept[only] = n - recomputed;
		return c;
	}
	start = slice_start(s, m->layers, slice);
	for (int k = 0; k < LAYER_KINDS; k++) {
		c.layers[k] = layers_between(m, start, n, (enum layer_kind)k);
		c.kept[k] = layers_between(m, start + recomputed, n - recomputed, (enum layer_kind)k);
	}
	return c;
}

void strategy_recompute_first(const struct model *m, const struct strategy *s, int64_t n,
                              struct stage_run *run)
{
	int only = only_kind(run);

	run->each = n;
	memcpy(run->kept, run->layers, sizeof(run->kept));
	if (s->vpp > 1 && run->uneven) {
		memset(run->kept, 0, sizeof(run->kept));
		for (int64_t j = 0; j < s->vpp; j++) {
			struct chunk c = strategy_chunk(m, s, run, j);

			for (int k = 0; k < LAYER_KINDS; k++)
				run->kept[k] += c.kept[k];
		}
	} else if (only < LAYER_KINDS) { /* which of equal layers they are does not matter */
		run->kept[only] -= smaller(n, run->layers[only] / s->vpp) * s->vpp;
	} else {
		n = smaller(n, run->layers[LAYER_DENSE] + run->layers[LAYER_MOE]);
		for (int k = 0; k < LAYER_KINDS; k++)
			run->kept[k] -= layers_between(m, run->start, n, (enum layer_kind)k);
	}
}

/* Counts a stage's layers. Chunks with layers of several kinds count as unlike: the first that recompute may
 * be others in each. */
static void count_layers(const struct model *m, const struct strategy *s, struct stage_run *run)
{
	int64_t first = strategy_slice_layers(s, m->layers, run->first);

	for (int k = 0; k < LAYER_KINDS; k++)
		run->layers[k] = layers_between(m, run->start, first, (enum layer_kind)k);
	for (int64_t j = 1; j < s->vpp; j++) {
		int64_t slice = j * s->pp + run->first, n = strategy_slice_layers(s, m->layers, slice);

		for (int k = 0; k < LAYER_KINDS; k++)
			run->layers[k] +=
			    layers_between(m, slice_start(s, m->layers, slice), n, (enum layer_kind)k);
		run->uneven = run->uneven || n != first;
	}
	run->uneven = s->vpp > 1 && (run->uneven || only_kind(run) == LAYER_KINDS);
}

/* Of two runs' stages that have the same layers: in the same chunks, too? */
static bool same_chunks(const struct model *m, const struct strategy *s, const struct stage_run *a,
                        const struct stage_run *b)
{
	if (a->uneven != b->uneven || a->each != b->each)
		return false;
	for (int64_t j = 0; a->uneven && j < s->vpp; j++) {
		struct chunk x = strategy_chunk(m, s, a, j), y = strategy_chunk(m, s, b, j);

		if (memcmp(&x, &y, sizeof(x)) != 0)
			return false;
	}
	return true;
}

int64_t strategy_runs(const struct model *m, const struct strategy *s, struct stage_run *out_runs)
{
	int64_t runs = 0, at = 0;

	for (int64_t i = 0; i < s->pp; i++) {
		struct stage_run r = {.first = i, .count = 1, .start = at, .each = INT64_MAX};
		struct stage_run *before = runs > 0 ? &out_runs[runs - 1] : NULL;

		count_layers(m, s, &r);
		at += strategy_slice_layers(s, m->layers, i);
		if (s->stage_recompute)
			strategy_recompute_first(
			    m, s, strategy_recompute_each(s, m->layers, i, s->stage_recompute[i]), &r);
		/* The first and the last stage carry the embedding and the head: always their own runs. */
		if (i > 1 && i < s->pp - 1 && memcmp(before->layers, r.layers, sizeof(r.layers)) == 0 &&
		    memcmp(before->kept, r.kept, sizeof(r.kept)) == 0 && same_chunks(m, s, before, &r))
			before->count++;
		else
			out_runs[runs++] = r;
	}
	return runs;
}
