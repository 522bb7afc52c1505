#include "planner/frontier/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define POINTS_MAX ((size_t)1 << 22) /* 96 MiB */

double option_memory(const struct option_graph *g, const double *memory, size_t i)
{
	double m = memory ? memory[i] : 0;

	return g->memory_step > 0 ? ceil(m / g->memory_step) * g->memory_step : m;
}

static int list_table(struct tables *t, int64_t node, uint32_t table)
{
	struct table_list *l = &t->of[node];
	int rc = sb_grow(&l->tables, l->count, sizeof(*l->tables));

	if (rc == SB_OK)
		l->tables[l->count++] = table;
	return rc;
}

static int add(struct tables *t, const uint16_t *nodes, int64_t node_count, uint32_t *out)
{
	int rc = sb_grow(&t->items, t->count, sizeof(*t->items));
	struct table *x;
	size_t cells = 1;

	if (rc != SB_OK)
		return rc;
	*out = (uint32_t)t->count;
	x = &t->items[t->count++];
	*x = (struct table){.node_count = node_count};
	for (int64_t i = node_count - 1; i >= 0; i--) {
		x->nodes[i] = nodes[i];
		x->stride[i] = cells;
		cells *= (size_t)t->graph->nodes[nodes[i]].options;
	}
	x->cells = cells;
	for (int64_t i = 0; rc == SB_OK && i < node_count; i++)
		rc = list_table(t, nodes[i], *out);
	return rc;
}

int tables_open(struct tables *t, const struct option_graph *g)
{
	uint32_t table;
	int rc = SB_OK;

	*t = (struct tables){.graph = g};
	t->of = calloc((size_t)g->node_count, sizeof(*t->of));
	t->stamp = calloc((size_t)g->node_count, sizeof(*t->stamp));
	if (!t->of || !t->stamp)
		return SB_ENOMEM;
	for (int64_t n = 0; rc == SB_OK && n < g->node_count; n++) {
		rc = add(t, (uint16_t[]){(uint16_t)n}, 1, &table);
		if (rc != SB_OK)
			return rc;
		t->items[table].time = g->nodes[n].time;
		t->items[table].memory = g->nodes[n].memory;
	}
	for (int64_t k = 0; rc == SB_OK && k < g->edge_count; k++) {
		const struct option_edge *e = &g->edges[k];

		rc = add(t, (uint16_t[]){(uint16_t)e->from, (uint16_t)e->to}, 2, &table);
		if (rc != SB_OK)
			return rc;
		t->items[table].time = e->time;
		t->items[table].memory = e->memory;
	}
	return rc;
}

void tables_free(struct tables *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->items[i].points);
		free(t->items[i].start);
		free(t->items[i].values);
	}
	for (int64_t n = 0; t->of && n < t->graph->node_count; n++)
		free(t->of[n].tables);
	free(t->items);
	free(t->of);
	free(t->stamp);
}

const struct pareto_point *tables_cell(const struct tables *t, const struct table *x, size_t cell,
                                       struct pareto_point *room, size_t *out_count)
{
	if (!x->time) {
		*out_count = x->start[cell + 1] - x->start[cell];
		return *out_count > 0 ? x->points + x->start[cell]
		                      : NULL; /* with no point at all there is no array */
	}
	*out_count = isinf(x->time[cell]) ? 0 : 1;
	*room = (struct pareto_point){option_memory(t->graph, x->memory, cell), x->time[cell], 0, 0};
	return room;
}

int tables_add(struct tables *t, enum table_form form, const uint16_t *nodes, int64_t node_count,
               uint32_t *out)
{
	int rc = add(t, nodes, node_count, out);
	struct table *x;

	if (rc != SB_OK)
		return rc;
	x = &t->items[*out];
	if (form == TABLE_SETS) {
		x->start = calloc(x->cells + 1, sizeof(*x->start));
		return x->start ? SB_OK : SB_ENOMEM;
	}
	if (t->points + x->cells > POINTS_MAX)
		return SB_ELIMIT;
	x->held = x->cells;
	t->points += x->held;
	if (form == TABLE_SHAPE)
		return SB_OK;
	x->values = calloc(x->cells, 2 * sizeof(*x->values));
	if (!x->values)
		return SB_ENOMEM;
	x->time = x->values;
	x->memory = x->values + x->cells;
	return SB_OK;
}

size_t tables_stride(const struct table *x, int64_t node)
{
	int64_t k = 0;

	while (x->nodes[k] != node)
		k++;
	return x->stride[k];
}

int64_t tables_rest(const struct table *x, int64_t node, uint16_t *out)
{
	int64_t count = 0;

	for (int64_t k = 0; k < x->node_count; k++)
		if (x->nodes[k] != node)
			out[count++] = x->nodes[k];
	return count;
}

int tables_append(struct tables *t, uint32_t table, size_t cell, const struct pareto_point *points,
                  size_t count)
{
	struct table *x = &t->items[table];
	size_t n = x->start[cell];

	if (t->points + count > POINTS_MAX)
		return SB_ELIMIT;
	for (size_t i = 0; i < count; i++, n++) {
		int rc = sb_grow(&x->points, n, sizeof(*x->points));

		if (rc != SB_OK)
			return rc;
		x->points[n] = points[i];
	}
	t->points += count;
	x->held += count;
	x->start[cell + 1] = (uint32_t)n;
	return SB_OK;
}

void tables_drop(struct tables *t, uint32_t table)
{
	struct table *x = &t->items[table];

	t->points -= x->held;
	free(x->points);
	free(x->start);
	free(x->values);
	x->points = NULL;
	x->start = NULL;
	x->values = NULL;
	x->held = 0;
	x->gone = true;
}

int64_t tables_neighbours(struct tables *t, int64_t node, uint16_t *out, int64_t room)
{
	struct table_list *l = &t->of[node];
	size_t left = 0;
	int64_t count = 0;

	t->stamp[node] = ++t->stamps;
	for (size_t i = 0; i < l->count; i++) {
		const struct table *x = &t->items[l->tables[i]];

		if (x->gone)
			continue;
		l->tables[left++] = l->tables[i];
		for (int64_t k = 0; k < x->node_count; k++) {
			uint16_t other = x->nodes[k];

			if (t->stamp[other] == t->stamps)
				continue;
			t->stamp[other] = t->stamps;
			if (count < room)
				out[count] = other;
			count++;
		}
	}
	l->count = left;
	return count;
}
