#ifndef SB_PLANNER_COST_TENSOR_GRID_H
#define SB_PLANNER_COST_TENSOR_GRID_H
#include "planner/cost/compute.h"

/* Two-dimensional tensor parallelism over x * y ranks, y the inner ones, as MindSpore's high-dimension tensor
 * parallelism lays it out (MindFormers: use_3d_tensor_parallel with tp_z = 1). cost-model section 8.
 *
 * What is as wide as the model (residual, norms, inputs of a block) is kept with its tokens cut by y and its
 * columns by x; what is wide inside a block (heads, FFN) with its tokens cut by x and its columns by y; so
 * every activation, and every weight that tensor ranks divide at all, is 1 / (x y); of what each of them
 * holds (norms, projections to latents) 1 / x, the router whole. A product into a block (query, key and
 * value; gate and up) gathers its input over y and scatters its partial sums over x, a product out of it
 * gathers over x and scatters over y; the backward pass does the reverse, and gathers both inputs again for
 * the gradients of the weights. x = 1 is the usual kind, with sequence parallelism.
 *
 * Attention: heads are cut by y, tokens by x, so that K and V go round the ranks of x as they do round
 * context ranks. A norm adds up its sums over x. The latents of MLA are cut by x along their columns.
 * Experts need whole tokens: an all-to-all over x brings them together before the router and takes them apart
 * behind it, and the experts are divided over the x * y ranks as in one dimension. So are the embedding and
 * the head, along the vocabulary. */

/* Elements that one rank sends for two products, (rows x inner) by (inner x outer) and back by
 * (outer x inner), in one pass: 2 rows (outer (x - 1) + inner (y - 1)) / (x y). */
double tensor_grid_elements(struct tensor_grid t, double rows, double inner, double outer);

/* Seconds of the x ranks' part of a layer and micro-batch: in each pass, and what gathers inputs again in the
 * backward pass. */
struct grid_exchange {
	double once, again;
};
struct grid_exchange grid_exchange_of(const struct cost_problem *p, const struct strategy *s,
                                      const struct groups *g, enum layer_kind kind);
/* The sums of one norm over the hidden size, one pass; 0 in one dimension. */
double grid_norm_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g);
/* Columns of the widest result that is added up over x, on one device. */
double grid_widest_result(const struct model *m, const struct strategy *s);
#endif
