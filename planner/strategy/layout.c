#include "planner/strategy/layout.h"

#include <stdlib.h>
#include <string.h>

/* Ranks gone through in about the time that a placement takes of which nothing need be gone through, and
 * placements compared in that of one. */
#define PLACEMENT_RANKS 9
#define SAME_A_RANK 4
#define ROOM_AT_FIRST 32

/* The degrees above 1, in the usual order. */
static int used_dimensions(const struct strategy *s, enum dimension used[DIMS])
{
	const int64_t size[DIMS] = {[DIM_TP] = s->tp, [DIM_CP] = s->cp, [DIM_DP] = s->dp, [DIM_PP] = s->pp};
	int count = 0;

	for (int d = 0; d < DIMS; d++) {
		if (size[d] > 1)
			used[count++] = (enum dimension)d;
	}
	return count;
}

/* The next permutation in lexicographic order; false after the last. */
static bool next_order(enum dimension *at, int count)
{
	int i = count - 2, k = count - 1;

	while (i >= 0 && at[i] > at[i + 1])
		i--;
	if (i < 0)
		return false;
	while (at[k] < at[i])
		k--;
	for (int low = i, high = k, first = 1; low < high; first = 0) {
		enum dimension held = at[low];

		at[low] = at[high];
		at[high] = held;
		if (first) {
			low = i + 1;
			high = count - 1;
		} else {
			low++;
			high--;
		}
	}
	return true;
}

struct node_range node_range_of(const struct cluster *c, const struct strategy *s)
{
	int64_t devices = strategy_devices(s);

	/* On more than there are ranks they lie in one node, as on all. */
	return (struct node_range){(devices + c->nodes - 1) / c->nodes,
	                           devices < c->devices_per_node ? devices : c->devices_per_node};
}

int64_t order_count(const struct strategy *s)
{
	enum dimension used[DIMS];
	int count = used_dimensions(s, used);
	int64_t orders = 1;

	for (int i = 2; i <= count; i++)
		orders *= i;
	return orders;
}

/* Dimensions of one rank lie anywhere: the usual order where nothing else was asked for. */
static void complete(struct strategy *s, const enum dimension *used, int count)
{
	bool usual = true, seen[DIMS] = {false};
	int n = 0;

	for (int i = 1; i < count; i++)
		usual = usual && used[i] > used[i - 1];
	for (int i = 0; !usual && i < count; i++) {
		s->order[n++] = used[i];
		seen[used[i]] = true;
	}
	for (int d = 0; d < DIMS; d++) {
		if (!seen[d])
			s->order[n++] = (enum dimension)d;
	}
}

/* Others beside its ranks in a domain take a share of the adapters. */
static bool alone(const struct network *n, const struct group *g, int l)
{
	return g->inside[l] >= network_domain(n, l, g->node_devices);
}

bool group_alike(const struct network *n, const struct group *a, const struct group *b)
{
	if (a->ranks != b->ranks || memcmp(a->inside, b->inside, sizeof(a->inside)) != 0)
		return false;
	for (int l = 0; a->node_devices != b->node_devices && l < n->levels; l++)
		if (alone(n, a, l) != alone(n, b, l))
			return false;
	return true;
}

static bool same_groups(const struct network *n, const struct groups *a, const struct groups *b)
{
	return group_alike(n, &a->tp, &b->tp) && group_alike(n, &a->tp_x, &b->tp_x) &&
	       group_alike(n, &a->tp_y, &b->tp_y) && group_alike(n, &a->cp, &b->cp) &&
	       group_alike(n, &a->pp, &b->pp) && group_alike(n, &a->dp, &b->dp) &&
	       group_alike(n, &a->ep, &b->ep) && group_alike(n, &a->etp, &b->etp) &&
	       group_alike(n, &a->edp, &b->edp);
}

static int64_t ranks_examined(const struct strategy *s, const struct groups *g)
{
	return g->tp.examined + g->tp_x.examined + (s->tp_x > 1 ? g->tp_y.examined : 0) + g->cp.examined +
	       g->pp.examined + g->dp.examined + g->ep.examined + g->etp.examined + g->edp.examined;
}

static bool make_room(struct placements *io)
{
	size_t room = io->room > 0 ? 2 * io->room : ROOM_AT_FIRST;
	struct placement *grown;

	if (io->count < io->room)
		return true;
	grown = realloc(io->at, room * sizeof(*grown));
	if (!grown)
		return false;
	io->at = grown;
	io->room = room;
	return true;
}

/* Adds the strategy's own placement, unless one from `first` on costs the same. */
static int64_t add_placement(const struct network *n, const struct strategy *s, size_t first,
                             struct placements *io)
{
	struct placement p = {.node_devices = s->node_devices, .groups = groups_of(n, s)};
	int64_t examined = ranks_examined(s, &p.groups);
	size_t same = first;

	while (same < io->count && !same_groups(n, &io->at[same].groups, &p.groups))
		same++;
	/* On all devices there are few, which the steps of the walk cover. */
	examined += s->node_devices > 0 ? PLACEMENT_RANKS + (int64_t)(same - first) / SAME_A_RANK : 0;
	if (same < io->count)
		return examined;
	if (io->count == PLACEMENTS_MAX) {
		io->left_out = true;
		return examined;
	}
	if (!make_room(io))
		return -1;
	memcpy(p.order, s->order, sizeof(p.order));
	io->at[io->count++] = p;
	return examined;
}

int64_t add_placements(const struct network *n, const struct strategy *s, size_t first, struct placements *io)
{
	struct strategy w = *s;
	enum dimension used[DIMS];
	int dims = used_dimensions(s, used);
	int64_t examined = 0;

	do {
		int64_t of_one = 0;

		complete(&w, used, dims);
		if (strategy_experts_line_up(&w))
			of_one = add_placement(n, &w, first, io);
		if (of_one < 0)
			return -1;
		examined += of_one;
	} while (next_order(used, dims) && !io->left_out);
	return examined;
}
