#include "planner/cost/compute.h"

#include <math.h>

#include "planner/cost/overlap.h"
#include "planner/cost/tensor_grid.h"

/* Bytes a score element, backward over forward. Forward 13: the product writes 2, softmax reads and writes 4,
 * dropout reads 2, writes 2 and a mask of 1, the second product reads 2. Backward 19: the product's gradient
 * writes 2, dropout 5, softmax 6, the three products read 6. */
#define SCORE_BACKWARD (19.0 / 13)

/* Strides of the dimensions in the strategy's rank order. */
static void strides_of(const struct strategy *s, int64_t stride[DIMS])
{
	const int64_t size[DIMS] = {[DIM_TP] = s->tp, [DIM_CP] = s->cp, [DIM_DP] = s->dp, [DIM_PP] = s->pp};
	int64_t at = 1;

	for (int i = 0; i < DIMS; i++) {
		stride[s->order[i]] = at;
		at *= size[s->order[i]];
	}
}

/* `count` expert ranks, `step` apart in the numbering of one stage (tp, cp and dp in their own order), as
 * axes in real ranks: the pipeline lies behind `inner` of them. */
static struct group expert_group(const struct network *n, const struct strategy *s, int64_t inner,
                                 int64_t step, int64_t count)
{
	if (step * count <= inner)
		return group_on(n, &(struct axis){count, step}, 1, strategy_ranks(s));
	if (step >= inner)
		return group_on(n, &(struct axis){count, step * s->pp}, 1, strategy_ranks(s));
	return group_on(n, (struct axis[]){{inner / step, step}, {count * step / inner, inner * s->pp}}, 2,
	                strategy_ranks(s));
}

/* Both sides of the grid, y inside, and the x ranks of every context rank: ring attention goes round them.
 */
static void grid_groups(const struct network *n, const struct strategy *s, const int64_t stride[DIMS],
                        struct groups *g)
{
	struct tensor_grid t = tensor_grid_of(s);
	struct axis x = {t.x, stride[DIM_TP] * t.y}, cp = {s->cp, stride[DIM_CP]};

	if (t.x == 1) {
		g->tp_x = (struct group){.ranks = 1, .inside = {1, 1, 1}};
		g->tp_y = g->tp;
		g->cp = group_on(n, &cp, 1, strategy_ranks(s));
		return;
	}
	g->tp_x = group_on(n, &x, 1, strategy_ranks(s));
	g->tp_y = group_on(n, &(struct axis){t.y, stride[DIM_TP]}, 1, strategy_ranks(s));
	g->cp = x.stride < cp.stride ? group_on(n, (struct axis[]){x, cp}, 2, strategy_ranks(s))
	                             : group_on(n, (struct axis[]){cp, x}, 2, strategy_ranks(s));
}

/* DualPipe's second copy of a stage lies on the mirrored device of the pipeline. */
static struct group with_mirror(const struct network *n, struct group g, const struct group *pp)
{
	g.ranks *= 2;
	for (int l = 0; l < n->levels; l++)
		g.inside[l] *= pp->inside[l] == pp->ranks ? 2 : 1;
	return g;
}

struct groups groups_of(const struct network *n, const struct strategy *s)
{
	int64_t stride[DIMS];
	struct groups g;
	struct axis both[2];
	int64_t rest = s->tp * s->cp * s->dp / (s->ep * s->etp);

	strides_of(s, stride);
	g.tp = group_on(n, &(struct axis){s->tp, stride[DIM_TP]}, 1, strategy_ranks(s));
	grid_groups(n, s, stride, &g);
	g.pp = group_on(n, &(struct axis){s->pp, stride[DIM_PP]}, 1, strategy_ranks(s));
	both[0] = (struct axis){s->cp, stride[DIM_CP]};
	both[1] = (struct axis){s->dp, stride[DIM_DP]};
	if (both[0].stride > both[1].stride || (both[0].stride == both[1].stride && s->dp == 1)) {
		both[0] = both[1];
		both[1] = (struct axis){s->cp, stride[DIM_CP]};
	}
	g.dp = group_on(n, both, 2, strategy_ranks(s));
	g.etp = expert_group(n, s, stride[DIM_PP], 1, s->etp);
	g.ep = expert_group(n, s, stride[DIM_PP], s->etp, s->ep);
	g.edp = expert_group(n, s, stride[DIM_PP], s->etp * s->ep, rest);
	if (s->schedule == PIPELINE_DUALPIPE) {
		g.dp = with_mirror(n, g.dp, &g.pp);
		g.edp = with_mirror(n, g.edp, &g.pp);
	}
	g.dense = exchange_of(n, &g.dp);
	g.experts = exchange_of(n, &g.edp);
	g.tensor = exchange_of(n, &g.tp_y);
	return g;
}

double gemm_full_flop(double flop, double half)
{
	/* Half the speed at half_flop: (1 + x)^(2/3) = 2. */
	const double start = 2 * sqrt(2) - 1;
	double both = flop * sqrt(flop) + start * half * sqrt(half);

	return cbrt(both * both);
}

double gemm_seconds(const struct cost_problem *p, double m, double n, double k)
{
	const struct constants *c = &p->constants;
	double flop = 2 * m * n * k, bytes = 2 * (m * k + k * n + m * n);
	double busy =
	    gemm_full_flop(flop, c->gemm_half_flop) / (p->cluster.device.peak_flops * c->gemm_share);

	return fmax(busy, bytes / (p->cluster.device.memory_bandwidth * c->memory_share)) + c->launch_seconds;
}

/* Seconds of the products into a block and of the one out of it: sequence parallelism gathers before those,
 * and scatters behind this. */
struct products {
	double in, out;
};

static struct products attention_gemms(const struct cost_problem *p, const struct strategy *s, double rows)
{
	const struct model *m = &p->model;
	const struct mla *q = &m->mla;
	struct tensor_grid grid = tensor_grid_of(s);
	double x = (double)grid.x, t = (double)grid.y, h = (double)m->hidden / x, a = (double)m->heads;

	if (m->has_mla) {
		double key = (double)(q->nope_dim + q->rope_dim), rq = (double)q->q_rank;
		double seconds =
		    q->q_rank > 0 ? gemm_seconds(p, rows, rq, h) + gemm_seconds(p, rows, a * key / t, rq / x)
		                  : gemm_seconds(p, rows, a * key / t, h);

		seconds += gemm_seconds(p, rows, (double)(q->kv_rank + q->rope_dim), h) +
		           gemm_seconds(p, rows, a * (double)(q->nope_dim + q->value_dim) / t,
		                        (double)q->kv_rank / x);
		return (struct products){seconds, gemm_seconds(p, rows, h, a * (double)q->value_dim / t)};
	}
	return (struct products){
	    gemm_seconds(p, rows, (a + 2 * (double)m->kv_heads) * (double)m->head_dim / t, h),
	    gemm_seconds(p, rows, h, a * (double)m->head_dim / t)};
}

/* width and hidden: of the block on one device. */
static struct products ffn_gemms(const struct cost_problem *p, double rows, double width, double hidden)
{
	double up = p->model.gated_ffn ? 2 : 1;

	return (struct products){up * gemm_seconds(p, rows, width, hidden),
	                         gemm_seconds(p, rows, hidden, width)};
}

/* Tokens that the busiest device gets for its experts, counted once for each expert they go to: in balanced
 * routing as many as it sends. */
static double routed_tokens(const struct model *m, const struct strategy *s)
{
	return model_busiest(m, s->ep) * (double)m->moe.top_k * (double)s->micro_batch * (double)m->seq_len /
	       ((double)s->tp * (double)s->cp);
}

/* Of the routed experts and the router. */
static double expert_gemms(const struct cost_problem *p, const struct strategy *s, double rows)
{
	const struct model *m = &p->model;
	double h = (double)m->hidden, experts = (double)m->moe.experts / (double)s->ep;
	double tokens = routed_tokens(m, s) * (double)s->etp / experts;
	double width = (double)m->moe.ffn_hidden / (double)s->etp;
	const struct products one = ffn_gemms(p, tokens, width, h);
	/* One launch serves all local experts. */
	double seconds = experts * (one.in + one.out - (m->gated_ffn ? 3 : 2) * p->constants.launch_seconds) +
	                 (m->gated_ffn ? 3 : 2) * p->constants.launch_seconds;

	return seconds + gemm_seconds(p, rows / (double)s->tp, (double)m->moe.experts, h);
}

/* Of the block behind attention that tensor ranks divide: the FFN, or the shared experts if there are any. */
static struct products block_gemms(const struct cost_problem *p, const struct strategy *s,
                                   enum layer_kind kind, double rows)
{
	const struct model *m = &p->model;
	struct tensor_grid t = tensor_grid_of(s);
	int64_t width =
	    kind == LAYER_DENSE ? m->ffn_hidden : m->moe.shared_experts * m->moe.shared_ffn_hidden;

	if (width == 0)
		return (struct products){0, 0};
	return ffn_gemms(p, rows, (double)width / (double)t.y, (double)m->hidden / (double)t.x);
}

struct passes {
	double forward, backward;
};

/* The attention core on one device: all context steps of its share together. */
static struct passes core_seconds(const struct cost_problem *p, const struct strategy *s)
{
	const struct model *m = &p->model;
	double share = (double)s->micro_batch / ((double)s->tp * (double)s->cp);
	double flop = model_layer_flops(m, LAYER_DENSE).scores * share;
	double peak = p->cluster.device.peak_flops, len = (double)m->seq_len, busy, moved;

	if (s->attention == ATTENTION_FLASH) {
		busy = model_kappa(m) * flop / (peak * p->constants.flash_share);
		return (struct passes){busy, 2.5 * busy};
	}
	busy = flop / (peak * p->constants.score_share);
	moved = memory_seconds(p, p->constants.score_bytes * (double)m->heads * len * len * share);
	return (struct passes){busy + moved, 2 * busy + SCORE_BACKWARD * moved};
}

static double element_seconds(const struct cost_problem *p, const struct strategy *s, enum layer_kind kind,
                              double rows)
{
	const struct model *m = &p->model;
	double t = (double)s->tp, h = (double)m->hidden, matrices = m->gated_ffn ? 3 : 2;
	double bytes = p->constants.element_passes * 2 * rows * h / (s->sequence_parallel ? t : 1);

	bytes += 6 * rows * (double)(m->heads * m->head_dim) / t;
	if (kind == LAYER_DENSE) {
		bytes += 2 * matrices * rows * (double)m->ffn_hidden / t;
	} else {
		double tokens = routed_tokens(m, s);

		bytes += 2 * matrices * tokens * (double)m->moe.ffn_hidden + 8 * tokens * h;
		bytes += 2 * matrices * rows * (double)(m->moe.shared_experts * m->moe.shared_ffn_hidden) / t;
	}
	return memory_seconds(p, bytes);
}

double overlapped_seconds(const struct constants *k, double exchange, double window)
{
	return fmax(0, exchange - window) + (k->overlap_slowdown - 1) * fmin(exchange, window);
}

/* What is exposed of an exchange in each pass, and how long it runs under compute in both. */
struct exposed {
	double forward, backward, hidden;
};

/* One block's gathers and scatters in pieces: in the backward pass the output's gradient is gathered under
 * the product that makes its input's, and this one scattered under the gradients of the weights. Returns
 * what runs under products that make inputs' gradients. */
static double overlap_block(const struct constants *k, const struct strategy *s, double gather,
                            const struct products *x, struct exposed *io)
{
	double again = overlap_pieces(gather, x->out, (double)s->tp);
	double forward =
	    overlap_pieces(gather, x->in, (double)s->tp) + overlap_pieces(gather, x->out, SCATTER_SPLITS);
	double backward = again + overlap_pieces(gather, x->in, SCATTER_SPLITS);

	io->forward -= overlap_won(k, forward);
	io->backward -= overlap_won(k, backward);
	io->hidden += forward + backward;
	return again;
}

/* `linear` is the time of the layer's products, and of their input gradients: sequence parallelism gathers
 * the products' inputs again under those. In a grid this is the exchange of the y ranks, each with the hidden
 * columns of one x rank; that of the x ranks comes on top. */
static struct exposed tensor_exchange(const struct cost_problem *p, const struct strategy *s,
                                      const struct groups *g, enum layer_kind kind,
                                      const struct products x[2], double linear)
{
	struct tensor_grid t = tensor_grid_of(s);
	double y = column_bytes(p, s) * (double)p->model.hidden / (double)t.x;
	double gather = s->sequence_parallel ? all_gather_seconds(&p->network, &g->tp_y, y) : 0;
	double once = s->sequence_parallel ? 2 * gather : all_reduce_seconds(&p->network, &g->tp_y, y);
	struct grid_exchange wide = {0};
	struct exposed e;
	double again, blocks = kind == LAYER_DENSE || p->model.moe.shared_experts > 0 ? 2 : 1;

	if (t.x > 1)
		wide = grid_exchange_of(p, s, g, kind);
	once = blocks * once + wide.once;
	e = (struct exposed){once, once, 0};
	for (int i = 0; overlap_tensor_ranks(s) && i < (int)blocks; i++)
		linear -= overlap_block(&p->constants, s, gather, &x[i], &e);
	again = blocks * gather + wide.again;
	e.backward += overlapped_seconds(&p->constants, again, linear);
	e.hidden += fmin(again, linear);
	return e;
}

/* Ring attention: each of the cp x tp_x steps hides the next block's transfer under its compute. */
static struct exposed context_exchange(const struct cost_problem *p, const struct strategy *s,
                                       const struct groups *g, struct passes core)
{
	const struct model *m = &p->model;
	double c = (double)(s->cp * tensor_grid_of(s).x), once, twice;
	double block = column_bytes(p, s) * (double)model_key_values(m) / (double)s->tp;

	if (c == 1)
		return (struct exposed){0, 0, 0};
	once = send_seconds(&p->network, &g->cp, block);
	twice = send_seconds(&p->network, &g->cp, 2 * block);
	return (struct exposed){(c - 1) * fmax(0, once - core.forward / c),
	                        (c - 1) * fmax(0, twice - core.backward / c),
	                        (c - 1) * (fmin(once, core.forward / c) + fmin(twice, core.backward / c))};
}

/* There and back, in one pass: gradients go as the activations do. */
static double expert_exchange(const struct cost_problem *p, const struct strategy *s, const struct groups *g)
{
	const struct moe *e = &p->model.moe;
	const struct routing r = {e->top_k, e->groups, e->top_groups};
	double elements = routed_tokens(&p->model, s) * (double)p->model.hidden;

	return dispatch_seconds(&p->network, &g->ep, &r, (s->dispatch_fp8 ? 1 : 2) * elements) +
	       dispatch_seconds(&p->network, &g->ep, &r, 2 * elements) +
	       2 * all_gather_seconds(&p->network, &g->etp, 2 * elements * (double)s->etp);
}

struct layer_time layer_seconds(const struct cost_problem *p, const struct strategy *s,
                                const struct groups *g, enum layer_kind kind)
{
	double rows = (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp;
	const struct products x[] = {attention_gemms(p, s, rows), block_gemms(p, s, kind, rows)};
	double linear = x[0].in + x[0].out + x[1].in + x[1].out;
	double element = element_seconds(p, s, kind, rows), expert = 0;
	struct passes core = core_seconds(p, s);
	struct exposed tensor, context;
	struct layer_time l = {0};
	double replay = 0;

	if (kind == LAYER_MOE) {
		linear += expert_gemms(p, s, rows);
		expert = expert_exchange(p, s, g);
	}
	tensor = tensor_exchange(p, s, g, kind, x, linear);
	context = context_exchange(p, s, g, core);
	if (s->recompute == RECOMPUTE_FULL)
		replay = linear + core.forward + element;
	else if (s->recompute == RECOMPUTE_SELECTIVE && s->attention == ATTENTION_UNFUSED)
		replay = core.forward;
	if (s->recompute == RECOMPUTE_FULL) { /* the replayed forward sends again */
		tensor.backward += tensor.forward;
		context.backward += context.forward;
	}
	l.parts[PART_COMPUTE] = 3 * linear + core.forward + core.backward + 3 * element;
	l.weight = linear; /* one product each, as forward and as the gradient of the input */
	l.free = fmax(0, l.parts[PART_COMPUTE] - tensor.hidden - context.hidden) / 2;
	if (s->overlap_expert) {
		l.alone = overlap_won(&p->constants, fmin(expert, l.free));
		l.free -= fmin(expert, l.free);
	}
	l.forward = linear + core.forward + element + tensor.forward + context.forward + expert - l.alone;
	l.parts[PART_RECOMPUTE] = replay;
	l.parts[PART_TENSOR] = tensor.forward + tensor.backward;
	l.parts[PART_CONTEXT] = context.forward + context.backward;
	l.parts[PART_EXPERT] = (s->recompute == RECOMPUTE_FULL ? 3 : 2) * expert - 2 * l.alone;
	l.backward = -l.forward;
	for (int i = 0; i < LAYER_PARTS; i++)
		l.backward += l.parts[i];
	return l;
}
