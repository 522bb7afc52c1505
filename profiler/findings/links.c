#include "profiler/findings/links.h"

#include <math.h>
#include <string.h>

#include "profiler/chips.h"

/* Sums that differ by less are of one kind. */
#define SAME 0.9

double positive(double v)
{
	return v > 0 ? v : 0;
}

enum side side_of(const struct link *l)
{
	return strcmp(l->name, "RDMA") == 0 ? SIDE_RDMA : SIDE_SDMA;
}

bool link_counts(const struct communication_op *op, const struct link *l)
{
	if (strcmp(l->name, "SDMA") != 0)
		return true;
	for (size_t i = 0; i < op->link_count; i++) {
		const struct link *o = &op->links[i];

		if (o != l && strcmp(o->name, "RDMA") != 0 && (o->bytes > 0 || o->packet_count > 0))
			return false;
	}
	return true;
}

bool link_sent_again(const struct check_context *ctx, const struct link *l)
{
	return side_of(l) == SIDE_RDMA && l->transit_us > limit(ctx, "retransmission_us");
}

double link_large_bytes(const struct check_context *ctx, const struct capture *c, const char *name)
{
	const char *key = strcmp(name, "RDMA") == 0 ? "large_packet_rdma_bytes" : "large_packet_bytes";
	const struct chip_link *l = chip_link(chip_find(c->chip), name);

	/* a threshold that was changed is meant */
	if (l && !isnan(l->large_packet_bytes) &&
	    limit(ctx, key) == threshold_get(&THRESHOLDS_DEFAULT, key)->value)
		return l->large_packet_bytes;
	return limit(ctx, key);
}

/* The link's part of the operator's transmission: links run side by side, and the operator's own time is that
 * of one lane. */
static double transit_of(const struct communication_op *op, const struct link *l)
{
	double all = 0;

	for (size_t i = 0; i < op->link_count; i++)
		if (link_counts(op, &op->links[i]))
			all += positive(op->links[i].transit_us);
	return all > 0 ? positive(op->transit_us) * l->transit_us / all : 0;
}

/* Little is left out of the best: one packet may be measured wrong. */
static double best_of(double best, const struct check_context *ctx, double bytes, double us)
{
	return us > 0 && bytes >= limit(ctx, "link_least_bytes") ? fmax(best, bytes / us) : best;
}

static void add_link(const struct check_context *ctx, struct link_sum *s, const struct communication_op *op,
                     const struct link *l, double large)
{
	if (l->bytes > 0 && l->transit_us > 0) {
		s->bytes += (double)l->bytes;
		s->us += l->transit_us;
		s->transit_us += transit_of(op, l);
		s->best = best_of(s->best, ctx, (double)l->bytes, l->transit_us);
	}
	for (size_t i = 0; i < l->packet_count; i++) {
		const struct packet *p = &l->packets[i];
		double bytes = (double)p->bytes * (double)p->count;

		if (p->count <= 0)
			continue;
		s->packets += (double)p->count;
		s->large += (double)p->bytes > large ? (double)p->count : 0;
		/* packets that are more than what was sent are no measure of anything */
		if (bytes <= (double)l->bytes / SAME)
			s->best = best_of(s->best, ctx, bytes, p->total_us);
	}
}

struct link_sum link_sum_of(const struct check_context *ctx, const struct capture *c, const char *name)
{
	double large = link_large_bytes(ctx, c, name);
	struct link_sum s = {0};

	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		for (size_t k = 0; k < op->link_count; k++)
			if (strcmp(op->links[k].name, name) == 0 && link_counts(op, &op->links[k]) &&
			    !link_sent_again(ctx, &op->links[k]))
				add_link(ctx, &s, op, &op->links[k], large);
	}
	return s;
}

double link_standard(const struct capture *c, const char *name)
{
	return chip_link_rate(chip_find(c->chip), name);
}

double link_guess(const struct capture *c, const char *name)
{
	if (c->chip[0] != '\0')
		return link_standard(c, name);
	for (size_t i = 0; i < c->kernel_count; i++)
		if (strcmp(trace_text(&c->trace, c->kernels[i].core, NULL), "AI_VECTOR_CORE") == 0)
			return chip_link_rate(chip_find("Ascend910B"), name);
	return NAN;
}

bool link_is_well_used(const struct check_context *ctx, const struct rank_view *v, enum side side)
{
	const char *name = side == SIDE_RDMA ? "RDMA" : "HCCS";
	struct link_sum s = link_sum_of(ctx, v->c, name);
	double standard = link_standard(v->c, name);

	return s.us > 0 && s.bytes / (s.us / 1e6) >= limit(ctx, "link_utilization") * standard;
}

bool link_of_same_kind(const struct link_sum *a, const struct link_sum *b)
{
	return a->us > 0 && b->us > 0 && a->bytes >= SAME * b->bytes && b->bytes >= SAME * a->bytes &&
	       a->packets >= SAME * b->packets && b->packets >= SAME * a->packets;
}

bool link_explains_sender(const struct check_context *ctx, const struct rank_view *const *views, size_t n,
                          size_t slow)
{
	static const char *const names[] = {"HCCS", "PCIE", "RDMA"};

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		struct link_sum own = link_sum_of(ctx, views[slow]->c, names[k]);
		double rates = 0, others = 0;

		for (size_t i = 0; i < n && own.bytes >= limit(ctx, "link_least_bytes"); i++) {
			struct link_sum s = {0};

			if (i != slow && views[i])
				s = link_sum_of(ctx, views[i]->c, names[k]);
			if (i == slow || !link_of_same_kind(&own, &s))
				continue;
			rates += s.bytes / s.us;
			others++;
		}
		if (others > 0 && own.bytes / own.us <= (1 - limit(ctx, "link_gap")) * rates / others)
			return true;
	}
	return false;
}
