#include "planner/cost/collectives.h"

#include <math.h>

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
	struct network n = {.conflict = k->adapter_conflict, .start = k->collective_seconds};

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

/* What one rank of a group with so many in its domain sends with on level l. */
static double bandwidth_of(const struct network *n, int l, int64_t ranks)
{
	return n->bandwidth[l] * (l == 0 ? cluster_link_share(n->mesh_links, ranks) : 1);
}

bool network_inner_faster(const struct network *n)
{
	for (int l = 1; l < n->levels; l++) {
		if (bandwidth_of(n, l, 2) > bandwidth_of(n, l - 1, 2))
			return false;
	}
	return true;
}

static void worse(struct spread *worst, struct spread s)
{
	if (s.domains > worst->domains || (s.domains == worst->domains && s.least < worst->least))
		*worst = s;
}

/* One axis whose stride divides the domain: only whole units of one stride matter. */
static struct spread spread_aligned(int64_t size, int64_t unit_domain, int64_t groups)
{
	struct spread worst = {0};

	for (int64_t k = 0; k < groups && k < unit_domain; k++) {
		int64_t offset = k * size % unit_domain;
		int64_t first = unit_domain - offset < size ? unit_domain - offset : size;
		int64_t rest = size - first, last = rest % unit_domain;
		struct spread s = {
		    .domains = 1 + (rest + unit_domain - 1) / unit_domain, .least = first, .most = first};

		if (rest > 0) {
			int64_t end = last ? last : unit_domain;

			s.least = first < end ? first : end;
			s.most = rest >= unit_domain ? unit_domain : (first > rest ? first : rest);
		}
		worse(&worst, s);
	}
	return worst;
}

static struct spread spread_of_base(const struct axis *axes, int count, int64_t base, int64_t domain)
{
	struct spread s = {.least = INT64_MAX};
	int64_t at[LINK_SCOPES + 1] = {0}, rank = base, here = -1, run = 0;

	for (;;) {
		int i = 0;

		if (rank / domain != here) {
			if (run > 0 && run < s.least)
				s.least = run;
			here = rank / domain;
			run = 0;
			s.domains++;
		}
		run++;
		if (run > s.most)
			s.most = run;
		while (i < count && at[i] == axes[i].size - 1) {
			rank -= at[i] * axes[i].stride;
			at[i++] = 0;
		}
		if (i == count)
			break;
		at[i]++;
		rank += axes[i].stride;
	}
	if (run < s.least)
		s.least = run;
	return s;
}

static struct spread spread_enumerated(const struct axis *axes, int count, int64_t devices, int64_t domain)
{
	struct spread worst = {0};

	for (int64_t base = 0; base < devices; base++) {
		int first = 1;

		for (int i = 0; i < count; i++) {
			if ((base / axes[i].stride) % axes[i].size != 0)
				first = 0;
		}
		if (first)
			worse(&worst, spread_of_base(axes, count, base, domain));
	}
	worst.examined = devices;
	return worst;
}

static bool lines_up(int64_t a, int64_t b)
{
	return a % b == 0 || b % a == 0;
}

/* Where every axis begins and ends on whole domains or on a whole share of one, all groups lie alike. */
static bool spread_evenly(const struct axis *axes, int count, int64_t domain, struct spread *out)
{
	int64_t inside = 1, all = 1;

	for (int i = 0; i < count; i++) {
		int64_t stride = axes[i].stride, end = stride * axes[i].size;

		if (!lines_up(stride, domain) || !lines_up(end, domain))
			return false;
		all *= axes[i].size;
		if (stride < domain)
			inside *= end <= domain ? axes[i].size : domain / stride;
	}
	*out = (struct spread){all / inside, inside, inside, 0};
	return true;
}

struct spread group_spread(const struct axis *axes, int count, int64_t devices, int64_t domain)
{
	struct spread even;
	struct axis used[LINK_SCOPES + 1];
	int n = 0;

	for (int i = 0; i < count && n <= LINK_SCOPES; i++) {
		if (axes[i].size <= 1)
			continue;
		if (n > 0 && axes[i].stride == used[n - 1].stride * used[n - 1].size)
			used[n - 1].size *= axes[i].size; /* neighbours in rank order are one axis */
		else
			used[n++] = axes[i];
	}
	if (n == 0)
		return (struct spread){1, 1, 1, 0};
	if (domain >= devices) {
		int64_t all = 1;

		for (int i = 0; i < n; i++)
			all *= used[i].size;
		return (struct spread){1, all, all, 0};
	}
	if (n == 1 && used[0].stride >= domain)
		return (struct spread){used[0].size, 1, 1, 0};
	if (n == 1 && domain % used[0].stride == 0)
		return spread_aligned(used[0].size, domain / used[0].stride,
		                      devices / (used[0].stride * used[0].size));
	if (spread_evenly(used, n, domain, &even))
		return even;
	return spread_enumerated(used, n, devices, domain);
}

struct group group_on(const struct network *n, const struct axis *axes, int count, int64_t devices)
{
	struct group g = {.ranks = 1};

	for (int i = 0; i < count; i++)
		g.ranks *= axes[i].size;
	for (int l = 0; l < n->levels; l++) {
		struct spread s = {1, 1, 1, 0};
		int64_t least;

		if (g.ranks > 1)
			s = group_spread(axes, count, devices, n->domain[l]);
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

	return l > 0 && ranks < n->domain[l - 1] ? fmax(1, (double)ranks * (1 - n->conflict)) : (double)ranks;
}

double ring_bandwidth(const struct network *n, const struct group *g)
{
	double b = INFINITY;

	for (int l = 0; l < n->levels; l++) {
		if (spanned(g, l))
			b = fmin(b, adapters(n, g, l) * bandwidth_of(n, l, g->inside[l]));
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

/* Gather (or scatter) inside the innermost domains first, then what is left between them. */
static double hierarchical(const struct network *n, const struct group *g, double bytes)
{
	double seconds = 0;

	for (int l = 0; l < n->levels; l++) {
		double inner = (double)below(g, l), q;

		if (!spanned(g, l))
			continue;
		q = (l == n->levels - 1 ? (double)g->ranks : (double)g->inside[l]) / inner;
		seconds += (q - 1) * n->latency[l] +
		           (q - 1) / q * bytes / (adapters(n, g, l) * bandwidth_of(n, l, g->inside[l]));
	}
	return seconds;
}

double all_gather_seconds(const struct network *n, const struct group *g, double bytes)
{
	double ranks = (double)g->ranks;
	double flat;

	if (g->ranks <= 1)
		return 0;
	flat = (ranks - 1) * hop_latency(n, g) + (ranks - 1) / ranks * bytes / ring_bandwidth(n, g);
	return n->start / 2 + fmin(flat, hierarchical(n, g, bytes));
}

double all_reduce_seconds(const struct network *n, const struct group *g, double bytes)
{
	double tree;

	if (g->ranks <= 1)
		return 0;
	tree = n->start + 2 * log2((double)g->ranks) * hop_latency(n, g) + 2 * bytes / ring_bandwidth(n, g);
	return fmin(2 * all_gather_seconds(n, g, bytes), tree);
}

double all_to_all_seconds(const struct network *n, const struct group *g, double bytes)
{
	double ranks = (double)g->ranks, slowest = 0;

	if (g->ranks <= 1)
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
