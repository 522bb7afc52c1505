#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/findings.h"

double limit(const struct check_context *ctx, const char *name)
{
	const struct threshold *t = threshold_get(ctx->t, name);

	return t ? t->value : NAN;
}

struct finding *finding_new(struct check_context *ctx, const char *code, const struct rank_view *v,
                            bool portable)
{
	uintptr_t at = (uintptr_t)v, first = (uintptr_t)ctx->views;
	struct finding *f;

	if (sb_grow(&ctx->items, ctx->count, sizeof(*f)) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return NULL;
	}
	f = &ctx->items[ctx->count++];
	*f = (struct finding){.code = code,
	                      .severity = SEVERITY_INFO,
	                      .confidence = v->contradicted ? CONFIDENCE_LOW : CONFIDENCE_HIGH,
	                      .steps = v->steps,
	                      .view = at >= first && at < first + ctx->view_count * sizeof(*v)
	                                  ? (at - first) / sizeof(*v)
	                                  : SIZE_MAX,
	                      .gain_most_ns = SB_NULL,
	                      .stake = NAN,
	                      .agreement = NAN,
	                      .total_ns = v->total_ns,
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
	f->severity = severity_of(ctx, f->share_of_step);
}

void finding_agreement(struct finding *f, size_t agree, size_t asked)
{
	if (f && asked > 0)
		f->agreement = (double)agree / (double)asked;
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
	t->sums = calloc(t->count + 1, sizeof(*t->sums));
	return t->sums ? SB_OK : SB_ENOMEM;
}

#define FS_A_NS INT64_C(1000000)

void tally_add(struct tally *t, uint32_t id, double us)
{
	double ns = us < 9e15 ? us * 1000 : 9e18;
	struct tally_sum *s = &t->sums[id < t->count ? id : t->count];

	if (!(us > 0))
		return;
	s->ns = sb_add_sat(s->ns, (int64_t)ns);
	s->fs = sb_add_sat(s->fs, llround((ns - trunc(ns)) * (double)FS_A_NS));
}

/* Of equal ones the name decides: the numbers of texts follow the order of the file. */
static bool is_more(const struct tally *t, const struct capture *c, size_t id, size_t best)
{
	const struct tally_sum *x = &t->sums[id], *y = &t->sums[best];
	int order = sb_compare((const int64_t[]){x->ns, x->fs}, (const int64_t[]){y->ns, y->fs}, 2);

	if (best == 0)
		return x->ns > 0 || x->fs > 0;
	if (order != 0)
		return order > 0;
	return strverscmp(trace_text(&c->trace, (uint32_t)id, NULL),
	                  trace_text(&c->trace, (uint32_t)best, NULL)) < 0;
}

void tally_into(struct tally *t, struct check_context *ctx, const struct capture *c, struct finding *f)
{
	for (size_t i = 1; i < t->count; i++) {
		t->sums[i].ns = sb_add_sat(t->sums[i].ns, t->sums[i].fs / FS_A_NS);
		t->sums[i].fs %= FS_A_NS;
	}
	for (int k = 0; k < FINDING_OPERATORS_MAX; k++) {
		size_t best = 0;

		/* id 0 is the empty text: no name to show */
		for (size_t i = 1; i < t->count; i++)
			if (is_more(t, c, i, best))
				best = i;
		if (best == 0)
			return;
		finding_operator(ctx, f, trace_text(&c->trace, (uint32_t)best, NULL),
		                 (double)t->sums[best].ns / 1000 + (double)t->sums[best].fs / 1e9);
		t->sums[best] = (struct tally_sum){0};
	}
}

void tally_free(struct tally *t)
{
	free(t->sums);
	*t = (struct tally){0};
}
