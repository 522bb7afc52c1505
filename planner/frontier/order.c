#include "planner/frontier/order.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

int order_open(struct order *o, int64_t nodes)
{
	*o = (struct order){.nodes = nodes, .size = 1, .left = nodes};
	while (o->size < nodes)
		o->size *= 2;
	o->cost = calloc((size_t)nodes, sizeof(*o->cost));
	o->neighbours = calloc((size_t)nodes, sizeof(*o->neighbours));
	o->winner = calloc((size_t)o->size * 2, sizeof(*o->winner));
	if (!o->cost || !o->neighbours || !o->winner)
		return SB_ENOMEM;
	for (int64_t i = 0; i < o->size; i++)
		o->winner[o->size + i] = (uint16_t)(i < nodes ? i : nodes - 1);
	for (int64_t i = o->size - 1; i > 0; i--)
		o->winner[i] = o->winner[2 * i];
	return SB_OK;
}

void order_free(struct order *o)
{
	free(o->cost);
	free(o->neighbours);
	free(o->winner);
}

static void replay(struct order *o, int64_t node)
{
	for (int64_t i = (o->size + node) / 2; i > 0; i /= 2) {
		uint16_t a = o->winner[2 * i], b = o->winner[2 * i + 1];

		/* who is gone loses; of equals the left one, which is the first, wins */
		o->winner[i] = isnan(o->cost[a]) || o->cost[b] < o->cost[a] ? b : a;
	}
}

void order_set(struct order *o, int64_t node, double cost, int64_t neighbours)
{
	o->cost[node] = cost;
	o->neighbours[node] = neighbours;
	replay(o, node);
}

void order_remove(struct order *o, int64_t node)
{
	o->left--;
	order_set(o, node, NAN, -1);
}

int64_t order_first(const struct order *o)
{
	return o->winner[1];
}

double order_cost(const struct order *o, int64_t node)
{
	return o->cost[node];
}

int64_t order_busiest(const struct order *o)
{
	int64_t best = 0;

	for (int64_t i = 1; i < o->nodes; i++)
		if (o->neighbours[i] > o->neighbours[best])
			best = i;
	return best;
}
