#include "planner/frontier/bucket.h"

#include <math.h>
#include <stdlib.h>

int bucket_open(struct bucket *b, struct tables *t, int64_t node)
{
	const struct table_list *l = &t->of[node];

	*b = (struct bucket){.graph = t->graph, .node = node};
	b->near_count = tables_neighbours(t, node, b->near, ELIMINATE_NEIGHBOURS_MAX);
	b->count = l->count;
	b->tables = calloc(l->count + 1, sizeof(*b->tables));
	if (!b->tables)
		return SB_ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		const struct table *x = &t->items[l->tables[i]];
		struct bucket_table *u = &b->tables[i];

		u->table = l->tables[i];
		for (int64_t k = 0; k < x->node_count; k++) {
			if (x->nodes[k] == node)
				u->step = x->stride[k];
			for (int64_t n = 0; n < b->near_count; n++)
				if (b->near[n] == x->nodes[k])
					u->stride[n] = x->stride[k];
		}
	}
	return SB_OK;
}

void bucket_next(struct bucket *b)
{
	for (int64_t i = b->near_count - 1; i >= 0; i--) {
		size_t last = (size_t)b->graph->nodes[b->near[i]].options - 1;
		bool turns = (size_t)b->at[i] == last;

		b->at[i] = turns ? 0 : b->at[i] + 1;
		for (size_t k = 0; k < b->count; k++) {
			struct bucket_table *u = &b->tables[k];

			u->base = turns ? u->base - u->stride[i] * last : u->base + u->stride[i];
		}
		if (!turns)
			return;
	}
}

void bucket_free(struct bucket *b)
{
	free(b->tables);
	b->tables = NULL;
}

void bucket_weigh(struct tables *t, struct order *o, int64_t node, double cells_most)
{
	uint16_t near[ELIMINATE_NEIGHBOURS_MAX];
	int64_t count = tables_neighbours(t, node, near, ELIMINATE_NEIGHBOURS_MAX);
	double cells = 1;

	for (int64_t i = 0; i < count && i < ELIMINATE_NEIGHBOURS_MAX; i++)
		cells *= (double)t->graph->nodes[near[i]].options;
	if (count > ELIMINATE_NEIGHBOURS_MAX || cells > cells_most)
		cells = INFINITY;
	order_set(o, node, cells * (double)t->graph->nodes[node].options, count);
}
