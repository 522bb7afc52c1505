#include "planner/pipeline/ways.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

/* What differs by rounding alone is the same. */
#define SAME 1e-12

static bool comes_first(const struct way *a, const struct way *b)
{
	return a->backward < b->backward || (a->backward == b->backward && a->activation < b->activation);
}

static bool keeps_less(double activation, const struct way *than)
{
	return activation < than->activation * (1 - SAME);
}

/* Copies a list; with more than WAYS_MAX only some of them, evenly spread. */
static int store(const struct way *list, size_t count, bool thinned, struct ways *out)
{
	size_t kept = count < WAYS_MAX ? count : WAYS_MAX;
	struct ways w = {.count = kept, .thinned = thinned || kept < count};

	w.backward = malloc((kept + 1) * sizeof(*w.backward));
	w.activation = malloc((kept + 1) * sizeof(*w.activation));
	w.origin = malloc((kept + 1) * sizeof(*w.origin));
	if (!w.backward || !w.activation || !w.origin) {
		ways_free(&w);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < kept; i++) {
		const struct way *x = &list[kept < count ? i * (count - 1) / (kept - 1) : i];

		w.backward[i] = x->backward;
		w.activation[i] = x->activation;
		w.origin[i] = (struct way_origin){x->before, x->part};
	}
	*out = w;
	return SB_OK;
}

int ways_none(struct ways *out)
{
	struct way none = {0};

	return store(&none, 1, false, out);
}

static int by_time(const void *a, const void *b)
{
	return comes_first(a, b) ? -1 : comes_first(b, a);
}

int ways_choose(struct way *list, size_t count, struct ways *out)
{
	size_t kept = 0;

	if (count > 1)
		qsort(list, count, sizeof(*list), by_time);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || keeps_less(list[i].activation, &list[kept - 1]))
			list[kept++] = list[i];
	return store(list, kept, false, out);
}

/* The next pair of each way of the shorter list, as a heap: the first of all is on top. */
struct merge {
	const struct ways *rows, *along;
	bool turned; /* the rows are the parts */
	struct way *heap;
	size_t count;
};

static struct way pair_of(const struct merge *m, size_t row, size_t at)
{
	return (struct way){.backward = m->rows->backward[row] + m->along->backward[at],
	                    .activation = m->rows->activation[row] + m->along->activation[at],
	                    .before = (uint16_t)row,
	                    .part = (uint16_t)at};
}

static void sift_down(struct merge *m)
{
	struct way x = m->heap[0];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
		if (child + 1 < m->count && comes_first(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!comes_first(&m->heap[child], &x))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = x;
}

/* Takes the top away and puts the next pair of its row there that keeps less than the last that was kept. */
static void advance(struct merge *m, const struct way *last)
{
	size_t row = m->heap[0].before, at = m->heap[0].part + (size_t)1;

	while (at < m->along->count && !keeps_less(pair_of(m, row, at).activation, last))
		at++;
	if (at < m->along->count)
		m->heap[0] = pair_of(m, row, at);
	else
		m->heap[0] = m->heap[--m->count];
	sift_down(m);
}

static int take_all(struct merge *m, struct way **list, size_t *count)
{
	/* as the rows' first activations fall, their backwards rise: this is a heap already */
	for (m->count = 0; m->count < m->rows->count; m->count++)
		m->heap[m->count] = pair_of(m, m->count, 0);
	while (m->count > 0) {
		struct way x = m->heap[0];

		if (*count == 0 || keeps_less(x.activation, &(*list)[*count - 1])) {
			if (sb_grow(list, *count, sizeof(**list)) != SB_OK)
				return SB_ENOMEM;
			(*list)[(*count)++] = x;
		}
		advance(m, &(*list)[*count - 1]);
	}
	for (size_t i = 0; m->turned && i < *count; i++) {
		uint16_t row = (*list)[i].before;

		(*list)[i].before = (*list)[i].part;
		(*list)[i].part = row;
	}
	return SB_OK;
}

int ways_merge(const struct ways *before, const struct ways *part, struct ways *out)
{
	bool turned = part->count < before->count;
	struct merge m = {.rows = turned ? part : before, .along = turned ? before : part, .turned = turned};
	struct way *list = NULL;
	size_t count = 0;
	int rc = SB_ENOMEM;

	m.heap = malloc((m.rows->count + 1) * sizeof(*m.heap));
	if (m.heap)
		rc = m.rows->count > 0 && m.along->count > 0 ? take_all(&m, &list, &count) : SB_OK;
	if (rc == SB_OK)
		rc = store(list, count, before->thinned || part->thinned, out);
	free(m.heap);
	free(list);
	return rc;
}

void ways_free(struct ways *w)
{
	free(w->backward);
	free(w->activation);
	free(w->origin);
	*w = (struct ways){0};
}
