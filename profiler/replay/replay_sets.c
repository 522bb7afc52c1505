#include <stdlib.h>

#include "profiler/collectives.h"
#include "profiler/replay/graph.h"

/* Collectives that several ranks take part in. The clocks of ranks differ, but a collective ends on all ranks
 * together, so one on which it is shorter came later by just that much: what each rank waited follows from
 * durations alone, and the ends tie the clocks together at each collective anew. */

static int by_node(const void *a, const void *b)
{
	const struct replay_member *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* The nodes of one set; those that are in no graph are left out. */
static size_t take_set(struct replay_graph *g, const struct collectives *all, const struct collective_set *s)
{
	size_t from = g->member_count;

	for (size_t i = 0; i < s->count; i++) {
		const struct collective *x = &all->items[s->first + i];
		uint32_t capture = all->members[x->member].capture, node;
		const struct replay_capture *c = &g->captures[capture];
		uint8_t source = c->rows ? COLLECTIVE_KERNEL : COLLECTIVE_EVENT;

		if (!c->held || x->source != source)
			continue;
		node = replay_node_of(g, capture, x->index);
		if (node == REPLAY_NONE)
			continue;
		g->members[g->member_count++] = (struct replay_member){node, (uint32_t)g->set_count, capture};
	}
	if (g->member_count - from < 2)
		g->member_count = from;
	return g->member_count - from;
}

static void add_sets(struct replay_graph *g, const struct collectives *all)
{
	const struct replay_nodes *n = &g->nodes;

	for (size_t i = 0; i < all->set_count; i++) {
		size_t from = g->member_count, count = take_set(g, all, &all->sets[i]);
		struct replay_set set = {.first = (uint32_t)from, .count = (uint32_t)count};

		if (count == 0)
			continue;
		set.transmission = INT64_MAX;
		for (size_t k = from; k < g->member_count; k++) {
			int64_t dur = n->dur[g->members[k].node];

			set.transmission = dur < set.transmission ? dur : set.transmission;
			n->flags[g->members[k].node] |= NODE_MEMBER;
		}
		g->sets[g->set_count++] = set;
	}
}

int replay_match(struct replay_graph *g)
{
	COLLECTIVES_AUTO all = {0};
	int rc = collectives_match(g->profile, &all);

	if (rc != SB_OK)
		return rc;
	g->members = calloc(all.count + 1, sizeof(*g->members));
	g->set_members = calloc(all.count + 1, sizeof(*g->set_members));
	g->sets = calloc(all.set_count + 1, sizeof(*g->sets));
	if (!g->members || !g->set_members || !g->sets)
		return SB_ENOMEM;
	add_sets(g, &all);
	if (g->member_count > 0)
		qsort(g->members, g->member_count, sizeof(*g->members), by_node);
	/* `count` starts again as a cursor */
	for (size_t i = 0; i < g->set_count; i++)
		g->sets[i].count = 0;
	for (size_t i = 0; i < g->member_count; i++) {
		struct replay_set *s = &g->sets[g->members[i].set];

		g->set_members[s->first + s->count++] = (uint32_t)i;
	}
	return SB_OK;
}

void replay_dissolve(struct replay_graph *g, uint32_t set)
{
	struct replay_set *s = &g->sets[set];

	for (uint32_t i = 0; i < s->count; i++)
		g->nodes.flags[g->members[g->set_members[s->first + i]].node] &= (uint8_t)~NODE_MEMBER;
	s->count = 0;
}
