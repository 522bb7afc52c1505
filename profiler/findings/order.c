#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/findings.h"

/* At most this many ranks stand for one code; the number of all is told. */
#define RANKS_MAX 8

/* NaN is the smallest share. */
static double share_of(const struct finding *f)
{
	return isnan(f->share_of_step) ? -1 : f->share_of_step;
}

static int by_rank(int64_t x, int64_t y)
{
	if (x == y)
		return 0;
	if (x == SB_NULL || y == SB_NULL)
		return x == SB_NULL ? 1 : -1;
	return x < y ? -1 : 1;
}

/* Two findings of one code, rank and share (of two devices, of two sides) differ in what they saw: the order
 * must not be left to the sort. */
static int by_evidence(const struct finding *x, const struct finding *y)
{
	if (x->evidence_count != y->evidence_count)
		return x->evidence_count > y->evidence_count ? -1 : 1;
	for (size_t i = 0; i < x->evidence_count; i++) {
		double left = x->evidence[i].value, right = y->evidence[i].value;

		if (left != right && !isnan(left) && !isnan(right))
			return left > right ? -1 : 1;
	}
	return 0;
}

static int by_code_and_rank(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int order = strcmp(x->code, y->code);

	if (order == 0)
		order = by_rank(x->rank, y->rank);
	if (order == 0)
		order = (share_of(x) < share_of(y)) - (share_of(x) > share_of(y));
	return order ? order : by_evidence(x, y);
}

static int by_code_and_share(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int order = strcmp(x->code, y->code);

	if (order == 0)
		order = (share_of(x) < share_of(y)) - (share_of(x) > share_of(y));
	return order ? order : by_code_and_rank(a, b);
}

/* What could be won comes first; of what has no estimate, what costs most. */
static int by_gain(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	/* SB_NULL is the smallest number there is */
	if (x->gain_ns != y->gain_ns)
		return x->gain_ns > y->gain_ns ? -1 : 1;
	if (share_of(x) != share_of(y))
		return share_of(x) > share_of(y) ? -1 : 1;
	return by_code_and_rank(a, b);
}

static size_t keep_worst_device(struct finding *items, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		bool same = n > 0 && items[i].rank != SB_NULL && items[n - 1].rank == items[i].rank &&
		            strcmp(items[n - 1].code, items[i].code) == 0;

		if (!same)
			items[n++] = items[i];
	}
	return n;
}

int findings_finish(struct check_context *ctx)
{
	size_t n = 0;
	int rc;

	if (ctx->count == 0)
		return SB_OK;
	qsort(ctx->items, ctx->count, sizeof(*ctx->items), by_code_and_rank);
	rc = findings_gain(ctx);
	if (rc != SB_OK)
		return rc;
	ctx->count = keep_worst_device(ctx->items, ctx->count);
	qsort(ctx->items, ctx->count, sizeof(*ctx->items), by_code_and_share);
	for (size_t from = 0, to = 0; from < ctx->count; from = to) {
		while (to < ctx->count && strcmp(ctx->items[to].code, ctx->items[from].code) == 0)
			to++;
		for (size_t i = from; i < to && i < from + RANKS_MAX; i++) {
			struct finding f = ctx->items[i];

			finding_evidence(ctx, &f, "ranks_affected", (double)(to - from), "ranks", NULL);
			ctx->items[n++] = f;
		}
	}
	ctx->count = n;
	findings_weigh(ctx);
	qsort(ctx->items, ctx->count, sizeof(*ctx->items), by_gain);
	return SB_OK;
}
