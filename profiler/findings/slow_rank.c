#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/findings.h"

/* One rank's operators of a domain, us: one operator, those of one step, or all. */
struct rank_sum {
	uint32_t group; /* as in the report */
	int64_t step;
	size_t view, at; /* at: place in the source, so that sums do not depend on how ties are sorted */
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

static int by_view(const struct rank_sum *x, const struct rank_sum *y)
{
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->view > y->view) - (x->view < y->view);
}

static int by_place(const void *a, const void *b)
{
	const struct rank_sum *x = a, *y = b;
	int order = by_view(x, y);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void add(struct rank_sum *to, const struct rank_sum *from)
{
	to->transit += from->transit;
	to->wait += from->wait;
	to->synchronization += from->synchronization;
}

/* All operators of all ranks, sorted: each domain's lie together. *out_items is the caller's. */
static int gather(const struct check_context *ctx, struct rank_sum **out_items, size_t *out_count)
{
	size_t most = 1, n = 0;
	struct rank_sum *items;

	for (size_t i = 0; i < ctx->view_count; i++)
		most += ctx->views[i].c->communication_count;
	items = malloc(most * sizeof(*items));
	if (!items)
		return SB_ENOMEM;
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct capture *c = ctx->views[i].c;

		for (size_t k = 0; k < c->communication_count; k++) {
			const struct communication_op *op = &c->communications[k];
			size_t len;
			const char *group = trace_text(&c->trace, op->group, &len);

			if (op->point_to_point)
				continue;
			items[n] = (struct rank_sum){sb_strings_find(ctx->communication->strings, group, len),
			                             op->step,
			                             i,
			                             n,
			                             op->transit_us,
			                             op->wait_us,
			                             op->synchronization_us};
			n++;
		}
	}
	qsort(items, n, sizeof(*items), by_place);
	*out_items = items;
	*out_count = n;
	return SB_OK;
}

/* The operators of one domain among all: *from is its first, the number of those whose rank is in the domain
 * is returned; they are moved to the front. */
static size_t domain_items(const struct check_context *ctx, const struct domain *d, struct rank_sum *items,
                           size_t count, size_t *from)
{
	size_t lo = 0, hi = count, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (items[mid].group < d->group)
			lo = mid + 1;
		else
			hi = mid;
	}
	*from = lo;
	for (; lo < count && items[lo].group == d->group; lo++)
		if (in_domain(d, ctx->views[items[lo].view].rank))
			items[*from + n++] = items[lo];
	return n;
}

/* Merges sorted entries of one step and view; returns how many are left. */
static size_t merge(struct rank_sum *items, size_t n)
{
	size_t merged = 0;

	for (size_t i = 0; i < n; i++) {
		if (merged > 0 && by_view(&items[merged - 1], &items[i]) == 0)
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

/* Asks both rules about one domain. The operators given are its own, and are summed in place. */
static int ask(const struct check_context *ctx, const struct domain *d, struct rank_sum *items, size_t n,
               struct opinion *o)
{
	struct rank_sum *all;
	size_t ranks;

	*o = (struct opinion){0};
	n = merge(items, n);
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return SB_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		all[i] = items[i];
		all[i].step = 0;
	}
	qsort(all, n, sizeof(*all), by_place);
	ranks = merge(all, n);
	judge_all(ctx, d, all, ranks, o);
	count_votes(ctx, items, n, ranks, o);
	free(all);
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

/* The pipeline stage of a rank, SB_NULL when unknown. Views follow the captures, which stand by rank. */
static int64_t stage_of(const struct check_context *ctx, int64_t rank)
{
	size_t lo = 0, hi = ctx->view_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int64_t at = ctx->views[mid].rank;

		if (at != SB_NULL && at < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ctx->view_count && ctx->views[lo].rank == rank ? ctx->views[lo].c->stage : SB_NULL;
}

/* Ranks of different stages do different work, and wait for each other by the pipeline's design: who is last
 * among them says nothing of a slow rank. */
static bool spans_stages(const struct check_context *ctx, const struct domain *d)
{
	int64_t first = SB_NULL;

	for (size_t i = 0; i < d->rank_count; i++) {
		int64_t stage = stage_of(ctx, d->ranks[i]);

		if (stage != SB_NULL && first != SB_NULL && stage != first)
			return true;
		first = stage != SB_NULL ? stage : first;
	}
	return false;
}

static void judge_domains(struct check_context *ctx, bool *out_judged)
{
	struct rank_sum *items = NULL;
	size_t count = 0;

	for (size_t i = 0; i < ctx->communication->domain_count && ctx->failed == SB_OK; i++) {
		const struct domain *d = &ctx->communication->domains[i];
		struct opinion o;
		size_t from, n;

		if (d->rank_count < 2 || isnan(d->r_wait) || spans_stages(ctx, d))
			continue;
		*out_judged = true;
		if (!items)
			ctx->failed = gather(ctx, &items, &count);
		if (ctx->failed != SB_OK)
			break;
		n = domain_items(ctx, d, items, count, &from);
		ctx->failed = ask(ctx, d, items + from, n, &o);
		if (ctx->failed == SB_OK && (o.by_transmission || o.by_waiting))
			report(ctx, d, &o);
	}
	free(items);
}

void check_slow_rank(struct check_context *ctx, bool *out_judged)
{
	judge_domains(ctx, out_judged);
	if (ctx->failed == SB_OK)
		check_straggler(ctx, out_judged);
}
