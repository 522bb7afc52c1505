#ifndef SB_PLANNER_CLUSTER_H
#define SB_PLANNER_CLUSTER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The hardware as the planner sees it. Bandwidths are bytes per second, per device, in one direction. */

/* Which measured constants apply (cost/constants.h). */
enum device_family { FAMILY_GENERIC, FAMILY_VOLTA, FAMILY_AMPERE, FAMILY_HOPPER, FAMILY_ASCEND, FAMILIES };

struct device {
	double peak_flops; /* dense 16-bit FLOP per second */
	double memory_bandwidth;
	int64_t memory_bytes;
	enum device_family family;
	bool flash_attention; /* a fused attention kernel exists for it */
};

enum link_scope { LINK_NODE, LINK_SUPERNODE, LINK_CLUSTER, LINK_SCOPES };

struct cluster_link {
	double bytes_per_second; /* 0 = there is no such level */
	double latency_seconds;  /* NaN = use the calibrated default */
	/* 0 = a switch, or links that any group can use all of. Of a full mesh, inside nodes only: how many
	 * links a device has, one to each other device; bytes_per_second is all of them together. */
	int64_t mesh_links;
};

struct cluster {
	int64_t nodes, devices_per_node;
	int64_t supernode_devices; /* 0 = no supernodes */
	struct device device;
	struct cluster_link links[LINK_SCOPES];
	/* The host, for offload; 0 = not known. The link is a device's own, or host_link_devices devices' (of
	 * one switch, or all of a node that has fewer) together when that is above 1. */
	int64_t host_memory_bytes; /* of a node */
	double host_link_bytes_per_second;
	int64_t host_link_devices;
	double host_memory_bandwidth; /* of a node: the host updates what it holds of the optimizer */
	bool host_assumed; /* of a preset: one of the two rates is a share of the nominal one, not measured */
	/* Shares of the peak that are reached, NaN = calibrated default. */
	double compute_efficiency, memory_efficiency, link_efficiency[LINK_SCOPES];
};

/* The share of the node's link that a group with so many ranks in a node has: in a full mesh those of its
 * links that lead to others of the group (cost-model section 7: (n - 1) x 28 GB/s on Ascend 910B), else 1. */
double cluster_link_share(int64_t mesh_links, int64_t ranks);
/* All devices. */
int64_t cluster_devices(const struct cluster *c);
/* SB_EIMPOSSIBLE with the member's name in err->field: sizes out of range, a level that is needed but has no
 * link. */
int cluster_check(const struct cluster *c, struct sb_error *err);
#endif
