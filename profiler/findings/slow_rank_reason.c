#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/slow_rank.h"

/* What the late rank must have more of than the others, as a share of what they lost, to be the reason. */
#define EXPLAINS 0.5

static double median_of_others(const struct compared *k, double (*value)(const struct rank_view *))
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (i != k->late)
			k->scratch[n++] = value(k->views[i]);
	return sb_median(k->scratch, n);
}

static double known(int64_t ns)
{
	return ns == SB_NULL ? 0 : (double)ns;
}

static double compute_of(const struct rank_view *v)
{
	return (double)v->compute_ns;
}

/* Time in which the device waits for the host, before the step's first work included. */
static double idle_of(const struct rank_view *v)
{
	return (double)v->free_ns + known(v->copy_exposed_ns) + known(v->preparing_ns);
}

double slow_rank_excess(const struct late_reason *why)
{
	if (isnan(why->compute_over_others_ns) || isnan(why->idle_over_others_ns))
		return INFINITY;
	return fmax(why->compute_over_others_ns, 0) + fmax(why->idle_over_others_ns, 0);
}

struct late_reason slow_rank_reason(const struct compared *k, double lost_ns)
{
	struct late_reason why = {LATE_UNKNOWN, NAN, NAN, NAN};
	double compute, more;

	for (size_t i = 0; i < k->n; i++)
		if (!k->views[i] || k->views[i]->compute_ns == SB_NULL || k->views[i]->free_ns == SB_NULL)
			return why;
	compute = median_of_others(k, compute_of);
	more = compute_of(k->views[k->late]) - compute;
	why.compute_over_others_ns = more;
	why.idle_over_others_ns = idle_of(k->views[k->late]) - median_of_others(k, idle_of);
	if (compute > 0)
		why.compute_over_others = compute_of(k->views[k->late]) / compute;
	why.cause = LATE_UNSEEN;
	if (slow_rank_excess(&why) >= EXPLAINS * lost_ns)
		why.cause = more >= why.idle_over_others_ns ? LATE_DEVICE : LATE_HOST;
	return why;
}

/* Does a call of this name wait for the device? That is not the host's own work. */
static bool is_wait(const char *name)
{
	return strstr(name, "ynchronize") || strcmp(name, "aten::item") == 0 ||
	       strcmp(name, "aten::_local_scalar_dense") == 0;
}

/* What the host's operators and calls took; nested ones count twice, on every rank alike. 0 = not known. */
static int host_time(const struct capture *c, double *out_ns)
{
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings);
	char *waits = calloc(texts + 1, 1);

	if (!waits)
		return SB_ENOMEM;
	*out_ns = 0;
	for (size_t i = 0; i < t->count; i++) {
		char *w;

		if (t->kind[i] != EVENT_HOST_OP && t->kind[i] != EVENT_HOST_RUNTIME)
			continue;
		w = &waits[t->name[i] < texts ? t->name[i] : texts];
		if (*w == 0)
			*w = is_wait(trace_text(t, t->name[i], NULL)) ? 'w' : 'h';
		if (*w == 'h')
			*out_ns += (double)t->dur_ns[i];
	}
	free(waits);
	return SB_OK;
}

/* By what the late one's host would have to be faster; NaN when the hosts are not shown. */
static double host_factor(struct check_context *ctx, const struct compared *k)
{
	double own = NAN;
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++) {
		double *ns = &k->host_ns[k->views[i] - ctx->views];

		if (isnan(*ns)) {
			ctx->failed = host_time(k->views[i]->c, ns);
			if (ctx->failed != SB_OK)
				return NAN;
		}
		if (i == k->late)
			own = *ns;
		else
			k->scratch[n++] = *ns;
	}
	return own > 0 ? sb_median(k->scratch, n) / own : NAN;
}

void slow_rank_relieve(struct check_context *ctx, struct finding *f, const struct compared *k,
                       const struct late_reason *why, double lost_ns)
{
	const struct rank_view *v = k->views[k->late];
	double factor = NAN;

	if (why->cause == LATE_DEVICE) {
		finding_evidence(ctx, f, "compute_over_others", why->compute_over_others, "ratio", NULL);
		if (why->compute_over_others > 1)
			finding_relief(ctx, f, v, RELIEF_DEVICE, 0, 1 / why->compute_over_others);
	} else if (why->cause == LATE_HOST) {
		finding_evidence(ctx, f, "idle_over_others_us", why->idle_over_others_ns / 1000, "us", NULL);
		factor = host_factor(ctx, k);
		/* hosts that do not tell their work: the step without what is lost */
		if (!(factor > 0 && factor < 1))
			factor = 1 - lost_ns / (double)v->total_ns;
		if (factor >= 0 && factor < 1)
			finding_relief(ctx, f, v, RELIEF_HOST, 0, factor);
	}
}

void slow_rank_lost(const struct compared *k, const double *lengths, double *out_mean, double *out_median)
{
	size_t n = 0;

	*out_mean = 0;
	for (size_t i = 0; i < k->n; i++) {
		double more = lengths[i] - lengths[k->late];

		if (i == k->late)
			continue;
		if (k->views[i])
			more = (double)exposed_at_most(k->views[i], more);
		k->scratch[n++] = more > 0 ? more : 0;
		*out_mean += (more > 0 ? more : 0) / (double)(k->n - 1);
	}
	*out_median = sb_median(k->scratch, n);
}
