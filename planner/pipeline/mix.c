#include "planner/pipeline/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_extra(const void *a, const void *b)
{
	const struct mix *x = a, *y = b;

	if (x->extra != y->extra)
		return x->extra < y->extra ? -1 : 1;
	return (x->activation > y->activation) - (x->activation < y->activation);
}

/* From the counts alone, so that one mix has one value in whatever order its layers were added. */
static void weigh(const struct pipeline_body *b, double fastest, struct mix *x)
{
	x->extra = x->activation = 0;
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		if (x->layers[r] == 0)
			continue;
		x->extra += x->layers[r] * (b->backward[r] - fastest);
		x->activation += x->layers[r] * b->activation[r];
	}
}

static bool is_offered(const struct pipeline_body *b, int r)
{
	return !isnan(b->backward[r]) && !isnan(b->activation[r]);
}

/* The mixes of n layers are those of n - 1 with one more of any kind. */
static int extend(const struct pipeline_body *b, struct mixes *m, int64_t n)
{
	size_t before = m->count[n - 1], all = 0, kept = 0;
	struct mix *list = malloc((before * PIPELINE_RECOMPUTES + 1) * sizeof(*list)), *shorter;

	if (!list)
		return SB_ENOMEM;
	for (size_t i = 0; i < before; i++) {
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			if (!is_offered(b, r))
				continue;
			list[all] = m->of[n - 1][i];
			list[all].layers[r]++;
			weigh(b, m->fastest, &list[all++]);
		}
	}
	qsort(list, all, sizeof(*list), by_extra);
	for (size_t i = 0; i < all; i++)
		/* what differs by rounding alone is the same */
		if (kept == 0 || list[i].activation < list[kept - 1].activation * (1 - 1e-12))
			list[kept++] = list[i];
	shorter = realloc(list, (kept + 1) * sizeof(*list));
	m->of[n] = shorter ? shorter : list;
	m->count[n] = kept;
	return SB_OK;
}

int mixes_build(const struct pipeline_body *b, int64_t most, struct mixes *out)
{
	MIXES_AUTO m = {.most = most, .fastest = INFINITY, .least = INFINITY};
	int rc = SB_OK;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		if (!is_offered(b, r))
			continue;
		m.fastest = fmin(m.fastest, b->backward[r]);
		m.least = fmin(m.least, b->activation[r]);
	}
	m.of = calloc((size_t)most + 1, sizeof(struct mix *));
	m.count = calloc((size_t)most + 1, sizeof(*m.count));
	if (!m.of || !m.count || !(m.of[0] = calloc(1, sizeof(**m.of))))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees them */
		return SB_ENOMEM;
	m.count[0] = 1;
	for (int64_t n = 1; n <= most && rc == SB_OK; n++)
		rc = extend(b, &m, n);
	if (rc != SB_OK)
		return rc;
	*out = m;
	m = (struct mixes){0};
	return SB_OK;
}

void mixes_free(struct mixes *m)
{
	for (int64_t n = 0; m->of && n <= m->most; n++)
		free(m->of[n]);
	free(m->of);
	free(m->count);
	*m = (struct mixes){0};
}

const struct mix *mixes_within(const struct mixes *m, int64_t n, double budget)
{
	size_t lo = 0, hi = m->count[n];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->of[n][mid].extra <= budget)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? &m->of[n][lo - 1] : NULL;
}
