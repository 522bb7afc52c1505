#ifndef SB_API_PLANS_INTRA_OPERATOR_SPLIT_H
#define SB_API_PLANS_INTRA_OPERATOR_SPLIT_H
#include "api/plans/intra_operator.h"
#include "planner/intra/split.h"

/* A graph of operators with shapes on a cluster: each way to split an operator is an option. */

struct split_kind { /* equal operators share their options */
	struct split_operator shape;
	struct split *splits;
	struct split_cost *costs;
	int64_t count;
	double *values; /* time, time told, memory, one behind the other */
};
struct split_table { /* changes between two kinds */
	size_t from, to;
	struct split_cost *costs;
	double *values; /* time, time told */
};
struct split_input {
	struct split_mesh mesh;
	double second_per_byte; /* of the fastest link: what every byte costs by volume; 0 = by topology */
	struct split_kind *kinds;
	struct split_table *tables;
	size_t kind_count, table_count;
	size_t *kind_of, *table_of; /* of each node, of each edge */
	struct option_graph graph, told;
	struct option_node *nodes, *told_nodes;
	struct option_edge *edges, *told_edges;
	int64_t edge_count, cells;
	json_t *places;     /* name -> place */
	const json_t *list; /* the operators as they were given; borrowed */
};
/* Reads `operators`, `training` and `element_bytes` of a request, with the mesh already in place. SB_EINVAL,
 * SB_EIMPOSSIBLE, SB_ENOMEM. */
int split_input_read(const json_t *request, struct split_input *io, struct sb_error *err);
void split_input_free(struct split_input *in);
#define SPLIT_INPUT_AUTO __attribute__((cleanup(split_input_free))) struct split_input
/* {operators: [{name, rows, columns, contraction}]}: parts at each level, innermost first; a dimension that
 * is not split is left out. New reference. */
json_t *split_solution(const struct split_input *in, const uint16_t *options);
/* Adds compute_seconds, communication_seconds and sent_bytes to what is predicted. */
void split_predicted(const struct split_input *in, const uint16_t *options, json_t *io);
void split_members(json_t *p);
#endif
