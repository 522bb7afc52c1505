#ifndef SB_PLANNER_STRATEGY_SPACE_H
#define SB_PLANNER_STRATEGY_SPACE_H
#include "planner/strategy/search.h"

/* The values that each degree may take. Private to the search. */

#define VALUES_MAX 512
struct values {
	int count;
	int64_t value[VALUES_MAX];
	bool left_out; /* there are more */
};

/* May the constraint have this value? A request that does not constrain it allows all. */
bool allowed_value(const struct search_request *r, enum constraint c, int64_t value);
/* What every strategy of the search starts from. */
struct strategy search_default(const struct search_request *r);
/* Sequence parallelism as the strategy has it, or has not: allowed, and of use? */
bool sequence_parallel_allowed(const struct search_request *r, const struct strategy *s);
/* How many ways to recompute there are. */
int recompute_modes(const struct search_request *r);
/* Divisors of n, ascending, as many as fit. */
void divisors(int64_t n, struct values *out);
/* tp, each with its tp_x: first one dimension, then what grids the request asks for. */
struct tensor_values {
	struct values tp;
	int64_t x[VALUES_MAX];
};
/* Counts what it leaves out in `out`. */
void tensor_values(const struct search_request *r, struct search_result *out, struct tensor_values *v);
/* cp beside this tp and tp_x: counts what it leaves out in `out`. */
void context_values(const struct search_request *r, const struct strategy *s, struct search_result *out,
                    struct values *v);
/* pp. */
void pipeline_values(const struct search_request *r, struct values *v);
/* ep and etp: experts are divided over the ranks of a stage in their own way, whatever tp, cp and dp are. */
void expert_values(const struct search_request *r, struct values *ep, struct values *etp);
/* Most layers by which shortening the last stage can pay: what the head weighs, in FLOPs of which a causal
 * model needs half of the scores, rounded up, at most 8. */
int64_t most_last_fewer(const struct model *m);
/* Most layers by which lengthening the first stage can pay: the dense ones before the first that holds
 * experts, which are lighter, at most 8. */
int64_t most_first_more(const struct model *m);
/* Counts `count` candidates as left out. Of the examples given, the one with the least seconds is kept; of
 * those that were not costed (NaN) the first. */
void count_rejection(struct search_result *out, enum rejection why, int64_t count,
                     const struct strategy *example, double seconds);
#endif
