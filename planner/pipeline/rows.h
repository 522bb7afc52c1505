#ifndef SB_PLANNER_PIPELINE_ROWS_H
#define SB_PLANNER_PIPELINE_ROWS_H
#include "planner/pipeline/pipeline.h"

/* Bounds that a user sets on layers: at_least <= sum of weight * layers <= at_most. */
struct pipeline_term {
	double weight;
	int64_t body, chunk, device; /* -1 = any */
	int recompute;               /* enum pipeline_recompute; -1 = any */
};
struct pipeline_row {
	const struct pipeline_term *terms;
	size_t count;
	double at_least, at_most; /* -INFINITY, INFINITY = none */
};

/* Is a stage one that the term counts? */
bool rows_counts_stage(const struct pipeline_problem *p, const struct pipeline_term *t, int64_t stage);
/* Does a plan keep to all rows of its problem? */
bool rows_hold(const struct pipeline_problem *p, const struct pipeline_stage *plan);
/* The layers of a stage, 0 or 1 at least; with one body also within what rows say of this stage alone. Rows
 * of several bodies, or of several stages together, are left to rows_hold(). */
void rows_bound_stage(const struct pipeline_problem *p, int64_t stage, int64_t *out_least, int64_t *out_most);
/* Takes out of the bodies what rows forbid everywhere ("no layer of this type recomputed in full").
 * bodies: a copy, p->body_count of them. */
void rows_forbid(const struct pipeline_problem *p, struct pipeline_body *bodies);
#endif
