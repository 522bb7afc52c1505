#ifndef SB_PLANNER_FRONTIER_TABLES_H
#define SB_PLANNER_FRONTIER_TABLES_H
#include "planner/frontier/eliminate.h"

/* What an elimination works on: tables of Pareto sets over the options of a few nodes, and which table is of
 * which node. */

/* A set for each choice of options of its nodes; those of the graph itself are read where they lie. */
struct table {
	int64_t node_count;
	uint16_t nodes[ELIMINATE_NEIGHBOURS_MAX];
	size_t stride[ELIMINATE_NEIGHBOURS_MAX];
	const double *time, *memory; /* of the graph, one point a cell; NULL: */
	struct pareto_point *points; /* the sets one behind the other */
	uint32_t *start;             /* of each cell, and the end */
	double *values;              /* what time and memory point to, where they are not the graph's */
	size_t cells, held;          /* held: points, of tables that are not the graph's */
	bool gone;
};

/* A node's tables; those that are gone are dropped when it is looked at. */
struct table_list {
	uint32_t *tables;
	size_t count;
};

struct tables {
	const struct option_graph *graph;
	struct table *items;
	size_t count;
	struct table_list *of;  /* each node */
	int64_t *stamp, stamps; /* which neighbours were seen already */
	size_t points;          /* held by all tables */
};

/* The tables of the graph's own nodes and edges. SB_ENOMEM; tables_free() in any case. */
int tables_open(struct tables *t, const struct option_graph *g);
void tables_free(struct tables *t);
/* The set of a cell and its size; room: where a point of the graph is put together. */
const struct pareto_point *tables_cell(const struct tables *t, const struct table *x, size_t cell,
                                       struct pareto_point *room, size_t *out_count);
/* What a table holds: sets; a point a cell (times, then memories, in values); nothing, as only its size is
 * asked for. */
enum table_form { TABLE_SETS, TABLE_POINTS, TABLE_SHAPE };
/* Adds a table over these nodes without its sets (x->cells + 1 starts, all 0) or points. SB_ENOMEM;
 * SB_ELIMIT. */
int tables_add(struct tables *t, enum table_form form, const uint16_t *nodes, int64_t node_count,
               uint32_t *out);
/* Appends a set to a table, as its next cell. SB_ENOMEM; SB_ELIMIT. */
int tables_append(struct tables *t, uint32_t table, size_t cell, const struct pareto_point *points,
                  size_t count);
/* How far apart the cells of two options of a node lie, and the other nodes of the table; returns how many.
 */
size_t tables_stride(const struct table *x, int64_t node);
int64_t tables_rest(const struct table *x, int64_t node, uint16_t *out);
/* A table is used up. */
void tables_drop(struct tables *t, uint32_t table);
/* Drops what is gone from a node's list, and counts its neighbours; the first `room` are written to out. */
int64_t tables_neighbours(struct tables *t, int64_t node, uint16_t *out, int64_t room);
#endif
