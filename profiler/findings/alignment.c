#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/links.h"

/* HCCS packets whose size is no multiple of 512 bytes (Hermes 5.4). */

struct misaligned {
	double us, packets; /* of packets whose size is no multiple of the alignment */
	double lost_us;     /* of them, above what aligned packets of the same link would take */
	double all_us;      /* of all packets of the same links */
	double *factors;    /* by operator: its transmission without what is lost, over what it takes */
};

static bool is_aligned(const struct packet *p, int64_t alignment)
{
	return p->bytes <= alignment || p->bytes % alignment == 0;
}

static bool is_judged(const struct communication_op *op, const struct link *l)
{
	return link_counts(op, l) && side_of(l) == SIDE_SDMA && strcmp(l->name, "PCIE") != 0;
}

/* The relation of size and time of the aligned packets. Those of one size tell only of packets that are about
 * as large. */
static struct size_time aligned_line(const struct capture *c, int64_t alignment)
{
	struct size_fit aligned = {0}, odd = {0};
	struct size_time t;

	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		for (size_t n = 0; n < op->link_count; n++) {
			const struct link *l = &op->links[n];

			for (size_t k = 0; k < l->packet_count && is_judged(op, l); k++) {
				const struct packet *p = &l->packets[k];

				if (p->count > 0)
					size_fit_add(is_aligned(p, alignment) ? &aligned : &odd,
					             (double)p->bytes, p->total_us / (double)p->count,
					             (double)p->count);
			}
		}
	}
	t = size_fit_line(&aligned);
	if (!t.known && aligned.n > 0 && odd.most <= 2 * aligned.least && odd.least >= aligned.most / 2)
		t = (struct size_time){0, aligned.y / aligned.x, true};
	return t;
}

static void add_operator(const struct communication_op *op, int64_t alignment,
                         const struct size_time *aligned, struct misaligned *m)
{
	for (size_t i = 0; i < op->link_count; i++) {
		const struct link *l = &op->links[i];

		for (size_t k = 0; k < l->packet_count && is_judged(op, l); k++) {
			const struct packet *p = &l->packets[k];
			double us = positive(p->total_us), count = (double)p->count;

			if (p->count <= 0)
				continue;
			m->all_us += us;
			if (is_aligned(p, alignment))
				continue;
			m->us += us;
			m->packets += count;
			m->lost_us += positive(us - size_time_us(aligned, count, (double)p->bytes * count));
		}
	}
}

static void report(struct check_context *ctx, const struct rank_view *v, const struct misaligned *all,
                   const double *cost_us, bool estimated, struct tally *tally)
{
	struct finding *f = finding_new(ctx, "communication.alignment", v, false);
	const struct link_factors factors = {all->factors, 1 - all->lost_us / all->all_us};

	finding_cost(ctx, f, v, exposed_at_most(v, cost_us[0] * 1000));
	if (estimated) {
		finding_gain(f, v, link_gain(v, &factors, cost_us[1] * 1000));
		if (f && f->gain_method)
			f->gain_method = "misaligned packets as fast as the aligned ones of the capture";
		if (all->all_us > 0)
			link_relieve(ctx, f, v, &factors);
	} else if (v->c->chip[0] == '\0') {
		finding_at_most(f, CONFIDENCE_MEDIUM);
	}
	finding_evidence(ctx, f, "misaligned_us", all->us, "us", NULL);
	finding_evidence(ctx, f, "misaligned_packets", all->packets, "packets", NULL);
	finding_evidence(ctx, f, "alignment", limit(ctx, "alignment_bytes"), "bytes", NULL);
	if (all->all_us > 0)
		finding_evidence(ctx, f, "misaligned_share_of_transmission", all->us / all->all_us, "share",
		                 NULL);
	if (estimated)
		finding_evidence(ctx, f, "lost_us", all->lost_us, "us", NULL);
	tally_into(tally, ctx, v->c, f);
}

static void judge(struct check_context *ctx, const struct rank_view *v)
{
	int64_t alignment = (int64_t)limit(ctx, "alignment_bytes");
	struct size_time aligned;
	struct misaligned all = {0};
	double cost_us[2] = {0}; /* with all that they take; with what they take too long */
	TALLY_AUTO tally = {0};

	if (alignment <= 0)
		return;
	all.factors = calloc(v->c->communication_count + 1, sizeof(*all.factors));
	if (!all.factors || tally_init(&tally, v->c) != SB_OK) {
		free(all.factors);
		ctx->failed = SB_ENOMEM;
		return;
	}
	aligned = aligned_line(v->c, alignment);
	for (size_t i = 0; i < v->c->communication_count; i++) {
		const struct communication_op *op = &v->c->communications[i];
		struct misaligned one = {0};

		add_operator(op, alignment, &aligned, &one);
		tally_add(&tally, op->name, one.us);
		all.us += one.us;
		all.packets += one.packets;
		all.all_us += one.all_us;
		all.lost_us += one.lost_us;
		all.factors[i] = one.us > 0 && one.all_us > 0 ? 1 - one.lost_us / one.all_us : 1;
		/* packets of several lanes run side by side: of the operator's transmission the same share */
		if (one.us > 0) {
			cost_us[0] += positive(op->transit_us) * one.us / one.all_us;
			cost_us[1] += positive(op->transit_us) * one.lost_us / one.all_us;
		}
	}
	if (all.packets > 0)
		report(ctx, v, &all, cost_us, aligned.known, &tally);
	free(all.factors);
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
		judge(ctx, v);
	}
}
