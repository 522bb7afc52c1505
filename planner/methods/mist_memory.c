#include <math.h>
#include <stdlib.h>

#include "planner/methods/mist_ways.h"

/* The leanest plan: its fullest stage needs no more than that of any other. */
struct leanest {
	const struct mist_problem *p;
	struct mist_ways ways;
	double *here, *before; /* [layers + 1]: bytes of the fullest of the first stages, by their layers */
	double bytes;          /* of the leanest plan so far */
};

static void leanest_free(struct leanest *s)
{
	mist_ways_free(&s->ways);
	free(s->here);
	free(s->before);
}

/* Does a way need no more than another in any stage? */
static bool as_lean(const struct mist_layer *a, const struct mist_layer *b)
{
	return a->states <= b->states && a->buffers <= b->buffers && a->kept_share <= b->kept_share &&
	       a->factor <= b->factor;
}

/* Keeps those ways only that none other of their shape is as lean as. */
static void keep_lean(struct mist_ways *w)
{
	int64_t count = 0;

	for (int64_t n = 0; n < w->count; n++) {
		int64_t kept = 0;
		bool lean = true;

		for (int64_t k = 0; lean && k < count; k++)
			lean = w->of[k] != w->of[n] || !as_lean(&w->way[k].layer, &w->way[n].layer);
		if (!lean)
			continue;
		for (int64_t k = 0; k < count; k++) {
			if (w->of[k] == w->of[n] && as_lean(&w->way[n].layer, &w->way[k].layer))
				continue;
			w->way[kept] = w->way[k];
			w->of[kept++] = w->of[k];
		}
		w->way[kept] = w->way[n];
		w->of[kept++] = w->of[n];
		count = kept;
	}
	w->count = count;
}

/* Bytes are linear in the checkpointed layers, from the first on. */
static double stage_bytes(const struct mist_ways *w, int64_t i, int64_t layers)
{
	double least = INFINITY;

	for (int64_t n = 0; n < w->count; n++) {
		const struct mist_shape *shape = &w->shape[w->of[n]];
		const struct mist_layer *l = &w->way[n].layer;

		least = fmin(least, mist_stage_bytes(shape, l, i, layers, 0));
		least = fmin(least, mist_stage_bytes(shape, l, i, layers, layers));
	}
	return least;
}

/* Lays one stage behind those before it; false when nothing leaner than the leanest can come of it. */
static bool add_stage(struct leanest *s, const struct mist_sizes *sizes, int64_t i)
{
	int64_t layers = s->p->cost->model.layers;
	double *swap = s->before;
	bool any = false;

	s->before = s->here;
	s->here = swap;
	for (int64_t r = 0; r <= layers; r++)
		s->here[r] = INFINITY;
	for (int64_t k = 0; k < sizes->count; k++) {
		double bytes = stage_bytes(&s->ways, i, sizes->first + k);

		for (int64_t r = 0; bytes < s->bytes && r + sizes->first + k <= layers; r++) {
			double *to = &s->here[r + sizes->first + k];

			*to = fmin(*to, fmax(bytes, s->before[r]));
			any = any || *to < s->bytes;
		}
	}
	return any;
}

static void weigh(struct leanest *s, const struct mist_pair *pair)
{
	struct mist_sizes sizes = mist_sizes_of(s->p, pair->stages);
	int64_t layers = s->p->cost->model.layers;

	mist_ways_of(s->p, pair->stages, pair->micro_batches, &s->ways);
	keep_lean(&s->ways);
	for (int64_t r = 0; r <= layers; r++)
		s->here[r] = r == 0 ? 0 : INFINITY;
	for (int64_t i = 0; i < pair->stages; i++) {
		if (sb_stopped(s->p->watch) || !add_stage(s, &sizes, i))
			return;
	}
	s->bytes = fmin(s->bytes, s->here[layers]);
}

int mist_least_memory(const struct mist_problem *p, double *out)
{
	struct leanest s __attribute__((cleanup(leanest_free))) = {.p = p, .bytes = INFINITY};
	struct mist_pair pairs[MIST_PAIRS_MAX];
	size_t places = (size_t)p->cost->model.layers + 1;
	int count = mist_pairs(p, pairs);

	s.here = calloc(places, sizeof(*s.here));
	s.before = calloc(places, sizeof(*s.before));
	if (mist_ways_open(&s.ways) != SB_OK || !s.here || !s.before)
		return SB_ENOMEM;
	for (int i = 0; i < count; i++)
		weigh(&s, &pairs[i]);
	*out = s.bytes;
	return SB_OK;
}
