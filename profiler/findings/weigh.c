#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"

enum severity severity_of(const struct check_context *ctx, double share)
{
	if (share >= limit(ctx, "severity_critical_share"))
		return SEVERITY_CRITICAL;
	return share >= limit(ctx, "severity_warning_share") ? SEVERITY_WARNING : SEVERITY_INFO;
}

double finding_stake(const struct finding *f)
{
	if (!isnan(f->stake))
		return f->stake;
	if (f->gain_ns == SB_NULL || f->total_ns <= 0)
		return f->share_of_step;
	return (double)f->gain_ns * (double)f->steps / (double)f->total_ns;
}

/* How far the measure that decided lies beyond its threshold, 1 = on it; NaN = none decided. Some rules look
 * for too much and some for too little: whichever way, a finding lies beyond. */
static double margin(const struct finding *f)
{
	for (size_t i = 0; i < f->evidence_count; i++) {
		double value = f->evidence[i].value, threshold = f->evidence[i].threshold;

		if (isnan(threshold))
			continue;
		if (!(value > 0) || !(threshold > 0))
			return value == threshold ? 1 : INFINITY;
		return value > threshold ? value / threshold : threshold / value;
	}
	return NAN;
}

static enum confidence lower(enum confidence c)
{
	return c == CONFIDENCE_LOW ? c : c - 1;
}

static enum confidence support(const struct check_context *ctx, const struct finding *f)
{
	enum confidence c =
	    (double)f->steps >= limit(ctx, "steps_for_high_confidence") ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;

	if (margin(f) < limit(ctx, "confidence_margin"))
		c = lower(c);
	if (f->agreement < limit(ctx, "confidence_agreement"))
		c = lower(c);
	return c;
}

void findings_weigh(struct check_context *ctx)
{
	for (size_t i = 0; i < ctx->count; i++) {
		struct finding *f = &ctx->items[i];
		enum severity most = severity_of(ctx, finding_stake(f));

		if (f->severity > most)
			f->severity = most;
		finding_at_most(f, support(ctx, f));
	}
}
