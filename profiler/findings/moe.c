#include <math.h>
#include <stdlib.h>

#include "profiler/findings/moe.h"

/* Mixtures of experts: ranks whose experts got more tokens than others, and the all-to-alls around them
 * (research page systems, section 4). */

/* A relief for each event and kernel row of one sort. Names are few and events many: each is looked at once.
 */
static void relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                    enum moe_name what, double factor)
{
	const struct capture *c = v->c;
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings);
	uint8_t *known = calloc(texts + 1, 1);

	if (!known)
		ctx->failed = SB_ENOMEM;
	for (size_t i = 0; i < t->count && ctx->failed == SB_OK; i++) {
		uint8_t *name = &known[t->name[i] < texts ? t->name[i] : texts];
		int32_t device = t->lanes[t->lane[i]].device;
		bool kernel = t->kind[i] == EVENT_KERNEL;

		if ((!kernel && t->kind[i] != EVENT_COMMUNICATION) ||
		    (device >= 0 && v->device != SB_NULL && device != v->device))
			continue;
		if (!kernel || *name == 0)
			*name = (uint8_t)(1 + moe_event(c, i));
		if (*name == 1 + what)
			finding_relief(ctx, f, v, RELIEF_EVENT, i, factor);
	}
	free(known);
	for (size_t i = 0; i < c->kernel_count && ctx->failed == SB_OK; i++)
		if (moe_kernel(c, &c->kernels[i]) == what)
			finding_relief(ctx, f, v, RELIEF_KERNEL, i, factor);
}

/* What an exchange would take of its time in a job that is in order: under a tenth of the step, by LAER-MoE,
 * whose own grew to 40 % (research page systems, 3.11 and 4). The rest of the step stays as it is. */
static double in_order(const struct check_context *ctx, const struct rank_view *v, const struct moe_view *m)
{
	double share = limit(ctx, "all_to_all_info_share");

	return share / (1 - share) * ((double)v->total_ns - m->exchange_ns) / m->exchange_ns;
}

static void report_exchange(struct check_context *ctx, const struct rank_view *v, const struct moe_view *m)
{
	double share = m->exchange_ns / (double)v->total_ns;
	int64_t exposed = exposed_at_most(v, m->exposed_ns);
	struct finding *f;

	if (!(share > limit(ctx, "all_to_all_info_share")))
		return;
	f = finding_new(ctx, "moe.all_to_all", v, true);
	finding_cost(ctx, f, v, exposed);
	if (!f)
		return;
	if (share > limit(ctx, "all_to_all_share")) {
		enum severity most =
		    share >= limit(ctx, "all_to_all_critical_share") ? SEVERITY_CRITICAL : SEVERITY_WARNING;

		double factor = fmax(0, in_order(ctx, v, m));

		f->severity = f->severity < most ? f->severity : most;
		finding_gain(f, v, exposed_at_most(v, (1 - factor) * m->exposed_ns));
		if (f->gain_method)
			f->gain_method =
			    "all-to-all down to its share of the step in a job in order, no replay";
		relieve(ctx, f, v, MOE_EXCHANGE, factor);
	} else {
		f->severity = SEVERITY_INFO;
	}
	finding_evidence(ctx, f, "all_to_all_share", share, "share",
	                 share > limit(ctx, "all_to_all_share") ? "all_to_all_share"
	                                                        : "all_to_all_info_share");
	finding_evidence(ctx, f, "all_to_all_us", m->exchange_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "all_to_all_exposed_us", m->exposed_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "exchanges", (double)m->exchanges, "events", NULL);
}

static bool any_experts(const struct check_context *ctx, const struct moe_view *m)
{
	for (size_t i = 0; i < ctx->view_count; i++)
		if (moe_is_there(&m[i]))
			return true;
	return false;
}

void check_moe_all_to_all(struct check_context *ctx, bool *out_judged)
{
	const struct moe_view *m = findings_moe(ctx);
	bool experts;

	if (!m || ctx->view_count == 0)
		return;
	experts = any_experts(ctx, m);
	/* a job without experts has no all-to-all of theirs: nothing is left open */
	*out_judged = !experts;
	ctx->needs = "the all-to-alls of the experts, or dispatch and combine, on the timeline";
	for (size_t i = 0; i < ctx->view_count && experts; i++) {
		if (!moe_is_there(&m[i]) || m[i].exchanges == 0)
			continue;
		*out_judged = true;
		report_exchange(ctx, &ctx->views[i], &m[i]);
	}
}

/* The experts of one expert domain, over its ranks. */
struct load {
	size_t n, busiest;
	double mean_ns, most_ns, second_ns;
	double mean_tokens;
};

static void report_imbalance(struct check_context *ctx, const struct moe_view *m, const struct load *l)
{
	const struct rank_view *v = &ctx->views[l->busiest];
	double imbalance = l->most_ns / l->mean_ns, two;
	int64_t lost;
	struct finding *f;

	if (!(imbalance > limit(ctx, "expert_imbalance")))
		return;
	f = finding_new(ctx, "moe.imbalance", v, true);
	lost = ns_at_most(l->most_ns - l->mean_ns, v->total_ns);
	finding_cost(ctx, f, v, lost);
	finding_gain(f, v, lost);
	if (f && f->gain_method)
		f->gain_method = "the busiest rank's experts as long as the mean of all ranks', no replay";
	relieve(ctx, f, v, MOE_EXPERTS, l->mean_ns / l->most_ns);
	finding_evidence(ctx, f, "expert_time_over_mean", imbalance, "ratio", "expert_imbalance");
	finding_evidence(ctx, f, "expert_us", l->most_ns / 1000, "us", NULL);
	finding_evidence(ctx, f, "mean_expert_us", l->mean_ns / 1000, "us", NULL);
	if (l->mean_tokens > 0)
		finding_evidence(ctx, f, "tokens_over_mean", m[l->busiest].tokens / l->mean_tokens, "ratio",
		                 NULL);
	two = (l->most_ns + l->second_ns) / (l->mean_ns * (double)l->n);
	if (l->n > 2)
		finding_evidence(ctx, f, "two_busiest_ranks_share", two, "share", "hot_experts_share");
	finding_evidence(ctx, f, "ranks_in_domain", (double)l->n, "ranks", NULL);
}

/* Experts of a fixed capacity compute rows that no token fills. Where experts are split by tensors as well,
 * rows of several ranks meet in one product and look like padding: so it is never certain. */
static void report_padding(struct check_context *ctx, size_t view, const struct moe_view *m)
{
	const struct rank_view *v = &ctx->views[view];
	double padding = 1 - m->routed_rows / m->product_rows;
	int64_t lost = ns_at_most(padding * m->expert_ns, v->total_ns);
	struct finding *f;

	if (!(padding > limit(ctx, "padding_info_share")))
		return;
	f = finding_new(ctx, "moe.imbalance", v, true);
	finding_cost(ctx, f, v, lost);
	finding_gain(f, v, lost);
	if (f && f->gain_method)
		f->gain_method = "the experts' products without the rows that no token fills, no replay";
	relieve(ctx, f, v, MOE_EXPERTS, 1 - padding);
	finding_at_most(f, CONFIDENCE_MEDIUM);
	if (f && !(padding >= limit(ctx, "padding_share")))
		f->severity = SEVERITY_INFO;
	finding_evidence(ctx, f, "padding_share", padding, "share",
	                 padding >= limit(ctx, "padding_share") ? "padding_share" : "padding_info_share");
	finding_evidence(ctx, f, "routed_rows", m->routed_rows, "rows", NULL);
	finding_evidence(ctx, f, "product_rows", m->product_rows, "rows", NULL);
}

static void judge_padding(struct check_context *ctx, const struct moe_view *m)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++)
		if (m[i].routed_rows > 0 && m[i].product_rows > 0)
			report_padding(ctx, i, &m[i]);
}

static void add_rank(struct load *l, const struct moe_view *m, size_t view)
{
	double ns = m[view].expert_ns;

	if (l->n == 0 || ns > l->most_ns) {
		l->second_ns = l->most_ns;
		l->most_ns = ns;
		l->busiest = view;
	} else if (ns > l->second_ns) {
		l->second_ns = ns;
	}
	l->n++;
	l->mean_ns += ns;
	l->mean_tokens += m[view].tokens;
}

/* Ranks of one stage and as many steps train the same layers. */
struct expert_rank {
	int64_t stage, steps;
	size_t view;
};

static int by_stage(const void *a, const void *b)
{
	const struct expert_rank *x = a, *y = b;
	const int64_t left[] = {x->stage, x->steps, (int64_t)x->view};
	const int64_t right[] = {y->stage, y->steps, (int64_t)y->view};

	return sb_compare(left, right, 3);
}

static void judge_ranks(struct check_context *ctx, const struct moe_view *m, struct expert_rank *ranks,
                        size_t n, bool *out_judged)
{
	qsort(ranks, n, sizeof(*ranks), by_stage);
	for (size_t from = 0, to = 0; from < n && ctx->failed == SB_OK; from = to) {
		struct load l = {0};

		while (to < n && ranks[to].stage == ranks[from].stage && ranks[to].steps == ranks[from].steps)
			add_rank(&l, m, ranks[to++].view);
		if (l.n < 2 || !(l.mean_ns > 0))
			continue;
		l.mean_ns /= (double)l.n;
		l.mean_tokens /= (double)l.n;
		*out_judged = true;
		report_imbalance(ctx, m, &l);
	}
}

void check_moe_imbalance(struct check_context *ctx, bool *out_judged)
{
	const struct moe_view *m = findings_moe(ctx);
	struct expert_rank *ranks;
	size_t n = 0;

	if (!m || ctx->view_count == 0)
		return;
	if (!any_experts(ctx, m)) {
		*out_judged = true;
		return;
	}
	ctx->needs =
	    "the experts' grouped matrix products on all ranks of the expert domain; for padding the "
	    "shapes of the router's kernels besides";
	ranks = calloc(ctx->view_count, sizeof(*ranks));
	if (!ranks) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ctx->view_count; i++)
		if (m[i].expert_kernels > 0)
			ranks[n++] =
			    (struct expert_rank){ctx->views[i].c->stage, (int64_t)ctx->views[i].steps, i};
	judge_ranks(ctx, m, ranks, n, out_judged);
	free(ranks);
	judge_padding(ctx, m);
}
