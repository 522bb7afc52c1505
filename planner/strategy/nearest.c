#include "planner/strategy/nearest.h"

#include "base/num.h"

/* Does a domain of level l hold whole groups of so many ranks, with some of those numbers of devices of each
 * node used? */
static bool holds_whole(const struct network *n, int l, int64_t ranks, struct node_range nodes)
{
	int64_t each; /* divides the devices used of a node where all nodes of a domain hold whole groups */

	if (network_domain(n, l, nodes.most) % ranks == 0)
		return true;
	if (nodes.least == nodes.most)
		return false;
	each = ranks / sb_gcd(ranks, network_domain(n, l, 1));
	return each <= nodes.most && nodes.most / each * each >= nodes.least;
}

/* As few domains as hold it, and of each as many ranks as the emptiest may have. Where there are more devices
 * than one domain has, whose first is full, and the groups do not fill a domain evenly, one of them lies in
 * two at least. On the fewest devices of a node there may be no others beside a group's ranks there. */
static struct group nearest_group(const struct network *n, int64_t ranks, int64_t devices,
                                  struct node_range nodes)
{
	struct group g = {.ranks = ranks, .node_devices = nodes.least};

	for (int l = 0; l < n->levels; l++) {
		int64_t domain = network_domain(n, l, nodes.most);
		int64_t domains = ranks / domain + (ranks % domain != 0), inside;

		if (ranks < domain && devices > domain && !holds_whole(n, l, ranks, nodes))
			domains = 2;
		inside = ranks / domains;
		g.inside[l] = l > 0 && inside < g.inside[l - 1] ? g.inside[l - 1] : inside;
	}
	return g;
}

struct nearest nearest_of(const struct search *x, const struct strategy *s, struct node_range nodes,
                          bool experts)
{
	const struct tensor_grid t = tensor_grid_of(s);
	const struct network *n = &x->swift.network;
	int64_t devices = strategy_devices(s);
	/* With experts an all-to-all goes over x. */
	bool x_counts = x->r->problem.model.has_moe ? x->inner_twice : x->inner_faster;
	const struct {
		int64_t ranks;
		bool counts;
	} groups[NEAREST_GROUPS] = {{s->tp, x->inner_faster},
	                            {t.x, x_counts},
	                            {t.y, x->inner_faster},
	                            {s->cp * t.x, x->inner_faster},
	                            {s->ep, experts && x->inner_twice},
	                            {s->etp, experts && x->inner_faster}};
	struct nearest near;

	for (int i = 0; i < NEAREST_GROUPS; i++)
		near.at[i] = groups[i].counts && groups[i].ranks > 1
		                 ? nearest_group(n, groups[i].ranks, devices, nodes)
		                 : (struct group){.ranks = 1, .inside = {1, 1, 1}};
	return near;
}

bool nearest_alike(const struct network *n, const struct nearest *a, const struct nearest *b)
{
	bool alike = true;

	for (int i = 0; alike && i < NEAREST_GROUPS; i++)
		alike = group_alike(n, &a->at[i], &b->at[i]);
	return alike;
}

/* Do groups of so many ranks fill the domains of every level, or domains them? */
static bool even(const struct network *n, int64_t ranks)
{
	bool fills = true;

	for (int l = 0; ranks > 1 && fills && l < n->levels - 1; l++)
		fills = n->domain[l] % ranks == 0 || ranks % n->domain[l] == 0;
	return fills;
}

struct node_range nearest_range(const struct search *x, const struct strategy *s)
{
	const struct network *n = &x->swift.network;
	const struct tensor_grid t = tensor_grid_of(s);
	struct node_range nodes = node_range_of(&x->r->problem.cluster, s);

	if (nodes.least < nodes.most && even(n, s->tp) && even(n, s->cp * t.x) && even(n, s->ep) &&
	    even(n, s->etp) && (t.x == 1 || (even(n, t.x) && even(n, t.y))))
		nodes.least = nodes.most = n->node_devices;
	return nodes;
}
