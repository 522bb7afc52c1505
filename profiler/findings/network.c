#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/links.h"

/* RDMA packets that were sent again, and settings of the communication library. */

static double rdma_us(const struct check_context *ctx, const struct collectives *m,
                      const struct collective *c)
{
	const struct capture *cap = &ctx->p->captures[m->members[c->member].capture];
	double us = 0;

	if (c->operation == COLLECTIVE_NONE)
		return NAN;
	for (size_t i = 0; i < cap->communications[c->operation].link_count; i++) {
		const struct link *l = &cap->communications[c->operation].links[i];

		if (side_of(l) == SIDE_RDMA)
			us += positive(l->transit_us);
	}
	return us;
}

/* One collective that took so long on all ranks that somebody's packets must have been sent again. */
struct sent_again {
	double worst_us, others_us, least_us;
	const struct collective *by;
};

static bool look(const struct check_context *ctx, const struct collectives *m,
                 const struct collective_set *set, double *scratch, struct sent_again *out, bool *out_judged)
{
	double limit_us = limit(ctx, "retransmission_us");
	size_t n = 0;

	*out = (struct sent_again){.worst_us = -1, .least_us = INFINITY, .by = &m->items[set->first]};
	for (size_t i = 0; i < set->count; i++) {
		const struct collective *c = &m->items[set->first + i];
		double us = rdma_us(ctx, m, c);

		if (isnan(us))
			return false;
		out->least_us = fmin(out->least_us, (double)c->dur_ns / 1000);
		if (us > out->worst_us) {
			out->worst_us = us;
			out->by = c;
		}
		scratch[n++] = us;
	}
	*out_judged = true;
	/* all ranks: one that only started long before the others waits, and nothing was lost */
	if (!(out->least_us >= limit_us) || !(out->worst_us > limit_us))
		return false;
	out->others_us = sb_median(scratch, n);
	if (out->others_us > limit_us)
		out->others_us = 0;
	return true;
}

static void report(struct check_context *ctx, const struct collectives *m, const struct sent_again *s)
{
	const struct collective *c = s->by;
	const struct rank_view *v = findings_member_view(ctx, &m->members[c->member]);
	double lost_us = s->worst_us - s->others_us, us = (double)c->dur_ns / 1000;
	int64_t lost;
	struct finding *f;

	if (!v)
		return;
	lost = exposed_at_most(v, lost_us * 1000);
	f = finding_new(ctx, "communication.retransmission", v, true);
	finding_cost(ctx, f, v, lost);
	finding_gain(f, v, lost);
	if (c->source != COLLECTIVE_OPERATION && lost_us < us)
		finding_relief(ctx, f, v, c->source == COLLECTIVE_EVENT ? RELIEF_EVENT : RELIEF_KERNEL,
		               c->index, 1 - lost_us / us);
	finding_evidence(ctx, f, "rdma_transit_us", s->worst_us, "us", "retransmission_us");
	finding_evidence(ctx, f, "shortest_elapse_us", s->least_us, "us", "retransmission_us");
	finding_evidence(ctx, f, "rdma_transit_of_others_us", s->others_us, "us", NULL);
	if (f)
		f->step = c->step;
	if (c->operation != COLLECTIVE_NONE)
		finding_operator(ctx, f,
		                 trace_text(&v->c->trace, v->c->communications[c->operation].name, NULL),
		                 s->worst_us);
}

void check_retransmission(struct check_context *ctx, bool *out_judged)
{
	const struct collectives *m = ctx->collectives;
	double *scratch;

	scratch = calloc(m->member_count + 1, sizeof(*scratch));
	if (!scratch) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < m->set_count && ctx->failed == SB_OK; i++) {
		struct sent_again s;

		if (m->sets[i].whole && !m->sets[i].pair &&
		    look(ctx, m, &m->sets[i], scratch, &s, out_judged))
			report(ctx, m, &s);
	}
	free(scratch);
}

const char *link_setting(const struct capture *c)
{
	/* what forces the library to one way, or takes one from it (msprof-analyze's rule for HCCL_ALGO) */
	static const char *const names[] = {"HCCL_ALGO",        "NCCL_ALGO",        "NCCL_PROTO",
	                                    "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = capture_environment(c, names[i]);

		if (value && *value && strcmp(value, "0") != 0)
			return names[i];
	}
	return NULL;
}

static void judge_settings(struct check_context *ctx, const struct rank_view *v)
{
	const char *name = link_setting(v->c);
	struct link_sum s = link_sum_of(ctx, v->c, "HCCS");
	double utilization = s.bytes / (s.us / 1e6) / link_guess(v->c, "HCCS");
	struct finding *f;
	char text[160];

	if (!name)
		return;
	f = finding_new(ctx, "communication.configuration", v, true);
	if (utilization < limit(ctx, "link_utilization")) {
		int64_t cost = exposed_at_most(v, s.transit_us * 1000 * (1 - utilization));

		finding_cost(ctx, f, v, cost);
		finding_gain(f, v, cost);
		finding_relief(ctx, f, v, RELIEF_LINK, 0, utilization);
	}
	if (!isnan(utilization))
		finding_evidence(ctx, f, "link_utilization", utilization, "ratio",
		                 utilization < limit(ctx, "link_utilization") ? "link_utilization" : NULL);
	finding_evidence(ctx, f, "variables_set", 1, "variables", NULL);
	(void)snprintf(text, sizeof(text), "%s=%.100s", name, capture_environment(v->c, name));
	finding_operator(ctx, f, text, NAN);
}

void check_configuration(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];

		if (v->c->environment_count == 0)
			continue;
		*out_judged = true;
		judge_settings(ctx, v);
	}
}
