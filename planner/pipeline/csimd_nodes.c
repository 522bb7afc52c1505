#include "planner/pipeline/csimd_division.h"

#include <stdlib.h>

#include "base/grow.h"

/* A binary heap. */
int csimd_nodes_push(struct csimd_nodes *n, const struct csimd_node *node)
{
	size_t i = n->count;
	int rc = sb_grow(&n->items, n->count, sizeof(*n->items));

	if (rc != SB_OK)
		return rc;
	n->count++;
	for (; i > 0 && n->items[(i - 1) / 2].bound > node->bound; i = (i - 1) / 2)
		n->items[i] = n->items[(i - 1) / 2];
	n->items[i] = *node;
	return SB_OK;
}

bool csimd_nodes_pop(struct csimd_nodes *n, struct csimd_node *out)
{
	struct csimd_node last;
	size_t i = 0, child;

	if (n->count == 0)
		return false;
	*out = n->items[0];
	last = n->items[--n->count];
	for (; (child = 2 * i + 1) < n->count; i = child) {
		if (child + 1 < n->count && n->items[child + 1].bound < n->items[child].bound)
			child++;
		if (n->items[child].bound >= last.bound)
			break;
		n->items[i] = n->items[child];
	}
	if (n->count > 0)
		n->items[i] = last;
	return true;
}

void csimd_nodes_clear(struct csimd_nodes *n)
{
	free(n->items);
	*n = (struct csimd_nodes){0};
}
