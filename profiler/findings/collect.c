#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/findings.h"

/* At most this many ranks stand for one code; the number of all is told. */
#define RANKS_MAX 8

double limit(const struct check_context *ctx, const char *name)
{
	const struct threshold *t = threshold_get(ctx->t, name);

	return t ? t->value : NAN;
}

struct finding *finding_new(struct check_context *ctx, const char *code, const struct rank_view *v,
                            bool portable)
{
	struct finding *f;

	if (sb_grow(&ctx->items, ctx->count, sizeof(*f)) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return NULL;
	}
	f = &ctx->items[ctx->count++];
	*f = (struct finding){.code = code,
	                      .severity = SEVERITY_INFO,
	                      .confidence = (double)v->steps >= limit(ctx, "steps_for_high_confidence")
	                                        ? CONFIDENCE_HIGH
	                                        : CONFIDENCE_MEDIUM,
	                      .rank = v->rank,
	                      .step = v->step,
	                      .share_of_step = NAN,
	                      .portable = portable,
	                      .gain_ns = SB_NULL,
	                      .speedup = NAN,
	                      .relief_first = ctx->relief_count};
	return f;
}

void finding_cost(const struct check_context *ctx, struct finding *f, const struct rank_view *v,
                  int64_t cost_ns)
{
	if (!f)
		return;
	if (cost_ns > v->total_ns)
		cost_ns = v->total_ns;
	f->share_of_step = (double)cost_ns / (double)v->total_ns;
	if (f->share_of_step >= limit(ctx, "severity_critical_share"))
		f->severity = SEVERITY_CRITICAL;
	else if (f->share_of_step >= limit(ctx, "severity_warning_share"))
		f->severity = SEVERITY_WARNING;
}

int64_t ns_at_most(double ns, int64_t most)
{
	if (!(ns > 0))
		return 0;
	/* compared as doubles: a sum of hostile durations may not fit an int64_t */
	return ns < (double)most ? (int64_t)ns : most;
}

int64_t exposed_at_most(const struct rank_view *v, double cost_ns)
{
	return ns_at_most(cost_ns, v->exposed_ns == SB_NULL ? v->total_ns : v->exposed_ns);
}

void finding_gain(struct finding *f, const struct rank_view *v, int64_t gain_ns)
{
	if (!f || gain_ns < 0)
		return;
	/* a step cannot vanish: the rest of it must stay */
	if (gain_ns >= v->total_ns)
		return;
	f->gain_ns = gain_ns / (int64_t)v->steps;
	f->speedup = (double)v->total_ns / (double)(v->total_ns - gain_ns);
	f->gain_method = "cost removed from the step, no replay: an upper bound";
}

void finding_relief(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                    enum relief_kind kind, size_t index, double factor)
{
	if (!f || !(factor >= 0))
		return;
	if (sb_grow(&ctx->reliefs, ctx->relief_count, sizeof(*ctx->reliefs)) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	ctx->reliefs[ctx->relief_count++] =
	    (struct relief){kind, (uint32_t)(v->c - ctx->p->captures), (uint32_t)index, (float)factor};
	f->relief_count++;
}

void finding_evidence(const struct check_context *ctx, struct finding *f, const char *metric, double value,
                      const char *unit, const char *threshold)
{
	const struct threshold *t = threshold ? threshold_get(ctx->t, threshold) : NULL;

	if (!f || f->evidence_count == EVIDENCE_MAX)
		return;
	f->evidence[f->evidence_count++] =
	    (struct evidence){metric, value, unit, t ? t->value : NAN, t ? t->origin : ORIGIN_DEFAULT};
}

void finding_operator(struct check_context *ctx, struct finding *f, const char *name, double us)
{
	uint32_t id = 0;
	int rc;

	if (!f || f->operator_count == FINDING_OPERATORS_MAX)
		return;
	rc = sb_strings_add(ctx->strings, name, strlen(name), &id);
	if (rc != SB_OK) {
		ctx->failed = rc;
		return;
	}
	f->operators[f->operator_count] = id;
	f->operator_us[f->operator_count++] = us;
}

void finding_at_most(struct finding *f, enum confidence c)
{
	if (f && f->confidence > c)
		f->confidence = c;
}

int tally_init(struct tally *t, const struct capture *c)
{
	t->count = sb_strings_count(c->trace.strings);
	t->us = calloc(t->count + 1, sizeof(*t->us));
	return t->us ? SB_OK : SB_ENOMEM;
}

void tally_add(struct tally *t, uint32_t id, double us)
{
	if (id < t->count)
		t->us[id] += us;
}

void tally_into(struct tally *t, struct check_context *ctx, const struct capture *c, struct finding *f)
{
	for (int k = 0; k < FINDING_OPERATORS_MAX; k++) {
		size_t best = 0;

		/* id 0 is the empty text: no name to show */
		for (size_t i = 1; i < t->count; i++)
			if (t->us[i] > t->us[best] || (best == 0 && t->us[i] > 0))
				best = i;
		if (best == 0 || !(t->us[best] > 0))
			return;
		finding_operator(ctx, f, trace_text(&c->trace, (uint32_t)best, NULL), t->us[best]);
		t->us[best] = 0;
	}
}

void tally_free(struct tally *t)
{
	free(t->us);
	*t = (struct tally){0};
}

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

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
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

	if (ctx->count == 0)
		return SB_OK;
	qsort(ctx->items, ctx->count, sizeof(*ctx->items), by_code_and_rank);
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
	qsort(ctx->items, ctx->count, sizeof(*ctx->items), by_severity);
	return SB_OK;
}
