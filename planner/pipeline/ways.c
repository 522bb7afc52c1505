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

/* Which of a list's ways is the i-th, where only some are kept: evenly spread, the first and the last
 * included.
 */
static size_t spread(size_t count, size_t kept, size_t i)
{
	return kept < count ? i * (count - 1) / (kept - 1) : i;
}

static size_t at_most(size_t count, size_t most)
{
	return count < most ? count : most;
}

/* Copies a list, or so many of it. */
static int store(const struct way *list, size_t count, size_t most, bool thinned, struct ways *out)
{
	size_t kept = at_most(count, most);
	struct ways w = {.count = kept, .thinned = thinned || kept < count};

	w.backward = malloc((kept + 1) * sizeof(*w.backward));
	w.activation = malloc((kept + 1) * sizeof(*w.activation));
	w.origin = malloc((kept + 1) * sizeof(*w.origin));
	if (!w.backward || !w.activation || !w.origin) {
		ways_free(&w);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < kept; i++) {
		const struct way *x = &list[spread(count, kept, i)];

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

	return store(&none, 1, WAYS_MAX, false, out);
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
	return store(list, kept, WAYS_MAX, false, out);
}

/* The next pair of each way of the shorter list, as a heap: the first of all is on top. */
struct merge {
	const struct ways *rows, *along;
	size_t row_count, along_count; /* of them that are looked at */
	bool turned;                   /* the rows are the parts */
	struct way *heap;
	size_t count;
	double work;
};

static struct way pair_of(const struct merge *m, size_t row, size_t at)
{
	size_t r = spread(m->rows->count, m->row_count, row);
	size_t a = spread(m->along->count, m->along_count, at);

	return (struct way){.backward = m->rows->backward[r] + m->along->backward[a],
	                    .activation = m->rows->activation[r] + m->along->activation[a],
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
	size_t row = m->heap[0].before, first = m->heap[0].part + (size_t)1, at = first;

	while (at < m->along_count && !keeps_less(pair_of(m, row, at).activation, last))
		at++;
	m->work += (double)(at - first) + 8;
	if (at < m->along_count)
		m->heap[0] = pair_of(m, row, at);
	else
		m->heap[0] = m->heap[--m->count];
	sift_down(m);
}

static int take_all(struct merge *m, struct way **list, size_t *count)
{
	/* as the rows' first activations fall, their backwards rise: this is a heap already */
	for (m->count = 0; m->count < m->row_count; m->count++)
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
	for (size_t i = 0; i < *count; i++) {
		struct way *x = &(*list)[i];
		uint16_t row = (uint16_t)spread(m->rows->count, m->row_count, x->before);
		uint16_t at = (uint16_t)spread(m->along->count, m->along_count, x->part);

		x->before = m->turned ? at : row;
		x->part = m->turned ? row : at;
	}
	return SB_OK;
}

int ways_merge(const struct ways *before, const struct ways *part, double *io_work, struct ways *out)
{
	size_t most = *io_work > 0 ? WAYS_MAX : WAYS_FEW;
	bool turned = part->count < before->count;
	const struct ways *rows = turned ? part : before, *along = turned ? before : part;
	struct merge m = {.rows = rows,
	                  .along = along,
	                  .row_count = at_most(rows->count, most),
	                  .along_count = at_most(along->count, most),
	                  .turned = turned};
	bool thinned =
	    before->thinned || part->thinned || m.row_count < rows->count || m.along_count < along->count;
	struct way *list = NULL;
	size_t count = 0;
	int rc = SB_ENOMEM;

	m.heap = malloc((m.row_count + 1) * sizeof(*m.heap));
	if (m.heap)
		rc = m.row_count > 0 && m.along_count > 0 ? take_all(&m, &list, &count) : SB_OK;
	if (rc == SB_OK)
		rc = store(list, count, most, thinned, out);
	*io_work -= m.work;
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
