#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/search.h"
#include "profiler/chips.h"
#include "profiler/findings/clocks.h"

/* compute.frequency (Hermes 4.2.2): the clock of the cores while kernels run, against the chip's own or the
 * best that was seen. Clocks of idle time do not count: idle cores are clocked down on purpose. */

static int by_time(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->mhz < y->mhz) - (x->mhz > y->mhz);
}

/* The clocks of the view's device, by time; *out is to be freed. */
static size_t clocks_of(const struct rank_view *v, struct clock_sample **out)
{
	const struct capture *c = v->c;
	struct clock_sample *s = calloc(c->clock_count + 1, sizeof(*s));
	size_t n = 0;

	for (size_t i = 0; s && i < c->clock_count; i++)
		if (c->clocks[i].device < 0 || v->device == SB_NULL || c->clocks[i].device == v->device)
			s[n++] = c->clocks[i];
	if (s)
		qsort(s, n, sizeof(*s), by_time);
	*out = s;
	return n;
}

/* The clock of a kernel: the highest that holds at any moment of it, so that the clock-up at the end of an
 * idle time does not look like a low clock. Before the first sample its clock holds. */
static double clock_at(const struct clock_sample *s, size_t n, int64_t start, int64_t end)
{
	size_t at = SB_BISECT(i, 0, n, s[i].time_ns <= start);
	double best = (double)s[at > 0 ? at - 1 : 0].mhz;

	for (int steps = 0; at < n && s[at].time_ns < end && steps < 16; at++, steps++)
		best = fmax(best, (double)s[at].mhz);
	return best;
}

/* The clock that the chip should have: its nominal one, or the highest of all captures of the same chip. */
static double expected_clock(const struct check_context *ctx, const struct rank_view *v)
{
	const struct chip *chip = chip_find(v->c->chip);
	double best = chip && !isnan(chip->clock_mhz) ? chip->clock_mhz : 0;

	for (size_t i = 0; i < ctx->p->count; i++) {
		const struct capture *c = &ctx->p->captures[i];

		for (size_t k = 0; k < c->clock_count && strcasecmp(c->chip, v->c->chip) == 0; k++)
			best = fmax(best, (double)c->clocks[k].mhz);
	}
	return best;
}

struct clock_sums {
	double ns, lost_ns, clock_ns; /* of the kernels that the clock drives */
};

static bool driven(const struct rank_view *v, const struct kernel *k)
{
	return !k->communication && k->dur_ns > 0 && k->start_ns != SB_NULL && !on_aicpu(v, k);
}

static void judge_samples(struct check_context *ctx, const struct rank_view *v, const struct clock_sample *s,
                          size_t n)
{
	double expected = expected_clock(ctx, v);
	struct clock_sums sums = {0};
	struct finding *f;

	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];
		double clock, ns = (double)k->dur_ns;

		if (!driven(v, k))
			continue;
		clock = clock_at(s, n, k->start_ns, interval_end(k->start_ns, k->dur_ns));
		sums.ns += ns;
		sums.clock_ns += ns * clock;
		sums.lost_ns += ns * fmax(1 - clock / expected, 0);
	}
	if (!(sums.lost_ns / sums.ns >= limit(ctx, "downclock_share")))
		return;
	f = finding_new(ctx, "compute.frequency", v, true);
	finding_cost(ctx, f, v, ns_at_most(sums.lost_ns, v->total_ns));
	finding_gain(f, v, ns_at_most(sums.lost_ns, v->total_ns));
	finding_evidence(ctx, f, "downclock_share", sums.lost_ns / sums.ns, "share", "downclock_share");
	finding_evidence(ctx, f, "mean_clock_mhz", sums.clock_ns / sums.ns, "MHz", NULL);
	finding_evidence(ctx, f, "expected_clock_mhz", expected, "MHz", NULL);
	for (size_t i = 0; i < v->c->kernel_count; i++) {
		const struct kernel *k = &v->c->kernels[i];

		if (driven(v, k))
			finding_relief(
			    ctx, f, v, RELIEF_KERNEL, i,
			    fmin(clock_at(s, n, k->start_ns, interval_end(k->start_ns, k->dur_ns)) / expected,
			         1));
	}
}

/* Kernels of different kinds, and share of their time slower alike, that leave no other explanation. */
#define KINDS_MIN 5
#define UNIFORM_SURE 0.95

/* What all kernels of a rank being slower than elsewhere costs, by the same factor. */
static void judge_slow_device(struct check_context *ctx, const struct rank_view *v,
                              const struct device_speed *speed)
{
	double share = 1 - 1 / speed->ratio, lost = compute_us(v) * 1000 * share;
	struct finding *f;

	if (!(share >= limit(ctx, "downclock_share")))
		return;
	f = finding_new(ctx, "compute.frequency", v, true);
	/* the clock itself was not seen: only many different kernels that are slower alike tell the same */
	if (speed->kinds < KINDS_MIN || !(speed->uniform >= UNIFORM_SURE))
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_cost(ctx, f, v, ns_at_most(lost, v->total_ns));
	finding_gain(f, v, ns_at_most(lost, v->total_ns));
	finding_evidence(ctx, f, "slower_than_other_ranks", share, "share", "downclock_share");
	finding_evidence(ctx, f, "kernel_time_ratio_to_median_rank", speed->ratio, "ratio", NULL);
	finding_evidence(ctx, f, "uniformly_slower_share", speed->uniform, "share of compute", NULL);
	finding_relief(ctx, f, v, RELIEF_DEVICE, 0, 1 / speed->ratio);
}

void check_frequency(struct check_context *ctx, bool *out_judged)
{
	struct device_speed *speeds = NULL;

	if (device_speeds(ctx, &speeds) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct clock_sample *s;
		size_t n = clocks_of(v, &s);

		if (!s)
			ctx->failed = SB_ENOMEM;
		else if (n > 0 && v->c->kernel_count > 0) {
			*out_judged = true;
			judge_samples(ctx, v, s, n);
		} else if (speeds && !isnan(speeds[i].ratio)) {
			*out_judged = true;
			judge_slow_device(ctx, v, &speeds[i]);
		}
		free(s);
	}
	free(speeds);
}
