#include <math.h>
#include <stdlib.h>

#include "profiler/findings/slow_rank.h"

/* Where the collectives of the ranks were hardly compared, what is left is how long each rank communicated:
 * the one that did so least came last (msprof-analyze's cluster rule, stage by stage). */

/* The share of the communication that must have been compared for the better source to count. */
#define COVERED 0.5

struct table_rank {
	int64_t stage;
	size_t view;
};

static int by_stage(const void *a, const void *b)
{
	const struct table_rank *x = a, *y = b;
	const int64_t left[] = {x->stage, (int64_t)x->view}, right[] = {y->stage, (int64_t)y->view};

	return sb_compare(left, right, 2);
}

/* Waiting for the stage before is the pipeline's, not the domain's. */
static double communication_of(const struct rank_view *v)
{
	int64_t bubble = v->bubble_ns == SB_NULL ? 0 : v->bubble_ns;

	return (double)(v->exposed_ns > bubble ? v->exposed_ns - bubble : 0);
}

/* Ranks that another rank's steps can be held against. */
static bool is_comparable(const struct rank_view *v, const double *covered)
{
	return v->rank != SB_NULL && v->exposed_ns != SB_NULL && v->communication_ns > 0 &&
	       *covered < COVERED * (double)v->communication_ns;
}

static void report(struct check_context *ctx, const struct compared *k, const double *lengths, bool tested)
{
	const struct rank_view *v = k->views[k->late];
	double mean, median;
	struct late_reason why;
	struct finding *f;

	slow_rank_lost(k, lengths, &mean, &median);
	why = slow_rank_reason(k, mean);
	/* one number a rank is little: the rank itself has to show why */
	if (mean < limit(ctx, "slow_rank_share") * (double)v->total_ns ||
	    (why.cause != LATE_DEVICE && why.cause != LATE_HOST))
		return;
	f = finding_new(ctx, "communication.slow_rank", v, true);
	finding_cost(ctx, f, v, ns_at_most(mean, v->total_ns));
	finding_gain(f, v, ns_at_most(fmin(slow_rank_excess(&why), fmin(mean, median)), v->total_ns));
	finding_at_most(f, tested ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
	finding_evidence(ctx, f, "mean_wait_of_others_share", mean / (double)v->total_ns, "share",
	                 "slow_rank_share");
	finding_evidence(ctx, f, "mean_wait_of_others_us", mean / 1000, "us", NULL);
	finding_evidence(ctx, f, "communication_us", lengths[k->late] / 1000, "us", NULL);
	slow_rank_relieve(ctx, f, k, &why, mean);
}

static void judge_stage(struct check_context *ctx, const struct table_rank *ranks, size_t n, double *host_ns,
                        bool *out_judged)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): it is a list of pointers */
	const struct rank_view **views = calloc(n + 1, sizeof(*views));
	double *values = calloc(2 * n + 1, sizeof(*values)), least = INFINITY;
	struct compared k = {views, n, 0, values ? values + n : NULL, host_ns};
	bool same_steps = true, tested = false;

	if (!views || !values) {
		ctx->failed = SB_ENOMEM;
		free(views);
		free(values);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		views[i] = &ctx->views[ranks[i].view];
		values[i] = communication_of(views[i]);
		same_steps = same_steps && views[i]->steps == views[0]->steps;
		if (values[i] < least) {
			least = values[i];
			k.late = i;
		}
	}
	/* of two ranks one always has less */
	if (n > 2 && same_steps) {
		*out_judged = true;
		(void)slow_rank_shortest(ctx, values, n, k.scratch, &tested);
		report(ctx, &k, values, tested);
	}
	free(views);
	free(values);
}

void slow_rank_by_tables(struct check_context *ctx, const double *covered_ns, double *host_ns,
                         bool *out_judged)
{
	struct table_rank *ranks = calloc(ctx->view_count + 1, sizeof(*ranks));
	size_t n = 0;

	if (!ranks) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ctx->view_count; i++)
		if (is_comparable(&ctx->views[i], &covered_ns[i]))
			ranks[n++] = (struct table_rank){ctx->views[i].c->stage, i};
	qsort(ranks, n, sizeof(*ranks), by_stage);
	for (size_t from = 0, to = 0; from < n && ctx->failed == SB_OK; from = to) {
		while (to < n && ranks[to].stage == ranks[from].stage)
			to++;
		judge_stage(ctx, ranks + from, to - from, host_ns, out_judged);
	}
	free(ranks);
}
