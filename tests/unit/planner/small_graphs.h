#ifndef SB_TESTS_UNIT_PLANNER_SMALL_GRAPHS_H
#define SB_TESTS_UNIT_PLANNER_SMALL_GRAPHS_H
#include <math.h>

#include "base/random.h"
#include "planner/frontier/option_graph.h"

/* Graphs of options that are small enough to try every plan. */

#define NODES 7
#define EDGES 12
#define OPTIONS 4
#define PLANS 20000 /* above OPTIONS ^ NODES */

/* A small graph and the room for its numbers. */
struct small {
	struct option_graph g;
	struct option_node nodes[NODES];
	struct option_edge edges[EDGES];
	double time[NODES][OPTIONS], memory[NODES][OPTIONS];
	double edge_time[EDGES][OPTIONS * OPTIONS], edge_memory[EDGES][OPTIONS * OPTIONS];
};

static inline double draw(uint64_t *r, int most)
{
	return (double)(sb_random(r) % (uint64_t)(most + 1));
}

/* Whole numbers, so that sums are exact in any order. */
static inline void make(struct small *s, uint64_t *r, int64_t nodes, int64_t edges)
{
	*s = (struct small){.g = {.nodes = s->nodes, .edges = s->edges, .node_count = nodes}};
	for (int64_t n = 0; n < nodes; n++) {
		s->nodes[n] =
		    (struct option_node){1 + (int64_t)draw(r, OPTIONS - 1), s->time[n], s->memory[n]};
		for (int o = 0; o < OPTIONS; o++) {
			s->time[n][o] = draw(r, 50);
			s->memory[n][o] = draw(r, 20);
		}
	}
	s->g.edge_count = nodes > 1 ? edges : 0;
	for (int64_t k = 0; k < s->g.edge_count; k++) {
		int64_t from = (int64_t)draw(r, (int)nodes - 1), to = (int64_t)draw(r, (int)nodes - 2);

		s->edges[k] = (struct option_edge){from, to + (to >= from), s->edge_time[k],
		                                   draw(r, 1) > 0 ? s->edge_memory[k] : NULL};
		for (int i = 0; i < OPTIONS * OPTIONS; i++) {
			s->edge_time[k][i] = draw(r, 15) == 0 ? INFINITY : draw(r, 12);
			s->edge_memory[k][i] = draw(r, 4);
		}
	}
}

static inline bool next_plan(const struct option_graph *g, uint16_t *options)
{
	for (int64_t n = 0; n < g->node_count; n++) {
		if (++options[n] < g->nodes[n].options)
			return true;
		options[n] = 0;
	}
	return false;
}

/* The Pareto set by trying everything. */
static inline size_t brute(const struct option_graph *g, struct pareto_point *out)
{
	uint16_t options[NODES] = {0};
	size_t n = 0;

	do {
		struct pareto_point p = {0};

		option_graph_sum(g, options, &p.memory, &p.time);
		if (!isinf(p.time))
			out[n++] = p;
	} while (next_plan(g, options));
	return pareto_reduce(out, n);
}
#endif
