#include "planner/scaling/counts.h"

#include <stdlib.h>
#include <string.h>

size_t scaling_counts(const struct cluster *c, int64_t *out)
{
	size_t n = 0;

	for (int64_t d = 1; d < c->devices_per_node; d *= 2)
		out[n++] = d;
	for (int64_t nodes = 1; nodes < c->nodes; nodes *= 2)
		out[n++] = nodes * c->devices_per_node;
	out[n++] = cluster_devices(c);
	return n;
}

int scaling_part(const struct cluster *c, int64_t devices, struct cluster *out)
{
	struct cluster part = *c;

	if (devices < 1 || devices > cluster_devices(c) ||
	    (devices > c->devices_per_node && devices % c->devices_per_node != 0))
		return SB_EIMPOSSIBLE;
	if (devices < c->devices_per_node)
		part.devices_per_node = devices;
	part.nodes = devices / part.devices_per_node;
	if (part.nodes == 1) /* a part of a node need not divide a supernode, and knows none */
		part.supernode_devices = 0;
	*out = part;
	return SB_OK;
}

static int point_request(const struct search_request *r, const struct search_point *at,
                         struct search_request *out, struct sb_error *err)
{
	int rc = SB_OK;

	*out = *r;
	if (at->devices > 0)
		rc = scaling_part(&r->problem.cluster, at->devices, &out->problem.cluster);
	if (rc != SB_OK)
		return sb_fail_field(err, rc, "out_of_range", "devices",
		                     "must be parts of one node, or whole nodes of the cluster");
	if (at->sequences > 0)
		out->problem.sequences = at->sequences;
	out->problem.network = network_of(&out->problem.cluster, &out->problem.constants);
	return SB_OK;
}

/* A request and its result are too large for a stack. */
struct workspace {
	struct search_request request;
	struct search_result result;
};

static int search_one(struct workspace *w, struct point_result *out, struct sb_error *err)
{
	struct sb_error why = {0};

	out->rc = strategy_search(&w->request, &w->result, &why);
	out->gave_up = strcmp(why.word, "search_too_large") == 0;
	if (out->rc == SB_ENOMEM || out->rc == SB_ECANCELED) {
		if (err)
			*err = why;
		return out->rc;
	}
	return SB_OK;
}

int search_points(const struct search_request *r, const struct search_point *points, size_t count,
                  point_visit *visit, void *self, struct sb_error *err)
{
	int64_t left = POINTS_EFFORT;
	struct workspace *w = malloc(sizeof(*w));
	int rc = w ? SB_OK : sb_no_memory(err);

	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		struct point_result found = {SB_EIMPOSSIBLE, true, &w->request, &w->result};
		int64_t share;

		rc = point_request(r, &points[i], &w->request, err);
		if (rc != SB_OK)
			break;
		share = left / (int64_t)(count - i);
		w->request.effort = share < 1 ? 1 : share;
		memset(&w->result, 0, sizeof(w->result));
		if (i == 0 || left > 0)
			rc = search_one(w, &found, err);
		if (rc == SB_OK)
			rc = visit(self, i, &found);
		if (rc == SB_ENOMEM)
			sb_no_memory(err);
		left -= w->result.effort;
		sb_progress(r->watch, (double)(i + 1) / (double)count);
	}
	free(w);
	return rc;
}

static int keep_found(void *self, size_t index, const struct point_result *found)
{
	struct scaling_found *out = self;
	const struct search_result *x = found->result;

	out += index;
	out->rc = found->rc;
	out->gave_up = found->gave_up;
	out->best = x->best;
	out->optimal = x->optimal;
	out->lower_bound = x->lower_bound;
	out->candidates = x->candidates;
	out->least_memory = x->least_memory;
	return SB_OK;
}

int scaling_search(const struct search_request *r, const int64_t *devices, size_t count,
                   struct scaling_found *out, struct sb_error *err)
{
	struct search_point points[SCALING_COUNTS_MAX] = {{0}};
	struct search_request lean = *r;

	for (size_t i = 0; i < count; i++) {
		points[i].devices = devices[i];
		out[i].devices = devices[i];
	}
	lean.alternatives = 0;
	return search_points(&lean, points, count, keep_found, out, err);
}
