#include <stdlib.h>
#include <string.h>

#include "profiler/operators_parts.h"

/* Ids of the table are in the order of the texts' bytes, see operators_collect(). */
static int by_identity(const struct operator_row *x, const struct operator_row *y)
{
	const uint32_t left[] = {x->name, x->type, x->unit, x->klass};
	const uint32_t right[] = {y->name, y->type, y->unit, y->klass};

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int lines_by_identity(const void *a, const void *b)
{
	const struct operator_line *x = a, *y = b;

	return by_identity(&x->row, &y->row);
}

static int numbers(int64_t x, int64_t y)
{
	return (x < y) - (x > y);
}

static int lines_by_total(const void *a, const void *b)
{
	const struct operator_line *x = a, *y = b;
	int order = numbers(x->row.total_ns, y->row.total_ns);

	return order ? order : by_identity(&x->row, &y->row);
}

static int lines_by_count(const void *a, const void *b)
{
	const struct operator_line *x = a, *y = b;
	int order = numbers(x->row.count, y->row.count);

	return order ? order : by_identity(&x->row, &y->row);
}

static int lines_by_mean(const void *a, const void *b)
{
	const struct operator_line *x = a, *y = b;
	double mean_x = (double)x->row.total_ns / (double)x->row.count;
	double mean_y = (double)y->row.total_ns / (double)y->row.count;
	int order = (mean_x < mean_y) - (mean_x > mean_y);

	return order ? order : by_identity(&x->row, &y->row);
}

static int lines_by_max(const void *a, const void *b)
{
	const struct operator_line *x = a, *y = b;
	int order = numbers(x->row.max_ns, y->row.max_ns);

	return order ? order : by_identity(&x->row, &y->row);
}

static bool selected(const struct operator_row *r, const struct operator_query *q)
{
	return (q->rank == SB_NULL || r->rank == q->rank) && (q->step == SB_NULL || r->step == q->step);
}

static void merge(struct operator_row *to, const struct operator_row *from)
{
	if (to->rank != from->rank)
		to->rank = SB_NULL;
	if (to->step != from->step)
		to->step = SB_NULL;
	operator_row_add(to, from);
}

static size_t gather(const struct operator_table *t, const struct operator_query *q,
                     struct operator_line *lines)
{
	size_t n = 0, merged = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (!selected(&t->rows[i], q))
			continue;
		lines[n].row = t->rows[i];
		if (!q->by_name && lines[n].row.type)
			lines[n].row.name = lines[n].row.type;
		n++;
	}
	qsort(lines, n, sizeof(*lines), lines_by_identity);
	for (size_t i = 0; i < n; i++) {
		if (merged > 0 && by_identity(&lines[merged - 1].row, &lines[i].row) == 0)
			merge(&lines[merged - 1].row, &lines[i].row);
		else
			lines[merged++] = lines[i];
	}
	return merged;
}

int operators_select(const struct operator_table *t, const struct operator_query *q,
                     struct operator_line **out_lines, size_t *out_count)
{
	static int (*const order[])(const void *, const void *) = {[OPERATOR_BY_TOTAL] = lines_by_total,
	                                                           [OPERATOR_BY_COUNT] = lines_by_count,
	                                                           [OPERATOR_BY_MEAN] = lines_by_mean,
	                                                           [OPERATOR_BY_MAX] = lines_by_max,
	                                                           [OPERATOR_BY_NAME] = lines_by_identity};
	int64_t total[OPERATOR_CLASS_COUNT] = {0};
	struct operator_line *lines = calloc(t->count + 1, sizeof(*lines));
	size_t n;

	if (!lines)
		return SB_ENOMEM;
	n = gather(t, q, lines);
	for (size_t i = 0; i < n; i++)
		total[lines[i].row.klass] = sb_add_sat(total[lines[i].row.klass], lines[i].row.total_ns);
	for (size_t i = 0; i < n; i++) {
		int64_t of = total[lines[i].row.klass];

		lines[i].share = of > 0 ? (double)lines[i].row.total_ns / (double)of : 0;
	}
	qsort(lines, n, sizeof(*lines), order[q->sort]);
	*out_lines = lines;
	*out_count = q->limit && q->limit < n ? q->limit : n;
	return SB_OK;
}

struct operator_graphs operators_graphs(const struct operator_table *t, const struct operator_query *q)
{
	struct operator_graphs g = {.count = SB_NULL, .total_ns = SB_NULL};
	int64_t all = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct operator_row *r = &t->rows[i];

		if (!selected(r, q) || r->klass == OPERATOR_HOST)
			continue;
		all = sb_add_sat(all, r->total_ns);
		g.count = operator_sum(g.count, r->graph_count);
		g.total_ns = operator_sum(g.total_ns, r->graph_ns);
	}
	g.share = all > 0 && g.total_ns > 0 ? (double)g.total_ns / (double)all : 0;
	return g;
}
