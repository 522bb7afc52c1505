#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_links.h"

/* NaN comes last. */
static int compare_times(double x, double y)
{
	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return (x > y) - (x < y);
}

/* Large before small, as what they carry matters. */
static int by_size(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;
	const int64_t left[] = {y->bytes, y->count}, right[] = {x->bytes, x->count};
	int order = sb_compare(left, right, 2);

	return order ? order : compare_times(y->total_us, x->total_us);
}

static int by_bytes(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	int order = sb_compare(&y->bytes, &x->bytes, 1);

	return order ? order : strcmp(x->name, y->name);
}

struct ordered {
	struct communication_op op;
	const char *name, *group;
};

/* The numbers in names count as numbers: "…_9_1" stands before "…_10_1". */
static int by_start(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	const int64_t left[] = {x->op.step == SB_NULL ? INT64_MAX : x->op.step},
	              right[] = {y->op.step == SB_NULL ? INT64_MAX : y->op.step};
	int order = sb_compare(left, right, 1);

	if (order == 0)
		order = compare_times(x->op.start_ns, y->op.start_ns);
	if (order == 0)
		order = strverscmp(x->name, y->name);
	if (order == 0)
		order = strcmp(x->group, y->group);
	if (order == 0)
		order = compare_times(x->op.elapse_us, y->op.elapse_us);
	return order ? order : compare_times(x->op.transit_us, y->op.transit_us);
}

int communications_sort(struct capture *c)
{
	struct ordered *items;

	if (c->communication_count == 0)
		return SB_OK;
	items = calloc(c->communication_count, sizeof(*items));
	if (!items)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->communication_count; i++) {
		struct communication_op *op = &c->communications[i];

		for (size_t k = 0; k < op->link_count; k++)
			if (op->links[k].packet_count > 0)
				qsort(op->links[k].packets, op->links[k].packet_count, sizeof(struct packet),
				      by_size);
		qsort(op->links, op->link_count, sizeof(struct link), by_bytes);
		items[i] = (struct ordered){*op, trace_text(&c->trace, op->name, NULL),
		                            trace_text(&c->trace, op->group, NULL)};
	}
	qsort(items, c->communication_count, sizeof(*items), by_start);
	for (size_t i = 0; i < c->communication_count; i++)
		c->communications[i] = items[i].op;
	free(items);
	return SB_OK;
}
