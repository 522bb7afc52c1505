#ifndef SB_PLANNER_PIPELINE_CELLS_H
#define SB_PLANNER_PIPELINE_CELLS_H
#include "planner/pipeline/pipeline.h"
#include "planner/pipeline/ways.h"

/* What a stage can be: any run of the model's layers, and the ways to recompute in it. Layers are counted
 * through the bodies, from 0; head and tail are not part of a cell. */
struct cells;

/* Ways of one cell of which no other one takes less time and keeps less: by rising backward and falling
 * activation. Borrowed from the cells; valid until they are freed. */
struct cell_ways {
	const double *backward, *activation;
	size_t count;
	bool thinned; /* there were more than CELL_WAYS_MAX: only some of them, the first and the last
	                 included */
};
#define CELL_WAYS_MAX WAYS_MAX

/* *out is to be freed by cells_free(); it borrows the problem. SB_ENOMEM. */
int cells_open(const struct pipeline_problem *p, struct cells **out);
void cells_free(struct cells **c);
#define CELLS_AUTO __attribute__((cleanup(cells_free))) struct cells *
double cells_forward(const struct cells *c, int64_t first, int64_t count);
/* pipeline_fixed_bytes() of all. */
double cells_parameters(const struct cells *c, int64_t first, int64_t count);
/* The first of the ways to hold these layers, without a look at the others. */
void cells_quickest(const struct cells *c, int64_t first, int64_t count, double *out_backward,
                    double *out_activation);
/* The ways to hold these layers; worked out once a kind of cell. All searches go through here, over and over:
 * SB_ECANCELED soon after the problem's watch was told to stop. SB_ENOMEM. */
int cells_ways(struct cells *c, int64_t first, int64_t count, struct cell_ways *out);
/* Was any list thinned so far? Then what was found with them need not be the best. */
bool cells_thinned(const struct cells *c);
/* The way that takes least backward within an activation of one micro-batch; -1 = none keeps so little. */
int64_t cells_way_within(const struct cell_ways *w, double activation);
/* One way of a cell as a stage of a plan: out[body], the others 0. SB_ENOMEM. */
int cells_stage(struct cells *c, int64_t first, int64_t count, size_t way, struct pipeline_stage *out);
#endif
