#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/findings.h"
#include "profiler/findings/links.h"

/* Two sides that are judged apart: everything that SDMA moves, and RDMA. */
enum side { SIDE_SDMA, SIDE_RDMA, SIDES };

struct side_sum {
	double packets, large, bytes, us, transit_us;
};

static enum side side_of(const struct link *l)
{
	return strcmp(l->name, "RDMA") == 0 ? SIDE_RDMA : SIDE_SDMA;
}

static double positive(double v)
{
	return v > 0 ? v : 0;
}

static void add_link(const struct check_context *ctx, const struct communication_op *op, const struct link *l,
                     struct side_sum *sums)
{
	enum side side = side_of(l);
	struct side_sum *s = &sums[side];
	double large = limit(ctx, side == SIDE_RDMA ? "large_packet_rdma_bytes" : "large_packet_bytes");

	if (!link_counts(op, l) || l->packet_count == 0)
		return;
	for (size_t i = 0; i < l->packet_count; i++) {
		const struct packet *p = &l->packets[i];

		if (p->count <= 0 || p->bytes <= 0)
			continue;
		s->packets += (double)p->count;
		s->bytes += (double)p->bytes * (double)p->count;
		s->large += (double)p->bytes > large ? (double)p->count : 0;
	}
	s->us += positive(l->transit_us);
	s->transit_us += positive(op->transit_us);
}

static void report_packets(struct check_context *ctx, const struct rank_view *v, enum side side,
                           const struct side_sum *s)
{
	struct finding *f = finding_new(ctx, "communication.small_packets", v, true);
	TALLY_AUTO tally = {0};

	/* the operators' transmission: what larger packets could shorten, though not by how much */
	finding_cost(ctx, f, v, exposed_at_most(v, s->transit_us * 1000));
	finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_evidence(ctx, f, "large_packet_share", s->large / s->packets, "share", "large_packet_share");
	finding_evidence(ctx, f, "mean_packet_bytes", s->bytes / s->packets, "bytes",
	                 side == SIDE_RDMA ? "large_packet_rdma_bytes" : "large_packet_bytes");
	finding_evidence(ctx, f, "packets", s->packets, "packets", NULL);
	finding_evidence(ctx, f, "transmission_us", s->transit_us, "us", NULL);
	if (tally_init(&tally, v->c) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < v->c->communication_count; i++)
		tally_add(&tally, v->c->communications[i].name, positive(v->c->communications[i].transit_us));
	tally_into(&tally, ctx, v->c, f);
}

void check_small_packets(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		struct side_sum sums[SIDES] = {{0}};

		for (size_t k = 0; k < v->c->communication_count; k++)
			for (size_t n = 0; n < v->c->communications[k].link_count; n++)
				add_link(ctx, &v->c->communications[k], &v->c->communications[k].links[n],
				         sums);
		for (int side = 0; side < SIDES; side++) {
			const struct side_sum *s = &sums[side], *other = &sums[1 - side];

			if (!(s->packets > 0))
				continue;
			*out_judged = true;
			/* a side that takes little of the time does not matter */
			if (s->us < limit(ctx, "link_dominance") * other->us ||
			    link_is_well_used(ctx, v, side == SIDE_RDMA))
				continue;
			if (s->large / s->packets < limit(ctx, "large_packet_share"))
				report_packets(ctx, v, (enum side)side, s);
		}
	}
}

struct misaligned {
	double us, packets; /* of packets whose size is no multiple of the alignment */
	double all_us;      /* of all packets of the same links */
};

static void add_misaligned(const struct check_context *ctx, const struct communication_op *op,
                           struct misaligned *m)
{
	int64_t alignment = (int64_t)limit(ctx, "alignment_bytes");

	for (size_t i = 0; i < op->link_count && alignment > 0; i++) {
		const struct link *l = &op->links[i];

		if (!link_counts(op, l) || side_of(l) == SIDE_RDMA || strcmp(l->name, "PCIE") == 0)
			continue;
		for (size_t k = 0; k < l->packet_count; k++) {
			const struct packet *p = &l->packets[k];

			if (p->count <= 0)
				continue;
			m->all_us += positive(p->total_us);
			if (p->bytes <= alignment || p->bytes % alignment == 0)
				continue;
			m->us += positive(p->total_us);
			m->packets += (double)p->count;
		}
	}
}

static void judge_alignment(struct check_context *ctx, const struct rank_view *v)
{
	struct misaligned all = {0};
	double cost_us = 0;
	struct finding *f;
	TALLY_AUTO tally = {0};

	if (tally_init(&tally, v->c) != SB_OK) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < v->c->communication_count; i++) {
		const struct communication_op *op = &v->c->communications[i];
		struct misaligned one = {0};

		add_misaligned(ctx, op, &one);
		tally_add(&tally, op->name, one.us);
		all.us += one.us;
		all.packets += one.packets;
		all.all_us += one.all_us;
		/* packets of several lanes run side by side: of the operator's transmission the same share */
		if (one.us > 0)
			cost_us += positive(op->transit_us) * one.us / one.all_us;
	}
	if (all.packets == 0)
		return;
	f = finding_new(ctx, "communication.alignment", v, false);
	finding_cost(ctx, f, v, exposed_at_most(v, cost_us * 1000));
	if (v->c->chip[0] == '\0')
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_evidence(ctx, f, "misaligned_us", all.us, "us", NULL);
	finding_evidence(ctx, f, "misaligned_packets", all.packets, "packets", NULL);
	finding_evidence(ctx, f, "alignment", limit(ctx, "alignment_bytes"), "bytes", "alignment_bytes");
	if (all.all_us > 0)
		finding_evidence(ctx, f, "misaligned_share_of_transmission", all.us / all.all_us, "share",
		                 NULL);
	tally_into(&tally, ctx, v->c, f);
}

void check_alignment(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];
		bool sizes = false;

		for (size_t k = 0; k < v->c->communication_count && !sizes; k++)
			for (size_t n = 0; n < v->c->communications[k].link_count; n++)
				sizes = sizes || v->c->communications[k].links[n].packet_count > 0;
		if (!sizes)
			continue;
		*out_judged = true;
		judge_alignment(ctx, v);
	}
}

/* Ranks whose exposed communication other checks account for. */
struct explained {
	int64_t *ranks; /* rising */
	size_t count;
	bool all;
};

static void explained_free(struct explained *x)
{
	free(x->ranks);
}

static int by_value(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

/* Sorted, because there may be as many findings as there are ranks. */
static int explained_find(const struct check_context *ctx, struct explained *out)
{
	out->ranks = malloc((ctx->count + 1) * sizeof(*out->ranks));
	if (!out->ranks)
		return SB_ENOMEM;
	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *f = &ctx->items[i];

		if (f->severity == SEVERITY_INFO)
			continue;
		/* whoever waits for a slow rank is explained by that rank's finding */
		if (strcmp(f->code, "communication.slow_rank") == 0)
			out->all = true;
		else if (strncmp(f->code, "communication.", 14) == 0 || strncmp(f->code, "parallel.", 9) == 0)
			out->ranks[out->count++] = f->rank;
	}
	qsort(out->ranks, out->count, sizeof(*out->ranks), by_value);
	return SB_OK;
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
		struct finding *f;
		double share;

		if (v->exposed_ns == SB_NULL)
			continue;
		*out_judged = true;
		share = (double)v->exposed_ns / (double)v->total_ns;
		if (x.all || !(share > limit(ctx, "unexplained_share")) ||
		    bsearch(&v->rank, x.ranks, x.count, sizeof(*x.ranks), by_value))
			continue;
		f = finding_new(ctx, "unexplained", v, true);
		finding_cost(ctx, f, v, v->exposed_ns);
		finding_at_most(f, CONFIDENCE_LOW);
		finding_evidence(ctx, f, "exposed_share", share, "share", "unexplained_share");
		finding_evidence(ctx, f, "exposed_us", (double)v->exposed_ns / 1000, "us", NULL);
	}
}
