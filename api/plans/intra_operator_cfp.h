#ifndef SB_API_PLANS_INTRA_OPERATOR_CFP_H
#define SB_API_PLANS_INTRA_OPERATOR_CFP_H
#include "api/plans/intra_operator.h"
#include "api/plans/link_rate.h"
#include "planner/intra/reshard.h"

/* The request of method `cfp`, as a chain of segments of a few kinds. */

#define CFP_OPTIONS_MAX 64

struct cfp_option {
	const char *name, *leave_name; /* layouts as given; borrowed */
	struct lying entry, leave;
	double seconds, memory;
};
struct cfp_kind {
	const char *name; /* NULL = none; borrowed */
	struct cfp_option *options;
	int64_t option_count;
	double tensor; /* bytes of what a segment hands on */
};
struct cfp_input {
	struct cfp_kind *kinds;
	size_t kind_count;
	uint16_t *chain; /* the kind of each segment */
	size_t chain_count;
	int64_t devices, distinct;
	struct link_rate link;
	bool sized;
	json_t *layouts; /* name -> number */
	json_t *made;    /* {segments} out of operators or profiles; NULL where they were given */
	struct option_graph graph;
	struct option_node *nodes;
	struct option_edge *edges;
	double **tables, **times;
	size_t table_count;
};
void cfp_input_free(struct cfp_input *in);

/* `operators` or `profiles` (their layers already in place) of a request as {segments: [...]}; *out_distinct:
 * how many of them had to be measured. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int cfp_from_operators(const json_t *request, json_t **out, int64_t *out_distinct, struct sb_error *err);
int cfp_from_profiles(const json_t *request, json_t **out, int64_t *out_distinct, struct sb_error *err);
#endif
