#include <math.h>
#include <string.h>

#include "profiler/findings/bus.h"
#include "profiler/findings/links.h"

/* Too many packets far below the size at which a link reaches its rate (Hermes 5.4). */

struct side_sum {
	double packets, large, bytes, us, transit_us;
	double packet_us;   /* of all packets */
	double limit_bytes; /* of the largest link's large packet */
	const char *link;   /* the one that moves most */
	double link_bytes;
	struct size_fit fit;
};

static void add_link(const struct check_context *ctx, const struct capture *c,
                     const struct communication_op *op, const struct link *l, struct side_sum *s)
{
	double large = link_large_bytes(ctx, c, l->name), bytes = 0;

	for (size_t i = 0; i < l->packet_count; i++) {
		const struct packet *p = &l->packets[i];

		if (p->count <= 0 || p->bytes <= 0)
			continue;
		s->packets += (double)p->count;
		bytes += (double)p->bytes * (double)p->count;
		s->large += (double)p->bytes > large ? (double)p->count : 0;
		s->packet_us += positive(p->total_us);
		size_fit_add(&s->fit, (double)p->bytes, p->total_us / (double)p->count, (double)p->count);
	}
	s->bytes += bytes;
	s->us += positive(l->transit_us);
	s->transit_us += positive(op->transit_us);
	if (bytes > s->link_bytes) {
		s->link_bytes = bytes;
		s->link = l->name;
		s->limit_bytes = large;
	}
}

/* What transmission would take with everything fused up to the limit, over what it takes; NaN when the
 * packets do not tell. */
static double fused_ratio(const struct rank_view *v, const struct side_sum *s)
{
	struct size_time t = size_fit_line(&s->fit);
	double fused = ceil(s->bytes / s->limit_bytes), now;

	/* of one size alone: what is not the link's rate is latency */
	if (!t.known)
		t = size_fit_at_rate(&s->fit, link_guess(v->c, s->link));
	now = size_time_us(&t, s->packets, s->bytes);
	return now > 0 ? size_time_us(&t, fmin(fused, s->packets), s->bytes) / now : NAN;
}

static void report(struct check_context *ctx, const struct rank_view *v, enum side side,
                   const struct side_sum *s)
{
	struct finding *f = finding_new(ctx, "communication.small_packets", v, true);
	double ratio = fused_ratio(v, s);
	int64_t cost = exposed_at_most(v, s->transit_us * 1000 * (isnan(ratio) ? 1 : 1 - ratio));
	TALLY_AUTO tally = {0};

	finding_cost(ctx, f, v, cost);
	if (!isnan(ratio)) {
		const struct link_factors factors = {NULL, ratio};

		finding_gain(f, v, link_gain(v, &factors, s->transit_us * 1000 * (1 - ratio)));
		if (f && f->gain_method)
			f->gain_method =
			    "packets fused up to the limit, by size and time of the capture's own "
			    "packets";
		link_relieve(ctx, f, v, &factors);
	}
	/* without the link's rate it is not known that the link is slow */
	if (isnan(link_standard(v->c, s->link)) && !size_fit_line(&s->fit).known)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_evidence(ctx, f, "large_packet_share", s->large / s->packets, "share", "large_packet_share");
	finding_evidence(ctx, f, "mean_packet_bytes", s->bytes / s->packets, "bytes",
	                 side == SIDE_RDMA ? "large_packet_rdma_bytes" : "large_packet_bytes");
	finding_evidence(ctx, f, "packets", s->packets, "packets", NULL);
	finding_evidence(ctx, f, "transmission_us", s->transit_us, "us", NULL);
	if (!isnan(ratio))
		finding_evidence(ctx, f, "transmission_if_fused_us", s->transit_us * ratio, "us", NULL);
	if (tally_init(&tally, v->c) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < v->c->communication_count; i++)
		tally_add(&tally, v->c->communications[i].name, positive(v->c->communications[i].transit_us));
	tally_into(&tally, ctx, v->c, f);
}

/* Fusing helps only where communication is waited for: not where compute hides it (the paper's ResNet50 and
 * DLRM). */
static bool is_exposed(const struct check_context *ctx, const struct rank_view *v)
{
	return v->exposed_ns == SB_NULL ||
	       (double)v->exposed_ns > limit(ctx, "exposed_share") * (double)v->total_ns;
}

void check_small_packets(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		const struct capture *c = v->c;
		struct side_sum sums[SIDES] = {{0}};

		for (size_t k = 0; k < c->communication_count; k++) {
			const struct communication_op *op = &c->communications[k];

			for (size_t n = 0; n < op->link_count; n++)
				if (link_counts(op, &op->links[n]) && op->links[n].packet_count > 0)
					add_link(ctx, c, op, &op->links[n], &sums[side_of(&op->links[n])]);
		}
		for (int side = 0; side < SIDES; side++) {
			const struct side_sum *s = &sums[side], *other = &sums[1 - side];

			if (!(s->packets > 0))
				continue;
			*out_judged = true;
			/* a side that takes little of the time does not matter */
			if (s->us < limit(ctx, "link_dominance") * other->us || !is_exposed(ctx, v) ||
			    link_is_well_used(ctx, v, (enum side)side))
				continue;
			if (s->large / s->packets < limit(ctx, "large_packet_share"))
				report(ctx, v, (enum side)side, s);
		}
	}
	if (ctx->failed == SB_OK)
		check_small_collectives(ctx, out_judged);
}
