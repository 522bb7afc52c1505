#include <math.h>
#include <string.h>

#include "profiler/chips.h"
#include "profiler/findings/links.h"

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

/* Bytes and time of one link over all operators of a capture. */
static void sum_link(const struct capture *c, const char *name, double *bytes, double *us)
{
	*bytes = *us = 0;
	for (size_t i = 0; i < c->communication_count; i++) {
		for (size_t k = 0; k < c->communications[i].link_count; k++) {
			const struct link *l = &c->communications[i].links[k];

			if (strcmp(l->name, name) != 0 || l->bytes <= 0 || !(l->transit_us > 0))
				continue;
			*bytes += (double)l->bytes;
			*us += l->transit_us;
		}
	}
}

/* Achieved over standard rate; NaN when it cannot be told. */
static double utilization(const struct capture *c, const char *link)
{
	double bytes, us;

	sum_link(c, link, &bytes, &us);
	return us > 0 ? bytes / (us / 1e6) / chip_link_rate(chip_find(c->chip), link) : NAN;
}

bool link_is_well_used(const struct check_context *ctx, const struct rank_view *v, bool rdma)
{
	double u = utilization(v->c, rdma ? "RDMA" : "HCCS");

	return !isnan(u) && u >= limit(ctx, "link_utilization");
}

/* Share of a link's packets that are large; NaN = not known. */
static double large_share(const struct check_context *ctx, const struct capture *c, const char *link)
{
	double all = 0, large = 0;
	double size =
	    limit(ctx, strcmp(link, "RDMA") == 0 ? "large_packet_rdma_bytes" : "large_packet_bytes");

	for (size_t i = 0; i < c->communication_count; i++) {
		for (size_t k = 0; k < c->communications[i].link_count; k++) {
			const struct link *l = &c->communications[i].links[k];

			for (size_t n = 0; n < l->packet_count && strcmp(l->name, link) == 0; n++) {
				all += (double)l->packets[n].count;
				large += (double)l->packets[n].bytes > size ? (double)l->packets[n].count : 0;
			}
		}
	}
	return all > 0 ? large / all : NAN;
}

/* A link below its standard although its packets are large (msprof's slow-link rule). */
void check_slow_link(struct check_context *ctx, bool *out_judged)
{
	static const char *const links[] = {"HCCS", "PCIE", "RDMA"};

	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];

		for (size_t k = 0; k < sizeof(links) / sizeof(links[0]); k++) {
			double u = utilization(v->c, links[k]), large = large_share(ctx, v->c, links[k]);
			double bytes, us;
			struct finding *f;

			if (isnan(u))
				continue;
			*out_judged = true;
			if (u >= limit(ctx, "link_utilization") ||
			    !(large >= limit(ctx, "large_packet_share")))
				continue;
			sum_link(v->c, links[k], &bytes, &us);
			f = finding_new(ctx, "communication.slow_link", v, true);
			/* a link's time is summed over lanes that run side by side: an upper bound */
			finding_cost(ctx, f, v, exposed_at_most(v, us * 1000 * (1 - u)));
			finding_at_most(f, CONFIDENCE_MEDIUM);
			finding_evidence(ctx, f, "link_utilization", u, "ratio", "link_utilization");
			finding_evidence(ctx, f, "large_packet_share", large, "share", "large_packet_share");
			finding_evidence(ctx, f, "bandwidth", bytes / (us / 1e6), "bytes_per_second", NULL);
			finding_operator(ctx, f, links[k], us);
		}
	}
}
