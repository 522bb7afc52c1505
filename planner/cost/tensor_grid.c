#include "planner/cost/tensor_grid.h"

#include <math.h>

#define MOST_WIDTHS 4

/* Columns of the tensors that the x ranks exchange, on one device. */
struct widths {
	double results[MOST_WIDTHS]; /* added up over x, or their gradients gathered */
	int count;
	double input; /* of the product out of the block: gathered over x */
};

double tensor_grid_elements(struct tensor_grid t, double rows, double inner, double outer)
{
	double x = (double)t.x, y = (double)t.y;

	return 2 * rows * (outer * (x - 1) + inner * (y - 1)) / (x * y);
}

static struct widths attention_widths(const struct model *m, double y)
{
	const struct mla *q = &m->mla;
	double a = (double)m->heads;
	struct widths w = {.input = a * (double)m->head_dim / y};

	if (!m->has_mla) {
		w.results[w.count++] = (a + 2 * (double)m->kv_heads) * (double)m->head_dim / y;
		return w;
	}
	w.input = a * (double)q->value_dim / y;
	if (q->q_rank > 0)
		w.results[w.count++] = (double)q->q_rank; /* every y rank makes the latents */
	w.results[w.count++] = a * (double)(q->nope_dim + q->rope_dim) / y;
	w.results[w.count++] = (double)(q->kv_rank + q->rope_dim);
	w.results[w.count++] = a * (double)(q->nope_dim + q->value_dim) / y;
	return w;
}

static double ffn_width(const struct model *m, enum layer_kind kind)
{
	return (double)(kind == LAYER_DENSE ? m->ffn_hidden
	                                    : m->moe.shared_experts * m->moe.shared_ffn_hidden);
}

static struct widths ffn_widths(const struct model *m, enum layer_kind kind, double y)
{
	double width = ffn_width(m, kind) / y;
	struct widths w = {.input = width};

	if (width > 0) {
		w.results[w.count++] = width;
		if (m->gated_ffn)
			w.results[w.count++] = width;
	}
	return w;
}

static void add_block(const struct cost_problem *p, const struct group *x, double column, struct widths w,
                      struct grid_exchange *io)
{
	double input = all_gather_seconds(&p->network, x, column * w.input);

	for (int i = 0; i < w.count; i++)
		io->once += all_gather_seconds(&p->network, x, column * w.results[i]);
	io->once += w.count > 0 ? input : 0;
	io->again += w.count > 0 ? input : 0;
}

/* The sums of a norm in 32 bit; a LayerNorm has two. */
static double sums_seconds(const struct cost_problem *p, const struct group *x, double rows)
{
	return all_reduce_seconds(&p->network, x, 4 * rows * (p->model.layer_norm ? 2 : 1));
}

double grid_norm_seconds(const struct cost_problem *p, const struct strategy *s, const struct groups *g)
{
	return sums_seconds(p, &g->tp_x, column_bytes(p, s) / 2 / (double)tensor_grid_of(s).y);
}

struct grid_exchange grid_exchange_of(const struct cost_problem *p, const struct strategy *s,
                                      const struct groups *g, enum layer_kind kind)
{
	const struct model *m = &p->model;
	double y = (double)tensor_grid_of(s).y, column = column_bytes(p, s);
	struct grid_exchange e = {2 * grid_norm_seconds(p, s, g), 0};

	add_block(p, &g->tp_x, column, attention_widths(m, y), &e);
	add_block(p, &g->tp_x, column, ffn_widths(m, kind, y), &e);
	if (m->has_mla) /* the latents' own norms, on all rows */
		e.once += (m->mla.q_rank > 0 ? 2 : 1) * sums_seconds(p, &g->tp_x, column / 2);
	if (kind == LAYER_MOE)
		e.once +=
		    2 * all_to_all_seconds(&p->network, &g->tp_x, column * (double)m->hidden / (double)s->tp);
	return e;
}

static double widest(struct widths w)
{
	double most = 0;

	for (int i = 0; i < w.count; i++)
		most = fmax(most, w.results[i]);
	return most;
}

double grid_widest_result(const struct model *m, const struct strategy *s)
{
	double y = (double)tensor_grid_of(s).y, most = widest(attention_widths(m, y));

	for (int k = 0; k < LAYER_KINDS; k++) {
		if (model_layers_of(m, m->layers, (enum layer_kind)k) > 0)
			most = fmax(most, widest(ffn_widths(m, (enum layer_kind)k, y)));
	}
	return most;
}
