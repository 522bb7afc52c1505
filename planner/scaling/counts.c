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

static int search_one(const struct search_request *r, int64_t effort, struct search_result *x,
                      struct scaling_found *out, struct sb_error *err)
{
	struct search_request one = *r;
	struct sb_error why = {0};
	int rc = scaling_part(&r->problem.cluster, out->devices, &one.problem.cluster);

	if (rc != SB_OK)
		return sb_fail_field(err, rc, "out_of_range", "devices",
		                     "must be parts of one node, or whole nodes of the cluster");
	one.problem.network = network_of(&one.problem.cluster, &one.problem.constants);
	one.effort = effort;
	one.alternatives = 0;
	out->rc = strategy_search(&one, x, &why);
	if (out->rc == SB_ENOMEM)
		return sb_no_memory(err);
	out->gave_up = strcmp(why.word, "search_too_large") == 0;
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
	int64_t left = SCALING_EFFORT;
	struct search_result *x = malloc(sizeof(*x));
	int rc = SB_OK;

	if (!x)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		int64_t share = left / (int64_t)(count - i);

		out[i] = (struct scaling_found){.devices = devices[i]};
		/* a walk ends some steps beyond its effort */
		share = share < 1 ? 1 : share < SEARCH_EFFORT ? share : SEARCH_EFFORT;
		rc = search_one(r, share, x, &out[i], err);
		left -= x->effort;
	}
	free(x);
	return rc;
}
