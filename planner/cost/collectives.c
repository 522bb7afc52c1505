#include "planner/cost/collectives.h"

#include <math.h>

#define MEASURED_RANKS 8 /* of a ring, on which the links' rates are known: nodes of eight */

static void add_level(struct network *n, int64_t domain, double bandwidth, double latency)
{
	int l = n->levels;

	/* Equal neighbours are one level: a flat network must not care about the order of ranks. */
	if (l > 0 && n->mesh_links == 0 && n->bandwidth[l - 1] == bandwidth && n->latency[l - 1] == latency) {
		n->domain[l - 1] = domain;
		return;
	}
	n->domain[l] = domain;
	n->bandwidth[l] = bandwidth;
	n->latency[l] = latency;
	n->levels++;
}

struct network network_of(const struct cluster *c, const struct constants *k)
{
	const double shares[] = {k->node_share, k->supernode_share, k->network_share};
	const double latencies[] = {k->node_latency, k->network_latency, k->network_latency};
	const int64_t domains[] = {c->devices_per_node, c->supernode_devices, INT64_MAX};
	const double memory = c->device.memory_bandwidth * k->memory_share;
	struct network n = {.conflict = k->adapter_conflict,
	                    .start = k->collective_seconds,
	                    .node_devices = c->devices_per_node,
	                    .copy = memory > 0 ? 2 / memory : 0};

	for (int l = 0; l < LINK_SCOPES; l++) {
		double latency = c->links[l].latency_seconds;

		if (c->links[l].bytes_per_second <= 0 || domains[l] <= 0)
			continue;
		if (l == LINK_NODE)
			n.mesh_links = c->links[l].mesh_links;
		add_level(&n, domains[l], c->links[l].bytes_per_second * shares[l],
		          isnan(latency) ? latencies[l] : latency);
	}
	if (n.levels == 0) /* a single device: nothing is ever sent */
		add_level(&n, INT64_MAX, 1, 0);
	n.domain[n.levels - 1] = INT64_MAX;
	return n;
}

int64_t network_domain(const struct network *n, int l, int64_t node_devices)
{
	int64_t all = n->domain[l];

	return node_devices == 0 || all == INT64_MAX ? all : all / n->node_devices * node_devices;
}

/* What one rank of a group with so many in its domain sends with on level l. */
static double bandwidth_of(const struct network *n, int l, int64_t ranks)
{
	return n->bandwidth[l] * (l == 0 ? cluster_link_share(n->mesh_links, ranks) : 1);
}

/* The same for a ring: its ranks also pass the tensor once through their memories, which weighs the more the
 * fewer they are: 2 (r - 1) / r of it go over each link. What is known of the links is what MEASURED_RANKS
 * reach, whatever a node has: one more device in each must not slow down what the others do. In a full mesh
 * the links that lead elsewhere weigh more. */
static double ring_bandwidth_of(const struct network *n, int l, int64_t ranks)
{
	double b = bandwidth_of(n, l, ranks), r = (double)ranks, all = MEASURED_RANKS;

	if ((l == 0 && n->mesh_links > 0) || ranks < 2 || ranks >= MEASURED_RANKS)
		return b;
	return 1 / (1 / b + n->copy / 2 * (r / (r - 1) - all / (all - 1)));
}

bool network_inner_faster(const struct network *n, double times)
{
	for (int l = 1; l < n->levels; l++) {
		if (times * bandwidth_of(n, l, 2) > bandwidth_of(n, l - 1, 2))
			return false;
	}
	return true;
}

struct group group_on(const struct network *n, const struct axis *axes, int count, struct ranks_used used)
{
	struct group g = {.ranks = 1, .node_devices = used.node_devices};

	for (int i = 0; i < count; i++)
		g.ranks *= axes[i].size;
	for (int l = 0; l < n->levels; l++) {
		struct spread s = {1, 1, 1, 0};
		int64_t least;

		if (g.ranks > 1)
			s = group_spread(axes, count, used.devices, network_domain(n, l, used.node_devices),
			                 n->known);
		least = s.least;
		g.examined += s.examined;

		/* A domain further out holds at least what the inner one holds. */
		g.inside[l] = l > 0 && least < g.inside[l - 1] ? g.inside[l - 1] : least;
	}
	return g;
}

/* Ranks of the group under one domain of the level below l. */
static int64_t below(const struct group *g, int l)
{
	return l == 0 ? 1 : g->inside[l - 1];
}

static int spanned(const struct group *g, int l)
{
	return l == 0 ? g->inside[0] > 1 : g->ranks > below(g, l) && g->inside[l] > below(g, l);
}

/* Adapters of level l that one group keeps busy in a domain of the level below. */
static double adapters(const struct network *n, const struct group *g, int l)
{
	int64_t ranks = below(g, l);

	return l > 0 && ranks < network_domain(n, l - 1, g->node_devices)
	           ? fmax(1, (double)ranks * (1 - n->conflict))
	           : (double)ranks;
}

double ring_bandwidth(const struct network *n, const struct group *g)
{
	double b = INFINITY;

	for (int l = 0; l < n->levels; l++) {
		if (spanned(g, l))
			b = fmin(b, adapters(n, g, l) * ring_bandwidth_of(n, l, g->inside[l]));
	}
	return b;
}

static double hop_latency(const struct network *n, const struct group *g)
{
	double a = 0;

	for (int l = 0; l < n->levels; l++) {
		if (spanned(g, l))
			a = fmax(a, n->latency[l]);
	}
	return a;
}

struct exchange exchange_of(const struct network *n, const struct group *g)
{
	double ranks = (double)g->ranks, hop = 0;
	struct exchange x = {.ranks = ranks, .start = n->start, .bandwidth = INFINITY};

	if (g->ranks <= 1)
		return x;
	for (int l = 0; l < n->levels; l++) {
		double q, bandwidth;

		if (!spanned(g, l))
			continue;
		q = (l == n->levels - 1 ? ranks : (double)g->inside[l]) / (double)below(g, l);
		bandwidth = adapters(n, g, l) * ring_bandwidth_of(n, l, g->inside[l]);
		hop = n->latency[l] > hop ? n->latency[l] : hop;
		x.bandwidth = bandwidth < x.bandwidth ? bandwidth : x.bandwidth;
		x.level[x.levels++] =
		    (struct level_exchange){(q - 1) * n->latency[l], (q - 1) / q, bandwidth};
	}
	x.latency = (ranks - 1) * hop;
	x.share = (ranks - 1) / ranks;
	x.tree = n->start + 2 * log2(ranks) * hop;
	return x;
}

double exchange_all_gather(const struct exchange *x, double bytes)
{
	double flat, hierarchical = 0;

	if (x->ranks <= 1 || bytes <= 0)
		return 0;
	flat = x->latency + x->share * bytes / x->bandwidth;
	/* Gather (or scatter) inside the innermost domains first, then what is left between them. */
	for (int l = 0; l < x->levels; l++)
		hierarchical += x->level[l].latency + x->level[l].share * bytes / x->level[l].bandwidth;
	return x->start / 2 + (hierarchical < flat ? hierarchical : flat);
}

double exchange_all_reduce(const struct exchange *x, double bytes)
{
	double tree, twice;

	if (x->ranks <= 1 || bytes <= 0)
		return 0;
	tree = x->tree + 2 * bytes / x->bandwidth;
	twice = 2 * exchange_all_gather(x, bytes);
	return tree < twice ? tree : twice;
}

double all_gather_seconds(const struct network *n, const struct group *g, double bytes)
{
	struct exchange x = exchange_of(n, g);

	return exchange_all_gather(&x, bytes);
}

double all_reduce_seconds(const struct network *n, const struct group *g, double bytes)
{
	struct exchange x = exchange_of(n, g);

	return exchange_all_reduce(&x, bytes);
}

double all_to_all_seconds(const struct network *n, const struct group *g, double bytes)
{
	double ranks = (double)g->ranks, slowest = 0;

	if (g->ranks <= 1 || bytes <= 0)
		return 0;
	for (int l = 0; l < n->levels; l++) {
		double near = l == 0 ? 1 : (double)below(g, l);
		double reach = l == n->levels - 1 ? ranks : (double)g->inside[l];

		if (spanned(g, l))
			slowest =
			    fmax(slowest, (reach - near) / ranks * bytes / bandwidth_of(n, l, g->inside[l]));
	}
	return n->start + slowest + (ranks - 1) * hop_latency(n, g);
}

/* Copies of one token for so many domains. Groups that lie across domains are taken to fill them. */
static double copies(const struct routing *r, double domains)
{
	double limit = (double)r->top * ceil(domains / (double)r->groups);

	return fmin(fmin((double)r->top_k, domains), limit);
}

/* Of a level that divides the group into so many domains, as a share of all bytes. */
static double crossing(const struct routing *r, double domains, double of_reach)
{
	return copies(r, domains) / (double)r->top_k * of_reach;
}

static double forwarded_seconds(const struct network *n, const struct group *g, const struct routing *r,
                                double bytes)
{
	double ranks = (double)g->ranks, slowest = 0, latency = 0;

	for (int l = 0; l < n->levels; l++) {
		double near = (double)below(g, l);
		double reach = l == n->levels - 1 ? ranks : (double)g->inside[l], share = 1 - near / reach;

		if (!spanned(g, l))
			continue;
		if (l > 0)
			share = crossing(r, ranks / near, share);
		slowest = fmax(slowest, share * bytes / bandwidth_of(n, l, g->inside[l]));
		latency += (reach / near - 1) * n->latency[l];
	}
	return n->start + slowest + latency;
}

/* Never more than forwarded_seconds() of any group that lies no closer: closer together more is sent inside,
 * so that the closest need not be the fastest. Whichever level such a group spans as its outermost, it sends
 * at least what goes between the fewest domains that it may have there. */
static double least_forwarded(const struct network *n, const struct group *g, const struct routing *r,
                              double bytes)
{
	double ranks = (double)g->ranks, least = INFINITY;

	for (int l = 0; l < n->levels; l++) {
		double domains = fmax(2, ranks / (double)below(g, l));
		double share = l == 0 ? 1 - 1 / ranks : crossing(r, domains, 1 - 1 / domains);

		if (l == n->levels - 1 || g->inside[l] == g->ranks)
			least = fmin(least, share * bytes / bandwidth_of(n, l, g->ranks));
	}
	return n->start + least;
}

double dispatch_seconds(const struct network *n, const struct group *g, const struct routing *r, double bytes)
{
	double direct = all_to_all_seconds(n, g, bytes);

	if (direct == 0 || r->top >= r->groups)
		return direct;
	return fmin(direct, n->bounds ? least_forwarded(n, g, r, bytes) : forwarded_seconds(n, g, r, bytes));
}

double send_seconds(const struct network *n, const struct group *g, double bytes)
{
	double seconds = 0;

	if (g->ranks <= 1)
		return 0;
	for (int l = 0; l < n->levels; l++) {
		if (spanned(g, l))
			seconds = fmax(seconds, n->latency[l] + bytes / bandwidth_of(n, l, 2));
	}
	return seconds;
}
