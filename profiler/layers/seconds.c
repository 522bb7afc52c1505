#include <stdlib.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/intervals.h"
#include "profiler/layers/order.h"

/* What each operator counts for. */

struct weigher {
	const struct layer_ops *o;
	uint32_t *order; /* by start on the device */
	struct interval_set compute;
	int64_t *before; /* ns of the compute intervals before each one */
	double *seconds;
};

static void weigher_clear(struct weigher *w)
{
	free(w->order);
	free(w->before);
	free(w->seconds);
	intervals_free(&w->compute);
}

static int by_start(const void *a, const void *b, void *self)
{
	const struct layer_op *items = self;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return sb_compare((const int64_t[]){items[x].start, items[x].end, x},
	                  (const int64_t[]){items[y].start, items[y].end, y}, 3);
}

static int sum_computing(struct weigher *w)
{
	intervals_normalise(&w->compute);
	w->before = malloc((w->compute.count + 1) * sizeof(*w->before));
	if (!w->before)
		return SB_ENOMEM;
	w->before[0] = 0;
	for (size_t i = 0; i < w->compute.count; i++)
		w->before[i + 1] = w->before[i] + w->compute.items[i].end - w->compute.items[i].start;
	return SB_OK;
}

/* ns of computing before a time. */
static int64_t computed_before(const struct weigher *w, int64_t time)
{
	size_t n = SB_BISECT(i, 0, w->compute.count, w->compute.items[i].start < time);
	int64_t last;

	if (n == 0)
		return 0;
	last = w->compute.items[n - 1].end < time ? w->compute.items[n - 1].end : time;
	return w->before[n - 1] + last - w->compute.items[n - 1].start;
}

/* Of operators of one kind that overlap, the one that began first counts. */
static void weigh_kind(struct weigher *w, enum layer_op_kind kind)
{
	int64_t reach = INT64_MIN;

	for (size_t i = 0; i < w->o->count; i++) {
		const struct layer_op *op = &w->o->items[w->order[i]];
		int64_t from = op->start > reach ? op->start : reach, ns;

		if (op->kind != kind || op->end <= from)
			continue;
		reach = op->end;
		ns = op->end - from;
		if (kind == LAYER_COLLECTIVE)
			ns -= computed_before(w, op->end) - computed_before(w, from);
		w->seconds[w->order[i]] = (double)ns / 1e9;
	}
}

static int by_token(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Collectives that backward alone has, by name and group, bring the gradients of a whole step together: they
 * are no part of a layer's pass. */
static int leave_out_gradients(struct weigher *w)
{
	const struct layer_op *ops = w->o->items;
	uint64_t *forward = malloc((w->o->count + 1) * sizeof(*forward));
	size_t n = 0;

	if (!forward)
		return SB_ENOMEM;
	for (size_t i = 0; i < w->o->count; i++)
		if (ops[i].kind == LAYER_COLLECTIVE && ops[i].phase != PHASE_BACKWARD)
			forward[n++] = ops[i].token;
	qsort(forward, n, sizeof(*forward), by_token);
	for (size_t i = 0; i < w->o->count; i++)
		if (ops[i].kind == LAYER_COLLECTIVE && ops[i].phase == PHASE_BACKWARD &&
		    !bsearch(&ops[i].token, forward, n, sizeof(*forward), by_token))
			w->seconds[i] = 0;
	free(forward);
	return SB_OK;
}

int layer_op_seconds(const struct layer_ops *o, double **out)
{
	__attribute__((cleanup(weigher_clear))) struct weigher w = {.o = o};
	int rc = SB_OK;

	w.order = malloc((o->count + 1) * sizeof(*w.order));
	w.seconds = calloc(o->count + 1, sizeof(*w.seconds));
	if (!w.order || !w.seconds)
		return SB_ENOMEM;
	for (size_t i = 0; i < o->count && rc == SB_OK; i++) {
		w.order[i] = (uint32_t)i;
		if (o->items[i].kind == LAYER_COMPUTE)
			rc = intervals_add(&w.compute, o->items[i].start, o->items[i].end);
	}
	if (rc == SB_OK)
		rc = sum_computing(&w);
	if (rc != SB_OK)
		return rc;
	for (size_t i = 1; i < o->count; i++)
		if (by_start(&w.order[i - 1], &w.order[i], o->items) > 0) {
			qsort_r(w.order, o->count, sizeof(*w.order), by_start, o->items);
			break;
		}
	weigh_kind(&w, LAYER_COMPUTE);
	weigh_kind(&w, LAYER_COLLECTIVE);
	rc = leave_out_gradients(&w);
	if (rc != SB_OK)
		return rc;
	*out = w.seconds;
	w.seconds = NULL;
	return SB_OK;
}

double layer_sum(const double *seconds, size_t first, size_t end)
{
	double sum = 0;

	for (size_t i = first; i < end; i++)
		sum += seconds[i];
	return sum;
}
