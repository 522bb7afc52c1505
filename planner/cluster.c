#include "planner/cluster.h"

#include <math.h>
#include <stddef.h>

int64_t cluster_devices(const struct cluster *c)
{
	return c->nodes * c->devices_per_node;
}

double cluster_link_share(int64_t mesh_links, int64_t ranks)
{
	return mesh_links > 0 && ranks - 1 < mesh_links ? (double)(ranks - 1) / (double)mesh_links : 1;
}

static int bad(struct sb_error *err, const char *field, const char *text)
{
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field, "%s", text);
}

static bool inside(double v, double low, double high)
{
	return isfinite(v) && v >= low && v <= high;
}

static int check_device(const struct device *d, struct sb_error *err)
{
	if (!inside(d->peak_flops, 1e9, 1e19))
		return bad(err, "device/peak_flops", "must lie between 1e9 and 1e19");
	if (!inside(d->memory_bandwidth, 1e6, 1e17))
		return bad(err, "device/memory_bandwidth", "must lie between 1e6 and 1e17");
	if (d->memory_bytes < 1 || d->memory_bytes > (int64_t)1 << 50)
		return bad(err, "device/memory_bytes", "must lie between 1 and 2^50");
	return SB_OK;
}

static int check_link(const struct cluster_link *l, struct sb_error *err)
{
	if (l->bytes_per_second != 0 && !inside(l->bytes_per_second, 1e3, 1e16))
		return bad(err, "links", "bytes_per_second must lie between 1e3 and 1e16");
	if (!isnan(l->latency_seconds) && !inside(l->latency_seconds, 0, 10))
		return bad(err, "links", "latency_seconds must lie between 0 and 10");
	return SB_OK;
}

static int check_shares(const struct cluster *c, struct sb_error *err)
{
	const double shares[] = {c->compute_efficiency, c->memory_efficiency, c->link_efficiency[LINK_NODE],
	                         c->link_efficiency[LINK_SUPERNODE], c->link_efficiency[LINK_CLUSTER]};

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if (!isnan(shares[i]) && !inside(shares[i], 0.001, 1))
			return bad(err, "efficiency", "a share must lie between 0.001 and 1");
	}
	return SB_OK;
}

static int check_host(const struct cluster *c, struct sb_error *err)
{
	if (c->host_memory_bytes < 0 || c->host_memory_bytes > (int64_t)1 << 50)
		return bad(err, "host_memory_bytes", "must lie between 1 and 2^50");
	if (c->host_link_bytes_per_second != 0 && !inside(c->host_link_bytes_per_second, 1e3, 1e16))
		return bad(err, "host_link_bytes_per_second", "must lie between 1e3 and 1e16");
	if (c->host_memory_bandwidth != 0 && !inside(c->host_memory_bandwidth, 1e6, 1e17))
		return bad(err, "host_memory_bandwidth", "must lie between 1e6 and 1e17");
	if (c->host_link_devices < 0 || c->host_link_devices > 1024)
		return bad(err, "host_link_devices", "must lie between 1 and 1024");
	return SB_OK;
}

int cluster_check(const struct cluster *c, struct sb_error *err)
{
	int rc;

	if (c->nodes < 1 || c->nodes > 1 << 17)
		return bad(err, "nodes", "must lie between 1 and 131072");
	if (c->devices_per_node < 1 || c->devices_per_node > 1024)
		return bad(err, "devices_per_node", "must lie between 1 and 1024");
	rc = check_device(&c->device, err);
	for (int i = 0; rc == SB_OK && i < LINK_SCOPES; i++)
		rc = check_link(&c->links[i], err);
	if (rc == SB_OK)
		rc = check_shares(c, err);
	if (rc == SB_OK)
		rc = check_host(c, err);
	if (rc != SB_OK)
		return rc;
	if (c->supernode_devices != 0 &&
	    (c->supernode_devices < c->devices_per_node || c->supernode_devices % c->devices_per_node != 0))
		return bad(err, "links", "a supernode must hold a whole number of nodes");
	if (c->supernode_devices != 0 && c->links[LINK_SUPERNODE].bytes_per_second == 0)
		return bad(err, "links", "the supernode link has no bandwidth");
	if (c->devices_per_node > 1 && c->links[LINK_NODE].bytes_per_second == 0)
		return bad(err, "links", "devices of one node need a link of scope node");
	if (c->links[LINK_SUPERNODE].mesh_links != 0 || c->links[LINK_CLUSTER].mesh_links != 0)
		return bad(err, "links", "mesh_links is of the scope node alone");
	if (c->links[LINK_NODE].mesh_links != 0 && c->links[LINK_NODE].mesh_links < c->devices_per_node - 1)
		return bad(err, "links", "a full mesh has a link from each device of a node to each other");
	if (c->nodes > 1 && c->links[LINK_CLUSTER].bytes_per_second == 0 &&
	    (c->supernode_devices == 0 || cluster_devices(c) > c->supernode_devices))
		return bad(err, "links", "several nodes need a link of scope cluster");
	return SB_OK;
}
