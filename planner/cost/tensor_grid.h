#ifndef SB_PLANNER_COST_TENSOR_GRID_H
#define SB_PLANNER_COST_TENSOR_GRID_H
#include "planner/cost/collectives.h"

/* Tensor parallelism over a grid of x * y * z ranks, as MindSpore's high-dimension tensor parallelism lays it
 * out: of a product (rows x inner) by (inner x outer), x exchanges the result, y the input and z the weights.
 * x = z = 1 is the usual one-dimensional kind, z = 1 the two-dimensional. cost-model section 8. */
struct tensor_grid {
	int64_t x, y, z;
};

/* Elements that one rank sends for one product:
 * 2 (rows outer (x - 1) + rows inner (y - 1) + inner outer (z - 1)) / (x y z). */
double tensor_grid_elements(const struct tensor_grid *t, double rows, double inner, double outer);
/* Seconds of that, elements of `bytes` bytes; the groups of the x, y and z ranks on the network. */
double tensor_grid_seconds(const struct network *n, const struct tensor_grid *t, const struct group groups[3],
                           double rows, double inner, double outer, double bytes);
#endif
