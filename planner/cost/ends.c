/* What the first and the last stage have beside their layers. */
#include "planner/cost/compute.h"
#include "planner/cost/tensor_grid.h"

struct layer_time embedding_seconds(const struct cost_problem *p, const struct strategy *s,
                                    const struct groups *g)
{
	double y = column_bytes(p, s) * (double)p->model.hidden;
	double read = memory_seconds(p, 2 * y) + p->constants.launch_seconds;
	struct layer_time t = {0};

	t.parts[PART_COMPUTE] = 2 * read;
	t.parts[PART_TENSOR] = s->sequence_parallel ? all_gather_seconds(&p->network, &g->tp, y)
	                                            : all_reduce_seconds(&p->network, &g->tp, y);
	t.forward = read + t.parts[PART_TENSOR];
	t.backward = read;
	return t;
}

struct layer_time head_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g)
{
	double rows = (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp;
	double width = (double)p->model.vocab / (double)s->tp, h = (double)p->model.hidden;
	/* Logits: written in 16 bit, cast, reduced; about 6 bytes an element each way. */
	double product = gemm_seconds(p, rows, width, h);
	double once = product + memory_seconds(p, 6 * rows * width);
	double y = 2 * rows * h;
	double exchange = s->sequence_parallel ? all_gather_seconds(&p->network, &g->tp, y)
	                                       : all_reduce_seconds(&p->network, &g->tp, y);
	double loss = 3 * all_reduce_seconds(&p->network, &g->tp, 4 * rows);
	double norm = grid_norm_seconds(p, s, g);
	struct layer_time t = {0};

	t.weight = product;
	t.parts[PART_COMPUTE] = 3 * once;
	t.parts[PART_TENSOR] = exchange + loss + (s->sequence_parallel ? exchange : 0) + 2 * norm;
	t.forward = once + loss + (s->sequence_parallel ? exchange : 0) + norm;
	t.backward = 2 * once + exchange + norm;
	return t;
}
