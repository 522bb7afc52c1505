#include <math.h>
#include <stdlib.h>

#include "profiler/findings/links.h"
#include "profiler/findings/moe.h"
#include "profiler/findings/slow_rank.h"

/* One candidate is worth this many times the other: the other's contradiction does not matter. */
#define OUTWEIGHS 4
/* The lengths of the collectives bear out the waits when they show this share of them. */
#define BEARS_OUT 0.5

/* A rank that comes late to the domain's collectives. */
struct late {
	size_t rank;            /* NOBODY = none */
	bool by_length;         /* named by the lengths, so they say what is lost */
	bool contradicted;      /* two sources do not agree */
	double mean, median;    /* what the others lose, ns over all steps */
	size_t votes;           /* steps that say the same */
	struct late_reason why; /* seen on the rank itself */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct compared compare(const struct rank_sums *s, size_t late)
{
	return (struct compared){s->views, s->n, late, s->scratch, s->host_ns};
}

/* Mean and median of what the others lose: by the lengths of the collectives, or by their waits. The second
 * half of the scratch holds what is compared. */
static void measure(const struct rank_sums *s, bool lengths, size_t rank, double *out_mean,
                    double *out_median)
{
	const struct compared k = compare(s, rank);
	double *values = s->scratch + s->n;

	for (size_t i = 0; i < s->n; i++)
		values[i] = lengths ? s->all[i].length : s->all[i].wait;
	slow_rank_lost(&k, values, out_mean, out_median);
}

static void measure_late(const struct rank_sums *s, const struct opinion *o, struct late *l)
{
	double waits, unused;

	l->rank = o->late_by_wait != NOBODY ? o->late_by_wait : o->late_by_length;
	if (l->rank == NOBODY)
		return;
	l->by_length = o->late_by_length == l->rank;
	measure(s, l->by_length, l->rank, &l->mean, &l->median);
	l->votes = larger(o->late_by_wait == l->rank ? s->wait_votes[l->rank] : 0,
	                  l->by_length ? s->length_votes[l->rank] : 0);
	if (o->late_by_wait != NOBODY) {
		double lengths;

		measure(s, false, l->rank, &waits, &unused);
		measure(s, true, l->rank, &lengths, &unused);
		l->contradicted =
		    (o->late_by_length != NOBODY && !l->by_length) || lengths < BEARS_OUT * waits;
	} else {
		/* the waits are known, and nobody waits */
		l->contradicted = !isnan(o->wait_ratio);
	}
	const struct compared k = compare(s, l->rank);

	l->why = slow_rank_reason(&k, l->mean);
}

/* With steps enough to be sure, a rank that is last now and then is none that is slow; of two steps both must
 * say it. */
static bool is_steady(const struct check_context *ctx, size_t votes, size_t steps)
{
	if ((double)steps < limit(ctx, "steps_for_high_confidence"))
		return votes == steps;
	return (double)votes >= limit(ctx, "slow_rank_votes") * (double)steps;
}

static void say_late(struct check_context *ctx, const struct rank_sums *s, const struct opinion *o,
                     const struct late *l, struct finding *f)
{
	const struct rank_view *v = s->views[l->rank];
	double share = l->mean / (double)v->total_ns;

	if (!l->by_length)
		finding_evidence(ctx, f, "largest_wait_ratio", o->wait_ratio, "ratio", "wait_ratio");
	finding_evidence(ctx, f, "mean_wait_of_others_share", share, "share", "slow_rank_share");
	finding_evidence(ctx, f, "mean_wait_of_others_us", l->mean / 1000, "us", NULL);
	finding_evidence(ctx, f, "steps_that_agree", (double)l->votes / (double)s->steps, "share",
	                 "slow_rank_votes");
	if (s->compared > 0)
		finding_evidence(ctx, f, "collectives_it_was_last_in",
		                 (double)s->last_in[l->rank] / (double)s->compared, "share", NULL);
	if (!isnan(o->r_wait))
		finding_evidence(ctx, f, "r_wait", o->r_wait, "ratio", "r_wait");
}

static void report_late(struct check_context *ctx, const struct rank_sums *s, const struct opinion *o,
                        const struct late *l)
{
	const struct rank_view *v = s->views[l->rank];
	const struct compared k = compare(s, l->rank);
	bool one_step = s->steps < 2, seen = l->why.cause == LATE_DEVICE || l->why.cause == LATE_HOST;
	bool tested = o->outlier || (o->late_by_wait == l->rank && s->n > 2);
	struct finding *f = finding_new(ctx, "communication.slow_rank", v, true);

	finding_cost(ctx, f, v, ns_at_most(l->mean, v->total_ns));
	finding_agreement(f, l->votes, s->steps);
	say_late(ctx, s, o, l, f);
	if (!f)
		return;
	if (l->contradicted || l->why.cause == LATE_UNSEEN || (one_step && s->n == 2)) {
		/* the rules differ, or it was seen once, or its reason is not there: a hint, no more */
		finding_at_most(f, CONFIDENCE_LOW);
		f->severity = SEVERITY_INFO;
		return;
	}
	/* as fast as the others it has no more to win than it takes longer than they do */
	finding_gain(f, v,
	             ns_at_most(fmin(slow_rank_excess(&l->why), fmin(l->median, l->mean)), v->total_ns));
	slow_rank_relieve(ctx, f, &k, &l->why, l->mean);
	if (s->n == 2 || s->missing || !seen || !(tested || s->n > 3))
		finding_at_most(f, CONFIDENCE_MEDIUM);
	if (l->mean < limit(ctx, "slow_rank_share") * (double)v->total_ns)
		f->severity = SEVERITY_INFO;
}

/* The rank that transmits longest (Hermes 5.4): its links are slow, or it sends more. */
static void report_sender(struct check_context *ctx, const struct rank_sums *s, const struct opinion *o,
                          bool contradicted)
{
	size_t slow = o->slow_sender;
	const struct rank_view *v = s->views[slow];
	struct finding *f = finding_new(ctx, "communication.slow_rank", v, true);
	int64_t cost_ns = exposed_at_most(v, s->all[slow].transit * o->r_wait);

	finding_cost(ctx, f, v, cost_ns);
	finding_agreement(f, s->transit_votes[slow], s->steps);
	finding_evidence(ctx, f, "r_wait", o->r_wait, "ratio", "r_wait");
	if (!isnan(o->wait_ratio))
		finding_evidence(ctx, f, "largest_wait_ratio", o->wait_ratio, "ratio", "wait_ratio");
	finding_evidence(ctx, f, "steps_that_agree", (double)s->transit_votes[slow] / (double)s->steps,
	                 "share", "slow_rank_votes");
	finding_evidence(ctx, f, "transmission_us", s->all[slow].transit / 1000, "us", NULL);
	finding_evidence(ctx, f, "ranks_in_domain", (double)s->n, "ranks", NULL);
	if (!f)
		return;
	if (contradicted) {
		finding_at_most(f, CONFIDENCE_LOW);
		f->severity = SEVERITY_INFO;
		return;
	}
	finding_gain(f, v, cost_ns);
	finding_relief(ctx, f, v, RELIEF_LINK, 0, 1 - o->r_wait);
	if (s->missing || isnan(o->wait_ratio))
		finding_at_most(f, CONFIDENCE_MEDIUM);
}

/* Is what the late rank computes longer mostly its experts, who got more tokens? That is their imbalance. */
static bool experts_explain(struct check_context *ctx, const struct rank_sums *s, const struct late *l)
{
	const struct moe_view *m = findings_moe(ctx);
	double others = 0, own, more;

	if (!m || l->why.cause != LATE_DEVICE)
		return false;
	own = m[s->views[l->rank] - ctx->views].expert_ns;
	for (size_t i = 0; i < s->n; i++)
		if (i != l->rank)
			others += m[s->views[i] - ctx->views].expert_ns / (double)(s->n - 1);
	more = (double)s->views[l->rank]->compute_ns * (1 - 1 / l->why.compute_over_others);
	return own > others && own - others >= BEARS_OUT * more;
}

void slow_rank_report(struct check_context *ctx, const struct rank_sums *s, const struct opinion *o)
{
	struct late l = {.rank = NOBODY};
	const struct rank_view *sender = o->slow_sender == NOBODY ? NULL : s->views[o->slow_sender];
	double least = limit(ctx, "slow_rank_least_share"), sent = 0;
	bool differ, late;

	measure_late(s, o, &l);
	late = l.rank != NOBODY && s->views[l.rank] && is_steady(ctx, l.votes, s->steps) &&
	       l.mean >= least * (double)s->views[l.rank]->total_ns;
	/* a rank that is late because it was kept waiting elsewhere is no slow rank */
	if (late && l.why.cause == LATE_UNSEEN && (double)s->steps >= limit(ctx, "steps_for_high_confidence"))
		late = false;
	late = late && !experts_explain(ctx, s, &l);
	if (sender)
		sent = (double)exposed_at_most(sender, s->all[o->slow_sender].transit * o->r_wait);
	if (sender && (!is_steady(ctx, s->transit_votes[o->slow_sender], s->steps) ||
	               sent < least * (double)sender->total_ns))
		sender = NULL;
	/* the same bytes at a lower rate: that is its link's finding */
	if (sender && link_explains_sender(ctx, s->views, s->n, o->slow_sender))
		sender = NULL;
	differ = late && sender && l.rank != o->slow_sender;
	if (sender && (!late || sent * OUTWEIGHS > l.mean)) {
		bool explained = o->late_by_wait == o->slow_sender || o->waits_for_sender;

		report_sender(ctx, s, o,
		              (differ && l.mean * OUTWEIGHS > sent) || (!isnan(o->wait_ratio) && !explained));
	} else if (late) {
		report_late(ctx, s, o, &l);
	}
}
