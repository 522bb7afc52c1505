#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/findings.h"

/* The slow rank of a set of timelines without transmission times. A collective ends on all ranks together, so
 * the rank on which it is shortest came last. Only durations are compared: clocks of ranks may differ. */

/* One collective on one rank. */
struct collective {
	uint32_t group, name;
	int64_t order; /* sequence number in the group, or place among those of its name */
	size_t view;
	int64_t start, dur;
	bool numbered;
};

struct collectives {
	struct collective *items;
	size_t count;
	struct sb_strings *texts;
};

static void collectives_free(struct collectives *c)
{
	free(c->items);
	sb_strings_free(&c->texts);
}

static int by_start(const void *a, const void *b)
{
	const struct collective *x = a, *y = b;
	const int64_t left[] = {x->group, x->name, x->start, x->dur};
	const int64_t right[] = {y->group, y->name, y->start, y->dur};

	return sb_compare(left, right, 4);
}

static int by_key(const void *a, const void *b)
{
	const struct collective *x = a, *y = b;
	const int64_t left[] = {x->group, x->name, x->order, (int64_t)x->view, x->start, x->dur};
	const int64_t right[] = {y->group, y->name, y->order, (int64_t)y->view, y->start, y->dur};

	return sb_compare(left, right, 6);
}

static int text(struct collectives *to, const struct trace *t, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *s = trace_text(t, id, &len);

	return sb_strings_add(to->texts, s, len, out);
}

static int add(struct collectives *to, const struct trace *t, size_t event, size_t view)
{
	const struct event_detail *d = trace_detail(t, (uint32_t)event);
	struct collective c = {.view = view,
	                       .start = t->start_ns[event],
	                       .dur = t->dur_ns[event],
	                       .order = d ? d->sequence : SB_NULL};
	int rc = text(to, t, d && d->type ? d->type : t->name[event], &c.name);

	if (rc == SB_OK)
		rc = text(to, t, d ? d->group : 0, &c.group);
	if (rc != SB_OK)
		return rc;
	c.numbered = c.order != SB_NULL;
	if (sb_grow(&to->items, to->count, sizeof(c)) != SB_OK)
		return SB_ENOMEM;
	to->items[to->count++] = c;
	return SB_OK;
}

/* Adds one rank's collectives; those without a number are numbered by their start. */
static int add_view(struct collectives *to, const struct trace *t, size_t view)
{
	size_t from = to->count;
	int64_t order = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++)
		if (t->kind[i] == EVENT_COMMUNICATION)
			rc = add(to, t, i, view);
	if (rc != SB_OK || to->count == from)
		return rc;
	qsort(to->items + from, to->count - from, sizeof(*to->items), by_start);
	for (size_t i = from; i < to->count; i++) {
		struct collective *c = &to->items[i];

		if (i > from && (c[-1].group != c->group || c[-1].name != c->name))
			order = 0;
		if (!c->numbered)
			c->order = order++;
	}
	return SB_OK;
}

/* Per view: how often it was last, and how long it waited for others. */
struct score {
	int64_t last, wait_ns;
};

/* Judges the collectives that all n ranks of the profile share; returns how many showed a straggler. */
static int64_t score(const struct check_context *ctx, const struct collectives *c, size_t n,
                     struct score *scores)
{
	int64_t judged = 0;

	for (size_t from = 0, to = 0; from < c->count; from = to) {
		size_t shortest = from, longest = from;
		bool twice = false;

		for (to = from + 1;
		     to < c->count && c->items[to].group == c->items[from].group &&
		     c->items[to].name == c->items[from].name && c->items[to].order == c->items[from].order;
		     to++)
			twice = twice || c->items[to].view == c->items[to - 1].view;
		/* a number that a rank used twice does not say which two belong together */
		if (to - from != n || twice)
			continue;
		for (size_t i = from; i < to; i++) {
			shortest = c->items[i].dur < c->items[shortest].dur ? i : shortest;
			longest = c->items[i].dur > c->items[longest].dur ? i : longest;
		}
		for (size_t i = from; i < to; i++) {
			int64_t wait = c->items[i].dur - c->items[shortest].dur;

			scores[c->items[i].view].wait_ns = sb_add_sat(scores[c->items[i].view].wait_ns, wait);
		}
		if ((double)(c->items[longest].dur - c->items[shortest].dur) >
		    limit(ctx, "wait_ratio") * (double)c->items[longest].dur) {
			scores[c->items[shortest].view].last++;
			judged++;
		}
	}
	return judged;
}

static bool is_rank(const struct check_context *ctx, size_t view)
{
	const struct rank_view *v = &ctx->views[view];

	/* several devices in one trace are one rank here: the first stands for it */
	return !capture_is_ascend(v->c) && v->rank != SB_NULL &&
	       (view == 0 || ctx->views[view - 1].rank != v->rank);
}

static void report(struct check_context *ctx, size_t slow, const struct score *scores, size_t n,
                   int64_t judged)
{
	const struct rank_view *v = &ctx->views[slow];
	double lost_ns = 0, compute = 0, votes = (double)scores[slow].last / (double)judged;
	struct finding *f;

	for (size_t i = 0; i < ctx->view_count; i++) {
		if (i == slow || !is_rank(ctx, i))
			continue;
		lost_ns +=
		    (double)exposed_at_most(&ctx->views[i], (double)scores[i].wait_ns) / (double)(n - 1);
		compute += (double)ctx->views[i].compute_ns / (double)(n - 1);
	}
	if (votes < limit(ctx, "slow_rank_votes") ||
	    lost_ns < limit(ctx, "slow_rank_share") * (double)v->total_ns)
		return;
	f = finding_new(ctx, "communication.slow_rank", v, true);
	finding_cost(ctx, f, v, ns_at_most(lost_ns, v->total_ns));
	if (f && (double)v->steps < limit(ctx, "steps_for_high_confidence")) {
		finding_at_most(f, CONFIDENCE_LOW);
		f->severity = SEVERITY_INFO;
	} else {
		finding_gain(f, v, ns_at_most(lost_ns, v->total_ns));
		/* a cause seen on the rank itself makes it sure */
		if (!(compute > 0) || (double)v->compute_ns < (1 + limit(ctx, "slow_rank_share")) * compute)
			finding_at_most(f, CONFIDENCE_MEDIUM);
	}
	finding_evidence(ctx, f, "collectives_it_was_last_in", votes, "share", "slow_rank_votes");
	finding_evidence(ctx, f, "mean_wait_of_others_share", lost_ns / (double)v->total_ns, "share",
	                 "slow_rank_share");
	finding_evidence(ctx, f, "mean_wait_of_others_us", lost_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "collectives_compared", (double)judged, "events", NULL);
	if (compute > 0)
		finding_evidence(ctx, f, "compute_over_others", (double)v->compute_ns / compute, "ratio",
		                 NULL);
}

void check_straggler(struct check_context *ctx, bool *out_judged)
{
	__attribute__((cleanup(collectives_free))) struct collectives c = {0};
	struct score *scores;
	size_t ranks = 0, slow = 0;
	int64_t judged;

	ctx->failed = sb_strings_new(&c.texts);
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		size_t before = c.count;

		if (is_rank(ctx, i))
			ctx->failed = add_view(&c, &ctx->views[i].c->trace, i);
		ranks += c.count > before;
	}
	if (ctx->failed != SB_OK || ranks < 2)
		return;
	scores = calloc(ctx->view_count, sizeof(*scores));
	if (!scores) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	qsort(c.items, c.count, sizeof(*c.items), by_key);
	judged = score(ctx, &c, ranks, scores);
	*out_judged = true;
	for (size_t i = 1; i < ctx->view_count; i++)
		slow = scores[i].last > scores[slow].last ? i : slow;
	if (judged > 0)
		report(ctx, slow, scores, ranks, judged);
	free(scores);
}
