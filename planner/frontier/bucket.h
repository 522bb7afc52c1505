#ifndef SB_PLANNER_FRONTIER_BUCKET_H
#define SB_PLANNER_FRONTIER_BUCKET_H
#include "planner/frontier/order.h"
#include "planner/frontier/tables.h"

/* A node's bucket: the tables that hold it, read for one choice of its neighbours' options after another, in
 * the order in which the cells of a table over these neighbours lie. */

struct bucket_table {
	uint32_t table;
	size_t base, step;                       /* cell of the node's option o: base + o x step */
	size_t stride[ELIMINATE_NEIGHBOURS_MAX]; /* of each neighbour; 0 = it is not in the table */
};
struct bucket {
	const struct option_graph *graph;
	int64_t node;
	uint16_t near[ELIMINATE_NEIGHBOURS_MAX];
	int64_t near_count, at[ELIMINATE_NEIGHBOURS_MAX];
	struct bucket_table *tables;
	size_t count;
};
/* The bucket of a node that may be eliminated, at the neighbours' first options. SB_ENOMEM; bucket_free() in
 * any case. */
int bucket_open(struct bucket *b, struct tables *t, int64_t node);
/* To the neighbours' next options. */
void bucket_next(struct bucket *b);
void bucket_free(struct bucket *b);
#define BUCKET_AUTO __attribute__((cleanup(bucket_free))) struct bucket

/* Weighs a node that is left: the points that eliminating it goes through at the least, were all sets of one
 * point; INFINITY where its table would have too many neighbours, or more cells than that. */
void bucket_weigh(struct tables *t, struct order *o, int64_t node, double cells_most);
#endif
