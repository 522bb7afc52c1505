#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/findings.h"

/* Ranks whose exposed communication other checks account for. */
struct explained {
	int64_t *ranks; /* rising */
	size_t count;
	bool all;
	/* the largest cost of one finding of a host that makes others wait, and of another rank's */
	int64_t late_rank, late_ns, next_ns;
};

static void explained_free(struct explained *x)
{
	free(x->ranks);
}

static int by_value(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

/* A rank whose host loses time comes late to collectives, and the others wait for it. */
static void note_late(struct explained *out, const struct finding *f)
{
	int64_t cost = ns_at_most(f->share_of_step * (double)f->total_ns, INT64_MAX);

	if (f->rank == out->late_rank) {
		out->late_ns = cost > out->late_ns ? cost : out->late_ns;
	} else if (cost > out->late_ns) {
		out->next_ns = out->late_ns;
		out->late_ns = cost;
		out->late_rank = f->rank;
	} else if (cost > out->next_ns) {
		out->next_ns = cost;
	}
}

/* Sorted, because there may be as many findings as there are ranks. */
static int explained_find(const struct check_context *ctx, struct explained *out)
{
	out->late_rank = SB_NULL;
	out->ranks = malloc((ctx->count + 1) * sizeof(*out->ranks));
	if (!out->ranks)
		return SB_ENOMEM;
	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *f = &ctx->items[i];

		if (f->severity == SEVERITY_INFO)
			continue;
		/* whoever waits for a rank or its link is explained by that rank's finding */
		if (strcmp(f->code, "communication.slow_rank") == 0 ||
		    strcmp(f->code, "moe.imbalance") == 0 ||
		    strcmp(f->code, "communication.slow_link") == 0 ||
		    strcmp(f->code, "communication.retransmission") == 0)
			out->all = true;
		else if (strncmp(f->code, "communication.", 14) == 0 ||
		         strcmp(f->code, "parallel.pipeline_bubble") == 0 || strncmp(f->code, "moe.", 4) == 0)
			out->ranks[out->count++] = f->rank;
		else if (strncmp(f->code, "cpu.", 4) == 0 || strncmp(f->code, "io.", 3) == 0)
			note_late(out, f);
	}
	qsort(out->ranks, out->count, sizeof(*out->ranks), by_value);
	return SB_OK;
}

/* The device idles although its next work is in the queue, and no known wait says why: told, so that no time
 * is claimed by nobody, but as no bottleneck. */
static void tell_queued(struct check_context *ctx, const struct rank_view *v)
{
	double share = (double)v->host.queued_ns / (double)v->total_ns;
	struct finding *f;

	if (!(share >= limit(ctx, "recoverable_share")))
		return;
	f = finding_new(ctx, "unexplained", v, true);
	finding_cost(ctx, f, v, v->host.queued_ns);
	finding_at_most(f, CONFIDENCE_LOW);
	if (f)
		f->severity = SEVERITY_INFO;
	finding_evidence(ctx, f, "idle_with_work_in_the_queue_share", share, "share", "recoverable_share");
	finding_evidence(ctx, f, "idle_with_work_in_the_queue_us", (double)v->host.queued_ns / 1000, "us",
	                 NULL);
}

/* Exposed communication that no other check accounts for: a person has to look (Hermes 5.4). */
void check_unexplained(struct check_context *ctx, bool *out_judged)
{
	__attribute__((cleanup(explained_free))) struct explained x = {0};

	if (explained_find(ctx, &x) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		int64_t late_ns = v->rank == x.late_rank ? x.next_ns : x.late_ns, exposed_ns;
		struct finding *f;
		double share;

		if (v->exposed_ns == SB_NULL)
			continue;
		*out_judged = true;
		exposed_ns = v->exposed_ns - (late_ns < v->awaited_ns ? late_ns : v->awaited_ns);
		share = (double)exposed_ns / (double)v->total_ns;
		if (x.all || v->overlap_answers || !(share > limit(ctx, "unexplained_share")) ||
		    bsearch(&v->rank, x.ranks, x.count, sizeof(*x.ranks), by_value)) {
			tell_queued(ctx, v);
			continue;
		}
		f = finding_new(ctx, "unexplained", v, true);
		finding_cost(ctx, f, v, exposed_ns);
		finding_at_most(f, CONFIDENCE_LOW);
		finding_evidence(ctx, f, "exposed_share", share, "share", "unexplained_share");
		finding_evidence(ctx, f, "exposed_us", (double)exposed_ns / 1000, "us", NULL);
		/* where it is less than what is exposed, no better overlap helps */
		if (v->compute_ns != SB_NULL && v->overlap_ns != SB_NULL)
			finding_evidence(ctx, f, "compute_alone_us", (double)compute_alone_of(v) / 1000, "us",
			                 NULL);
	}
}
