#ifndef SB_PLANNER_COST_COLLECTIVES_H
#define SB_PLANNER_COST_COLLECTIVES_H
#include <stdbool.h>
#include <stdint.h>

#include "planner/cluster.h"
#include "planner/cost/constants.h"

struct known_spreads;
/* The network as levels, innermost first: within a node, within a supernode, between them. Levels that
 * are equally fast are one level. */
struct network {
	int levels;
	int64_t domain[LINK_SCOPES]; /* devices of one domain; the last level holds everything */
	double bandwidth[LINK_SCOPES], latency[LINK_SCOPES]; /* reached, not nominal */
	double conflict, start; /* constants adapter_conflict and collective_seconds */
	int64_t node_devices;   /* of a node; the domains inside the last level are whole nodes */
	double copy;            /* seconds a byte to read and write the device's memory; 0 = at no cost */
	int64_t mesh_links;     /* of the first level: cluster_link's */
	bool bounds;            /* groups lie as close as any may: what they take is a lower bound */
	struct known_spreads *known; /* borrowed, of one thread; NULL: none are kept */
};
/* The levels that a cluster's links make up: bytes per second and rank times the share that software reaches,
 * seconds a hop. Links of rate 0 are left out; with none left there is one level that sends for nothing. */
struct network network_of(const struct cluster *c, const struct constants *k);
/* Devices in a domain of level l that are used where so many of each node are, 0: all. */
int64_t network_domain(const struct network *n, int l, int64_t node_devices);
/* Whether no way from one device to another is faster than 1/times of one further in: ranks are then best
 * close together; for all-to-all, which uses all ways at once, where it is half as fast. */
bool network_inner_faster(const struct network *n, double times);

/* How the ranks of one group lie over the levels: inside[l] of its ranks share one domain of level l (the
 * worst domain of the worst group). inside[levels - 1] = ranks. */
struct group {
	int64_t ranks;
	int64_t inside[LINK_SCOPES];
	int64_t node_devices; /* that are used of each node, 0: all */
	int64_t examined;     /* ranks gone through to find that out: 0 where a closed form holds */
};

struct spread {
	int64_t domains, least, most; /* domains touched; ranks in the emptiest and in the fullest of them */
	int64_t examined;             /* places and ranks gone through: 0 where a closed form holds */
};
/* Spreads that were gone through before, by all that they depend on: a table in which a new one takes the
 * place of another of the same hash. All zero at first. */
#define KNOWN_SPREADS_BITS 13
struct spread_key {
	int64_t of[6];
};
struct known_spreads {
	struct known_spread {
		struct spread_key key;
		struct spread spread;
	} at[1 << KNOWN_SPREADS_BITS];
};
/* One dimension of a group: size ranks, stride apart. */
struct axis {
	int64_t size, stride;
};
/* The worst spread (most domains, then fewest ranks in one) of all groups over the given axes (strides
 * ascending, each stride a multiple of the one before times its size) in `devices` ranks with `domain` ranks
 * a domain. At most two axes may lie apart. Exact: where no closed form holds, every place of a domain where
 * a group may begin is looked at, and of what repeats two periods. cost-model section 1. known: what was gone
 * through before, NULL: nothing is kept. */
struct spread group_spread(const struct axis *axes, int count, int64_t devices, int64_t domain,
                           struct known_spreads *known);
/* The ranks of a run, that lie one after the other on so many devices of each node (0: on all). */
struct ranks_used {
	int64_t devices, node_devices;
};
/* The group over those axes on a network. Axes of size 1 may be left in. */
struct group group_on(const struct network *n, const struct axis *axes, int count, struct ranks_used used);

/* Seconds. `bytes` is the full tensor: before reducing, after gathering; for all-to-all what one rank sends
 * in all, its own part included. 0 for a group of one rank, and for no bytes. cost-model section 7: the least
 * of flat ring, hierarchical and (all-reduce) double tree; across domains B_eff = min(B_inner, ranks inside x
 * B_outer). In a full mesh B_inner is the links that lead to the group's own ranks, and a send has one of
 * them. */
double all_reduce_seconds(const struct network *n, const struct group *g, double bytes);
double all_gather_seconds(const struct network *n, const struct group *g,
                          double bytes); /* = reduce-scatter */
/* What these two depend on beside the bytes, for many exchanges of one group. */
struct exchange {
	double ranks, start;
	double latency, share, bandwidth; /* of the flat ring */
	double tree;                      /* latencies of the double tree */
	int levels;                       /* that the group spans */
	struct level_exchange {
		double latency, share, bandwidth;
	} level[LINK_SCOPES];
};
struct exchange exchange_of(const struct network *n, const struct group *g);
double exchange_all_reduce(const struct exchange *x, double bytes);
double exchange_all_gather(const struct exchange *x, double bytes);
double all_to_all_seconds(const struct network *n, const struct group *g, double bytes);
/* Where the experts of a token lie: top_k of them, in at most `top` of `groups` equal groups that lie one
 * after the other over the ranks. top = groups: anywhere. */
struct routing {
	int64_t top_k, groups, top;
};
/* All-to-all of tokens to their experts, or back: `bytes` is what one rank sends in all, each token as often
 * as it has experts. Where the groups bound the domains that a token goes to, it goes once to each, on to
 * its experts inside, while others are between (cost-model section 7; DeepSeek-V3, section 3.2.2); where that
 * saves nothing, each copy goes by itself. */
double dispatch_seconds(const struct network *n, const struct group *g, const struct routing *r,
                        double bytes);
/* One neighbour to the next, over the slowest link that the group's chain uses. */
double send_seconds(const struct network *n, const struct group *g, double bytes);
/* Bandwidth of one flat ring through the group, bytes per second and rank. r ranks in one domain drive r
 * adapters (cost-model section 7) when they are all of it: their rings use each adapter both ways. With
 * others beside them a ring comes in by one adapter and leaves by another: r (1 - conflict), and never less
 * than 1. Fewer than eight ranks on switched links reach less of it: nccl-tests on 2, 3, 4 and 8 A100
 * reach 197, 212, 221 and 229 GB/s (vTrain's tables; Galvatron's show the same), as if the tensor were read
 * and written once more.
 */
double ring_bandwidth(const struct network *n, const struct group *g);
#endif
