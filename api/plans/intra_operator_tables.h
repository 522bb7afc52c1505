#ifndef SB_API_PLANS_INTRA_OPERATOR_TABLES_H
#define SB_API_PLANS_INTRA_OPERATOR_TABLES_H
#include "api/plans/intra_operator.h"
#include "planner/cluster.h"

/* A graph of options that the request gives as tables. */

/* What a byte costs: as the links are (topology), or all the same, as on the fastest link (volume). */
enum intra_cost { INTRA_TOPOLOGY, INTRA_VOLUME };
extern const char *const intra_cost_words[];
extern const char *const intra_scope_words[];

struct intra_rates {
	double seconds_per_byte[LINK_SCOPES]; /* NaN = no such link is given */
	double least;                         /* of the fastest link */
	enum intra_cost cost;
};

struct intra_tables {
	struct option_graph graph, told; /* told: by topology, whatever is minimised */
	struct option_node *nodes, *told_nodes;
	struct option_edge *edges, *told_edges;
	double **values; /* of each node, then of each edge: time, time told, memory, one behind the other */
	json_t *places;  /* name of a node -> its place */
	const json_t *list; /* the nodes as they were given; borrowed */
	bool sized;
	int64_t cells;
};
/* Reads `nodes` and `edges`. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int intra_tables_read(const json_t *request, const struct intra_rates *rates, struct intra_tables *out,
                      struct sb_error *err);
void intra_tables_free(struct intra_tables *t);
#define INTRA_TABLES_AUTO __attribute__((cleanup(intra_tables_free))) struct intra_tables
/* {options: [the name, or else the place, of each node's option]}. New reference. */
json_t *intra_tables_solution(const struct intra_tables *t, const uint16_t *options);
/* `nodes` and `edges`: name -> JSON Schema, into p. */
void intra_tables_members(json_t *p);
#endif
