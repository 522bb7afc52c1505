#include <math.h>
#include <string.h>

#include "profiler/findings/findings.h"

/* What one rank did in a domain, us. */
struct rank_sum {
	double transit, wait, synchronization;
};

static struct rank_sum sum_rank(const struct capture *c, const char *group)
{
	struct rank_sum s = {0};
	size_t len = strlen(group);
	uint32_t id = c->trace.strings ? sb_strings_find(c->trace.strings, group, len) : 0;

	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		if (op->group != id || op->point_to_point)
			continue;
		s.transit += op->transit_us;
		s.wait += op->wait_us;
		s.synchronization += op->synchronization_us;
	}
	return s;
}

static double ratio(double part, double transit)
{
	return part + transit > 0 ? part / (part + transit) : 0;
}

static bool in_domain(const struct domain *d, int64_t rank)
{
	size_t lo = 0, hi = d->rank_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->ranks[mid] < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return rank != SB_NULL && lo < d->rank_count && d->ranks[lo] == rank;
}

/* What the two rules say about one domain. */
struct opinion {
	const struct rank_view *by_waiting; /* msprof: waits least while others wait for it; NULL = nobody */
	const struct rank_view *by_transmission; /* Hermes 5.4: transmits longest; NULL = nobody */
	bool waits_known;
	double wait_ratio;   /* the largest of all ranks */
	double mean_wait_us; /* of the ranks that wait for by_waiting */
	double transit_us;   /* of by_transmission */
};

/* msprof's slow-rank rule: the largest wait ratio is over the limit, so is that rank's synchronisation ratio:
 * then the rank that waits least is the one that all wait for. */
static struct opinion ask(const struct check_context *ctx, const struct domain *d, const char *group)
{
	struct opinion o = {.waits_known = true, .wait_ratio = -1};
	double sync_ratio = 0, least = INFINITY, wait_sum = 0, least_wait = 0;
	size_t n = 0;

	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct rank_sum s;
		double r;

		if (!in_domain(d, v->rank))
			continue;
		s = sum_rank(v->c, group);
		r = ratio(s.wait, s.transit);
		if (v->rank == d->slow_rank) {
			o.by_transmission = v;
			o.transit_us = s.transit;
		}
		if (isnan(r) || isnan(s.synchronization))
			o.waits_known = false;
		if (r > o.wait_ratio) {
			o.wait_ratio = r;
			sync_ratio = ratio(s.synchronization, s.transit);
		}
		if (r < least) {
			least = r;
			least_wait = s.wait;
			o.by_waiting = v;
		}
		wait_sum += s.wait;
		n++;
	}
	if (!o.waits_known || n < 2 || !(o.wait_ratio > limit(ctx, "wait_ratio")) ||
	    !(sync_ratio > limit(ctx, "wait_ratio")))
		o.by_waiting = NULL;
	o.mean_wait_us = n > 1 ? (wait_sum - least_wait) / (double)(n - 1) : 0;
	return o;
}

static void judge(struct check_context *ctx, const struct domain *d)
{
	const char *group = sb_strings_get(ctx->communication->strings, d->group, NULL);
	struct opinion o = ask(ctx, d, group);
	const struct rank_view *slow = o.by_transmission ? o.by_transmission : o.by_waiting;
	double cost_us;
	struct finding *f;

	if (!slow)
		return;
	cost_us = o.by_transmission ? o.transit_us * d->r_wait : o.mean_wait_us;
	f = finding_new(ctx, "communication.slow_rank", slow, true);
	finding_cost(ctx, f, slow, (int64_t)(cost_us * 1000));
	if (o.by_transmission)
		finding_gain(f, slow, (int64_t)(cost_us * 1000));
	if (f && (!o.by_transmission || (o.waits_known && o.by_waiting != o.by_transmission))) {
		/* the two rules differ: a hint, no more */
		finding_at_most(f, CONFIDENCE_LOW);
		f->severity = SEVERITY_INFO;
	} else {
		finding_at_most(f, o.waits_known ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	}
	finding_evidence(ctx, f, "r_wait", d->r_wait, "ratio", "r_wait");
	if (o.waits_known)
		finding_evidence(ctx, f, "largest_wait_ratio", o.wait_ratio, "ratio", "wait_ratio");
	finding_evidence(ctx, f, o.by_transmission ? "transmission_us" : "mean_wait_of_others_us",
	                 o.by_transmission ? o.transit_us : o.mean_wait_us, "us", NULL);
	finding_evidence(ctx, f, "ranks_in_domain", (double)d->rank_count, "ranks", NULL);
}

void check_slow_rank(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->communication->domain_count; i++) {
		const struct domain *d = &ctx->communication->domains[i];

		if (d->rank_count < 2 || isnan(d->r_wait))
			continue;
		*out_judged = true;
		judge(ctx, d);
	}
}
