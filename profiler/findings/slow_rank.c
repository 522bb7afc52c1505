#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/findings.h"

/* One rank's operators of a domain, us: of one step, or of all. */
struct rank_sum {
	int64_t step;
	size_t view;
	double transit, wait, synchronization;
};

/* What the two rules say about one domain. */
struct opinion {
	const struct rank_view *by_waiting;      /* the last to arrive; NULL = nobody */
	const struct rank_view *by_transmission; /* transmits longest (Hermes 5.4); NULL = nobody */
	bool waits_known;
	double wait_ratio;   /* the largest of all ranks */
	double lost_us;      /* mean wait of the ranks that wait for by_waiting, as far as it is exposed */
	double transit_us;   /* of by_transmission */
	size_t steps, votes; /* steps that name somebody or nobody; those that name by_waiting */
};

static double ratio(double part, double transit)
{
	return part + transit > 0 ? part / (part + transit) : 0;
}

/* msprof's slow-rank rule over the ranks: the largest wait ratio is over the limit and so is that rank's
 * synchronisation ratio: then the rank that waits least is the one that all wait for. Returns its place or
 * SIZE_MAX; the largest ratio in *out_largest, NaN when a wait is not known. */
static size_t least_waiting(const struct check_context *ctx, const struct rank_sum *sums, size_t n,
                            double *out_largest)
{
	double largest = -1, sync_ratio = 0, least = INFINITY;
	size_t slow = SIZE_MAX;

	*out_largest = NAN;
	for (size_t i = 0; i < n; i++) {
		double r = ratio(sums[i].wait, sums[i].transit);

		if (isnan(r + sums[i].wait + sums[i].transit + sums[i].synchronization))
			return SIZE_MAX;
		if (r > largest) {
			largest = r;
			sync_ratio = ratio(sums[i].synchronization, sums[i].transit);
		}
		if (r < least) {
			least = r;
			slow = i;
		}
	}
	*out_largest = largest;
	return n > 1 && largest > limit(ctx, "wait_ratio") && sync_ratio > limit(ctx, "wait_ratio")
	           ? slow
	           : SIZE_MAX;
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

static int by_step_and_view(const void *a, const void *b)
{
	const struct rank_sum *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->view > y->view) - (x->view < y->view);
}

static void add(struct rank_sum *to, const struct rank_sum *from)
{
	to->transit += from->transit;
	to->wait += from->wait;
	to->synchronization += from->synchronization;
}

/* The domain's operators, one entry each; *out_items is the caller's. */
static int gather(const struct check_context *ctx, const struct domain *d, const char *group,
                  struct rank_sum **out_items, size_t *out_count)
{
	size_t most = 1, n = 0, len = strlen(group);
	struct rank_sum *items;

	for (size_t i = 0; i < ctx->view_count; i++)
		most += in_domain(d, ctx->views[i].rank) ? ctx->views[i].c->communication_count : 0;
	items = malloc(most * sizeof(*items));
	if (!items)
		return SB_ENOMEM;
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct capture *c = ctx->views[i].c;
		uint32_t id = c->trace.strings ? sb_strings_find(c->trace.strings, group, len) : 0;

		for (size_t k = 0; k < c->communication_count && in_domain(d, c->rank); k++) {
			const struct communication_op *op = &c->communications[k];

			if (op->group == id && !op->point_to_point)
				items[n++] = (struct rank_sum){op->step, i, op->transit_us, op->wait_us,
				                               op->synchronization_us};
		}
	}
	*out_items = items;
	*out_count = n;
	return SB_OK;
}

/* Merges sorted entries of one step and view; returns how many are left. */
static size_t merge(struct rank_sum *items, size_t n)
{
	size_t merged = 0;

	for (size_t i = 0; i < n; i++) {
		if (merged > 0 && by_step_and_view(&items[merged - 1], &items[i]) == 0)
			add(&items[merged - 1], &items[i]);
		else
			items[merged++] = items[i];
	}
	return merged;
}

/* What the whole capture says: all steps of a rank together. */
static void judge_all(const struct check_context *ctx, const struct domain *d, const struct rank_sum *all,
                      size_t n, struct opinion *o)
{
	size_t slow = least_waiting(ctx, all, n, &o->wait_ratio);

	o->waits_known = !isnan(o->wait_ratio);
	for (size_t i = 0; i < n; i++) {
		const struct rank_view *v = &ctx->views[all[i].view];

		if (v->rank == d->slow_rank) {
			o->by_transmission = v;
			o->transit_us = all[i].transit;
		}
		if (slow != SIZE_MAX && i != slow)
			o->lost_us += (double)exposed_at_most(v, all[i].wait * 1000) / 1000 / (double)(n - 1);
	}
	if (slow != SIZE_MAX)
		o->by_waiting = &ctx->views[all[slow].view];
}

/* One step alone says little: each is asked, and the answers are counted. */
static void count_votes(const struct check_context *ctx, const struct rank_sum *items, size_t n, size_t ranks,
                        struct opinion *o)
{
	for (size_t from = 0, to = 0; from < n; from = to) {
		double largest;
		size_t slow;

		while (to < n && items[to].step == items[from].step)
			to++;
		if (to - from != ranks)
			continue;
		o->steps++;
		slow = least_waiting(ctx, items + from, to - from, &largest);
		o->votes += slow != SIZE_MAX && &ctx->views[items[from + slow].view] == o->by_waiting;
	}
}

static int ask(const struct check_context *ctx, const struct domain *d, struct opinion *o)
{
	const char *group = sb_strings_get(ctx->communication->strings, d->group, NULL);
	struct rank_sum *items = NULL, *all;
	size_t n = 0, ranks;
	int rc = gather(ctx, d, group, &items, &n);

	*o = (struct opinion){0};
	if (rc != SB_OK)
		return rc;
	qsort(items, n, sizeof(*items), by_step_and_view);
	n = merge(items, n);
	all = malloc((n + 1) * sizeof(*all));
	if (!all) {
		free(items);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		all[i] = items[i];
		all[i].step = 0;
	}
	qsort(all, n, sizeof(*all), by_step_and_view);
	ranks = merge(all, n);
	judge_all(ctx, d, all, ranks, o);
	count_votes(ctx, items, n, ranks, o);
	free(all);
	free(items);
	return SB_OK;
}

static void report(struct check_context *ctx, const struct domain *d, const struct opinion *o)
{
	const struct rank_view *slow = o->by_transmission ? o->by_transmission : o->by_waiting;
	bool steady = (double)o->steps >= limit(ctx, "steps_for_high_confidence") &&
	              (double)o->votes >= limit(ctx, "slow_rank_votes") * (double)o->steps;
	bool contradicted = o->by_transmission && o->waits_known && o->by_waiting != o->by_transmission;
	int64_t cost_ns = o->by_transmission ? exposed_at_most(slow, o->transit_us * d->r_wait * 1000)
	                                     : ns_at_most(o->lost_us * 1000, slow->total_ns);
	struct finding *f;

	/* with steps enough to be sure, a rank that is last now and then is none that is slow */
	if (!o->by_transmission && !steady && (double)o->steps >= limit(ctx, "steps_for_high_confidence"))
		return;
	f = finding_new(ctx, "communication.slow_rank", slow, true);
	finding_cost(ctx, f, slow, cost_ns);
	if (f && (contradicted || (!o->by_transmission && !steady))) {
		/* the rules differ, or it was seen once: a hint, no more */
		finding_at_most(f, CONFIDENCE_LOW);
		f->severity = SEVERITY_INFO;
	} else {
		finding_gain(f, slow, cost_ns);
		finding_at_most(f, o->by_transmission && steady ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
	}
	finding_evidence(ctx, f, "r_wait", d->r_wait, "ratio", "r_wait");
	if (o->waits_known) {
		finding_evidence(ctx, f, "largest_wait_ratio", o->wait_ratio, "ratio", "wait_ratio");
		finding_evidence(ctx, f, "steps_that_agree",
		                 o->steps > 0 ? (double)o->votes / (double)o->steps : 0, "share",
		                 "slow_rank_votes");
	}
	finding_evidence(ctx, f, o->by_transmission ? "transmission_us" : "mean_wait_of_others_us",
	                 o->by_transmission ? o->transit_us : o->lost_us, "us", NULL);
	finding_evidence(ctx, f, "ranks_in_domain", (double)d->rank_count, "ranks", NULL);
}

void check_slow_rank(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->communication->domain_count; i++) {
		const struct domain *d = &ctx->communication->domains[i];
		struct opinion o;

		if (d->rank_count < 2 || isnan(d->r_wait))
			continue;
		*out_judged = true;
		ctx->failed = ask(ctx, d, &o);
		if (ctx->failed != SB_OK)
			return;
		if (o.by_transmission || o.by_waiting)
			report(ctx, d, &o);
	}
	check_straggler(ctx, out_judged);
}
