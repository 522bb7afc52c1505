#include <stdint.h>
#include <string.h>

#include "profiler/findings/last_collectives.h"
#include "profiler/findings/moe.h"

static int name_operators(struct check_context *ctx, const struct rank_view *v, struct finding *f)
{
	TALLY_AUTO tally = {0};

	if (tally_init(&tally, v->c) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < v->c->communication_count; i++)
		tally_add(&tally, v->c->communications[i].name, v->c->communications[i].elapse_us);
	for (size_t i = 0; i < v->c->trace.count && v->c->communication_count == 0; i++)
		if (v->c->trace.kind[i] == EVENT_COMMUNICATION)
			tally_add(&tally, v->c->trace.name[i], (double)v->c->trace.dur_ns[i] / 1000);
	tally_into(&tally, ctx, v->c, f);
	return SB_OK;
}

int64_t compute_alone_of(const struct rank_view *v)
{
	/* the columns of a table need not fit one another */
	return v->compute_ns > v->overlap_ns ? sb_sub_sat(v->compute_ns, v->overlap_ns) : 0;
}

/* Exposed communication of one device that no other finding accounts for, ns over all steps. */
struct exposed {
	int64_t ns;
	/* taken off: experts wait for their tokens, which is another check's matter; other findings say why
	 * it is there */
	int64_t exchange_ns, explained_ns;
	int64_t kept_ns;     /* of the last collective of each step: stays exposed whatever is done */
	int64_t alone_ns;    /* compute that runs alone now */
	int64_t hideable_ns; /* what can run under it */
};

/* Why communication takes that long, or why ranks come late to it: that part needs another remedy. What slows
 * one rank's transmission all ranks wait for. */
static void explain(struct check_context *ctx)
{
	int64_t of_all = 0;

	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *f = &ctx->items[i];
		int64_t cost = ns_at_most(f->share_of_step * (double)f->total_ns, f->total_ns);

		if (f->severity == SEVERITY_INFO || f->view >= ctx->view_count)
			continue;
		if (strcmp(f->code, "communication.slow_link") == 0 ||
		    strcmp(f->code, "communication.retransmission") == 0)
			of_all = cost > of_all ? cost : of_all;
		else if (strncmp(f->code, "communication.", 14) == 0 &&
		         strcmp(f->code, "communication.slow_rank") != 0)
			ctx->views[f->view].explained_ns = sb_add_sat(ctx->views[f->view].explained_ns, cost);
	}
	for (size_t i = 0; i < ctx->view_count; i++)
		ctx->views[i].explained_ns = sb_add_sat(ctx->views[i].explained_ns, of_all);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Waiting for the stage before is the bubble's matter, as in the CSV's "Exclude Receive" column; the product
 * behind an exchange needs the tokens; and waiting for a rank that is late cannot be covered. */
static struct exposed exposed_of(const struct rank_view *v, const struct moe_view *m)
{
	int64_t exchange = moe_is_there(m) ? ns_at_most(m->exposed_ns, v->exposed_ns) : 0;
	int64_t ns = sb_sub_sat(v->exposed_ns, sb_add_sat(bubble_of(v), v->awaited_ns));
	struct exposed x = {.alone_ns = compute_alone_of(v)};

	ns = ns > 0 ? ns : 0;
	x.exchange_ns = lesser(exchange, ns);
	x.explained_ns = lesser(v->explained_ns, ns - x.exchange_ns);
	x.ns = ns - x.exchange_ns - x.explained_ns;
	return x;
}

/* The last collective of a step stays as it is: it can begin no earlier; and the others can begin earlier
 * only where the link idles before. But where little of all communication is hidden and most of what is not
 * is in the last one, that one waits for all gradients of the step and can be cut. By the paper's rule the
 * work is to be divided in another way anyhow. */
static int look_at_last(const struct check_context *ctx, const struct rank_view *v, bool poor,
                        struct exposed *x)
{
	bool hidden = (double)v->overlap_ns >= limit(ctx, "hidden_share") * (double)v->communication_ns;
	struct last_collectives last;
	int64_t room = x->alone_ns;
	int rc = last_collectives_find(v, &last);

	if (rc != SB_OK)
		return rc;
	if (hidden || last.exposed_ns <= x->ns / 2) {
		x->kept_ns = lesser(last.exposed_ns, x->ns);
		if (!poor && last.idle_link_ns != SB_NULL)
			room = lesser(room, last.idle_link_ns);
	}
	x->hideable_ns = lesser(x->ns - x->kept_ns, room);
	return SB_OK;
}

/* Poor parallelism (Hermes 4.2.1): the share of the step in which compute and communication run together is
 * small. It means something only where there is communication left to cover. */
static bool is_poor(const struct check_context *ctx, const struct rank_view *v, const struct exposed *x)
{
	double total = (double)v->total_ns;

	return (double)x->ns / total > limit(ctx, "exposed_share") &&
	       (double)v->overlap_ns / total < limit(ctx, "overlap_share");
}

/* HIDEABLE: not poor by the paper's rule, and yet compute could cover much of it. */
enum verdict { FINE, POOR, HIDEABLE };

static void show(struct check_context *ctx, const struct rank_view *v, const struct exposed *x,
                 enum verdict verdict, struct finding *f)
{
	double total = (double)v->total_ns, overlap = (double)v->overlap_ns / total;
	double exposed = (double)x->ns / total;

	/* what decided stands first */
	if (verdict == POOR)
		finding_evidence(ctx, f, "overlap_share", overlap, "share", "overlap_share");
	if (verdict == HIDEABLE)
		finding_evidence(ctx, f, "hideable_share", (double)x->hideable_ns / total, "share",
		                 "exposed_share");
	finding_evidence(ctx, f, "exposed_share", exposed, "share",
	                 verdict == POOR ? "exposed_share" : "recoverable_share");
	if (verdict != POOR)
		finding_evidence(ctx, f, "overlap_share", overlap, "share", NULL);
	finding_evidence(ctx, f, "overlap_us", (double)v->overlap_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "exposed_us", (double)x->ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "compute_alone_us", (double)x->alone_ns / 1000, "us", NULL);
	if (x->kept_ns > 0)
		finding_evidence(ctx, f, "last_of_each_step_us", (double)x->kept_ns / 1000, "us", NULL);
	if (v->awaited_ns > 0)
		finding_evidence(ctx, f, "waiting_for_other_ranks_us", (double)v->awaited_ns / 1000, "us",
		                 NULL);
	if (x->exchange_ns > 0)
		finding_evidence(ctx, f, "exchange_of_experts_us", (double)x->exchange_ns / 1000, "us", NULL);
	if (x->explained_ns > 0)
		finding_evidence(ctx, f, "explained_by_other_findings_us", (double)x->explained_ns / 1000,
		                 "us", NULL);
	/* the denominator of the shares */
	finding_evidence(ctx, f, "step_us", total / (double)v->steps / 1000, "us", NULL);
}

static void set_gain(struct check_context *ctx, const struct rank_view *v, const struct exposed *x,
                     enum verdict verdict, struct finding *f)
{
	int64_t steps = (int64_t)v->steps;

	if (!f)
		return;
	finding_gain(f, v, x->hideable_ns);
	if (f->gain_method)
		f->gain_method = "exposed communication moved under compute that runs alone, no replay: an "
		                 "upper bound";
	f->kept_ns = x->kept_ns / steps;
	f->gain_most_ns = x->hideable_ns / steps;
	/* by the paper's rule all of it is at stake: what cannot be hidden, another strategy may avoid, and
	 * what that gains no profile tells */
	f->stake = (double)(verdict == POOR ? x->ns : x->hideable_ns) / (double)v->total_ns;
	finding_relief(ctx, f, v, RELIEF_LINK, 0, 0);
}

/* Exposed communication that is no bottleneck is told all the same: nobody else would. */
static void judge(struct check_context *ctx, struct rank_view *v, const struct moe_view *m)
{
	struct exposed x = exposed_of(v, m);
	double share = (double)x.ns / (double)v->total_ns;
	enum verdict verdict = is_poor(ctx, v, &x) ? POOR : FINE;
	struct finding *f;

	if (!(share >= limit(ctx, "recoverable_share")))
		return;
	if (look_at_last(ctx, v, verdict == POOR, &x) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	if (verdict == FINE && (double)x.hideable_ns / (double)v->total_ns > limit(ctx, "exposed_share"))
		verdict = HIDEABLE;
	f = finding_new(ctx, "parallel.poor_overlap", v, true);
	finding_cost(ctx, f, v, x.ns);
	set_gain(ctx, v, &x, verdict, f);
	show(ctx, v, &x, verdict, f);
	if (f && verdict == FINE)
		f->severity = SEVERITY_INFO;
	/* of one rank alone nobody knows how long it waited for the others; nor is it sure what little of it
	 * can move */
	if (verdict == HIDEABLE && (ctx->view_count < 2 || x.hideable_ns < x.ns / 2))
		finding_at_most(f, CONFIDENCE_MEDIUM);
	/* a device that idles longer may communicate whenever it likes: only a timeline tells whether that
	 * costs */
	if (v->c->trace.count + v->c->kernel_count == 0 && v->free_ns > x.ns)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	/* hiding some of it says nothing about the rest where that is most */
	v->overlap_answers = verdict == POOR || (verdict == HIDEABLE && x.hideable_ns >= x.ns / 2);
	if (name_operators(ctx, v, f) != SB_OK)
		ctx->failed = SB_ENOMEM;
}

void check_poor_overlap(struct check_context *ctx, bool *out_judged)
{
	const struct moe_view *m = findings_moe(ctx);

	explain(ctx);
	for (size_t i = 0; m && i < ctx->view_count && ctx->failed == SB_OK; i++) {
		struct rank_view *v = &ctx->views[i];

		if (v->overlap_ns == SB_NULL || v->exposed_ns == SB_NULL || v->compute_ns == SB_NULL)
			continue;
		*out_judged = true;
		judge(ctx, v, &m[i]);
	}
}
