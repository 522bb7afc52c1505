#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/bus.h"
#include "profiler/findings/links.h"

/* A link that stays below what it should reach although its packets are large: by the chip's rate (msprof's
 * rule), and by the same link of the ranks that move the same (MindInsight's rule). */

static const char *const LINKS[] = {"HCCS", "PCIE", "RDMA"};
#define LINK_COUNT (sizeof(LINKS) / sizeof(LINKS[0]))

/* One link of one view. */
struct seen {
	int64_t stage;
	size_t view;
	struct link_sum sum;
};

static int by_stage(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	const int64_t left[] = {x->stage, (int64_t)x->view}, right[] = {y->stage, (int64_t)y->view};

	return sb_compare(left, right, 2);
}

static double rate_of(const struct link_sum *s)
{
	return s->bytes / (s->us / 1e6);
}

/* What the ranks of one stage reach that move the same as this one; of two ranks, the other one. NaN when it
 * has none to be compared with. */
static double rate_of_others(const struct check_context *ctx, const struct seen *seen, size_t n, size_t own,
                             const struct seen *typical, double median)
{
	/* few or small packets are all latency: their rate says nothing of the link */
	if (n < 2 || seen[own].sum.bytes < limit(ctx, "link_least_bytes"))
		return NAN;
	if (n == 2)
		return link_of_same_kind(&seen[0].sum, &seen[1].sum) ? rate_of(&seen[1 - own].sum) : NAN;
	return link_of_same_kind(&seen[own].sum, &typical->sum) ? median : NAN;
}

static void report(struct check_context *ctx, const struct seen *s, const char *link, double standard,
                   double others)
{
	const struct rank_view *v = &ctx->views[s->view];
	double rate = rate_of(&s->sum), utilization = rate / standard, large = s->sum.large / s->sum.packets;
	bool below_peers = rate <= (1 - limit(ctx, "link_gap")) * others;
	/* what reaches the rate at times is no slow link: something is in its way at others */
	bool below_standard = utilization < limit(ctx, "link_utilization") &&
	                      s->sum.best * 1e6 < limit(ctx, "link_utilization") * standard &&
	                      large >= limit(ctx, "large_packet_share");
	double should = below_peers ? others : standard, cost;
	const struct link_factors factors = {NULL, rate / should};
	struct finding *f;

	/* a setting that forces the library to one way explains what all ranks have in common */
	if (!below_peers && (!below_standard || link_setting(v->c)))
		return;
	f = finding_new(ctx, "communication.slow_link", v, true);
	cost = s->sum.transit_us * 1000 * (1 - rate / should);
	finding_cost(ctx, f, v, exposed_at_most(v, cost));
	finding_gain(f, v, link_gain(v, &factors, cost));
	link_relieve(ctx, f, v, &factors);
	/* all ranks alike may be another cause: settings, or a chip that is not the one it is taken for */
	if (!below_peers)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	if (below_peers)
		finding_evidence(ctx, f, "below_other_ranks", 1 - rate / others, "ratio", "link_gap");
	if (!isnan(utilization))
		finding_evidence(ctx, f, "link_utilization", utilization, "ratio", "link_utilization");
	if (s->sum.packets > 0)
		finding_evidence(ctx, f, "large_packet_share", large, "share",
		                 below_standard ? "large_packet_share" : NULL);
	finding_evidence(ctx, f, "bandwidth", rate, "bytes_per_second", NULL);
	if (!isnan(others))
		finding_evidence(ctx, f, "bandwidth_of_others", others, "bytes_per_second", NULL);
	finding_operator(ctx, f, link, s->sum.us);
}

/* The one whose bytes are the median of a stage's, and the median of their rates. */
static const struct seen *typical_of(const struct seen *seen, size_t n, double *scratch, double *out_rate)
{
	const struct seen *typical = &seen[0];
	double bytes;

	for (size_t i = 0; i < n; i++)
		scratch[i] = seen[i].sum.bytes;
	bytes = sb_median(scratch, n);
	for (size_t i = 0; i < n; i++) {
		scratch[i] = rate_of(&seen[i].sum);
		if (fabs(seen[i].sum.bytes - bytes) < fabs(typical->sum.bytes - bytes))
			typical = &seen[i];
	}
	*out_rate = sb_median(scratch, n);
	return typical;
}

static void judge_link(struct check_context *ctx, const char *link, struct seen *seen, double *scratch,
                       bool *out_judged)
{
	size_t n = 0;

	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct capture *c = ctx->views[i].c;

		seen[n] = (struct seen){c->stage, i, link_sum_of(ctx, c, link)};
		n += seen[n].sum.us > 0;
	}
	qsort(seen, n, sizeof(*seen), by_stage);
	for (size_t from = 0, to = 0; from < n; from = to) {
		double median;
		const struct seen *typical;

		while (to < n && seen[to].stage == seen[from].stage)
			to++;
		typical = typical_of(seen + from, to - from, scratch, &median);
		for (size_t i = from; i < to; i++) {
			double standard = link_standard(ctx->views[seen[i].view].c, link);
			double others =
			    rate_of_others(ctx, seen + from, to - from, i - from, typical, median);

			size_t before = ctx->count;

			if (isnan(standard) && isnan(others))
				continue;
			report(ctx, &seen[i], link, standard, others);
			/* that all ranks are alike says nothing of what the link should reach */
			*out_judged = *out_judged || !isnan(standard) || ctx->count > before;
		}
	}
}

void check_slow_link(struct check_context *ctx, bool *out_judged)
{
	struct seen *seen = calloc(ctx->view_count + 1, sizeof(*seen));
	double *scratch = calloc(ctx->view_count + 1, sizeof(*scratch));

	if (!seen || !scratch)
		ctx->failed = SB_ENOMEM;
	for (size_t k = 0; k < LINK_COUNT && ctx->failed == SB_OK; k++)
		judge_link(ctx, LINKS[k], seen, scratch, out_judged);
	free(seen);
	free(scratch);
	if (ctx->failed == SB_OK)
		check_slow_bus(ctx, out_judged);
}
