#include "planner/cost/memory.h"

#include <math.h>

#include "base/num.h"
#include "planner/cost/offload.h"
#include "planner/cost/overlap.h"
#include "planner/cost/tensor_grid.h"

static double score_bytes(const struct model *m, const struct strategy *s)
{
	double len = (double)m->seq_len;
	double scores = (double)m->heads * (double)s->micro_batch * len / ((double)s->cp * (double)s->tp);

	if (s->attention == ATTENTION_FLASH)
		return 4 * scores; /* one log-sum-exp a row */
	/* Softmax output; with dropout also its mask and result. */
	return (m->dropout ? 5 : 2) * scores * len;
}

/* Of the busiest expert rank, before tensor ranks divide them. */
static double routed_rows(const struct model *m, const struct strategy *s, double rows)
{
	return model_busiest(m, s->ep) * (double)m->moe.top_k * rows;
}

/* Everything but the attention scores, nothing recomputed. */
static double plain_bytes(const struct model *m, const struct strategy *s, enum layer_kind kind)
{
	double t = (double)s->tp, h = (double)m->hidden, a = (double)m->heads;
	double rows = (double)s->micro_batch * (double)m->seq_len / (double)s->cp;
	double kept = m->gated_ffn ? 6 : 4; /* bytes an FFN column: gate, up, product; or GELU's in and out */
	double whole = rows * h * (8 + (m->dropout ? 2 : 0)), split;

	if (m->has_mla) {
		whole += 2 * rows * (double)(2 * m->mla.q_rank + 2 * m->mla.kv_rank + m->mla.rope_dim);
		split = 4 * rows * a * (double)(m->mla.nope_dim + m->mla.rope_dim + m->mla.value_dim);
	} else {
		split = 4 * rows * (double)m->head_dim * (a + (double)m->kv_heads);
	}
	if (kind == LAYER_DENSE) {
		split += kept * rows * (double)m->ffn_hidden;
	} else {
		double width = (double)(m->moe.shared_experts * m->moe.shared_ffn_hidden);

		split +=
		    routed_rows(m, s, rows) * (4 * h * (double)s->etp + kept * (double)m->moe.ffn_hidden);
		split += kept * rows * width + 8 * rows * (double)m->moe.experts;
	}
	return whole / (s->sequence_parallel ? t : 1) + split / t;
}

double layer_activation_bytes(const struct model *m, const struct strategy *s, enum layer_kind kind)
{
	double rows = (double)s->micro_batch * (double)m->seq_len / (double)s->cp;

	if (s->recompute == RECOMPUTE_FULL)
		return 2 * rows * (double)m->hidden / (s->sequence_parallel ? (double)s->tp : 1);
	if (s->recompute == RECOMPUTE_SELECTIVE && s->attention == ATTENTION_UNFUSED)
		return plain_bytes(m, s, kind);
	return plain_bytes(m, s, kind) + score_bytes(m, s);
}

int64_t chunks_in_flight(int64_t pp, int64_t vpp, int64_t micro_batches, int64_t stage)
{
	int64_t most = vpp == 1 ? pp - stage : 2 * (pp - stage - 1) + (vpp - 1) * pp + 1;
	int64_t all = micro_batches * vpp;

	return all < most ? all : most;
}

int64_t strategy_in_flight(const struct strategy *s, int64_t micro_batches, int64_t stage)
{
	int64_t own = chunks_in_flight(s->pp, s->vpp, micro_batches, stage);

	return overlap_in_pairs(s) && own < micro_batches * s->vpp ? own + 1 : own;
}

double memory_total(const struct memory_parts *m)
{
	return m->weights + m->gradients + m->optimizer + m->activations + m->workspace;
}

int64_t memory_bytes_of(const struct memory_parts *m)
{
	return (int64_t)ceil(memory_total(m));
}

/* Gathered inputs of products, two of them; in a grid as many columns as one x rank has, and as many results
 * before they are added up over x. */
static double gathered_bytes(const struct model *m, const struct strategy *s, double y)
{
	struct tensor_grid t = tensor_grid_of(s);

	if (!s->sequence_parallel || s->tp == 1)
		return 0;
	if (t.x == 1)
		return 2 * y;
	return 2 * y * (1 / (double)t.x + grid_widest_result(m, s) / (double)m->hidden);
}

/* Of a layer of the kind that keeps most: dense ones among experts may be the wider. */
static double replayed_bytes(const struct model *m, const struct strategy *s)
{
	double most = 0;

	for (int k = 0; k < LAYER_KINDS; k++) {
		if (model_layers_of(m, m->layers, (enum layer_kind)k) > 0)
			most = fmax(most, plain_bytes(m, s, (enum layer_kind)k));
	}
	return most + score_bytes(m, s);
}

static double transient_bytes(const struct model *m, const struct strategy *s)
{
	double rows = (double)s->micro_batch * (double)m->seq_len / (double)s->cp;
	double y = 2 * rows * (double)m->hidden, t = (double)s->tp, bytes = 0;

	if (s->recompute == RECOMPUTE_FULL)
		bytes += replayed_bytes(m, s);
	else if (s->recompute == RECOMPUTE_SELECTIVE && s->attention == ATTENTION_UNFUSED)
		bytes += score_bytes(m, s);
	bytes += gathered_bytes(m, s, y);
	if (s->pp > 1)
		bytes += 2 * y / t;
	if (s->cp * tensor_grid_of(s).x > 1)
		bytes += 4 * rows * (double)model_key_values(m) / t;
	if (m->has_moe)
		bytes += 4 * routed_rows(m, s, rows) * (double)m->hidden / t;
	return bytes;
}

/* What every tensor rank holds in one dimension (norms, biases of the hidden size, projections to latents)
 * goes with the hidden columns of an x rank; the router works on whole tokens. */
static double replicated_parameters(const struct model *m, enum layer_kind kind, int64_t replicated, double x)
{
	int64_t router =
	    kind == LAYER_MOE ? m->hidden * m->moe.experts + (m->moe.router_bias ? m->moe.experts : 0) : 0;

	return (double)(replicated - router) / x + (double)router;
}

struct memory_model memory_model_of(const struct cost_problem *p, const struct strategy *s)
{
	const struct model *m = &p->model;
	double rows = (double)s->micro_batch * (double)m->seq_len / (double)s->cp, t = (double)s->tp;
	double part = s->sequence_parallel ? t : 1, x = (double)tensor_grid_of(s).x;
	struct parameters e = model_embedding_parameters(m), o = model_head_parameters(m);
	struct memory_model r = {0};
	struct strategy kept = *s;

	kept.recompute = RECOMPUTE_NONE;
	for (int k = 0; k < LAYER_KINDS; k++) {
		struct parameters l = model_layer_parameters(m, (enum layer_kind)k);

		if (k == LAYER_MOE && !m->has_moe)
			break;
		r.replicated[k] = replicated_parameters(m, (enum layer_kind)k, l.replicated, x);
		r.dense_parameters[k] = (double)l.tensor / t + r.replicated[k];
		r.expert_parameters[k] = (double)l.expert / (double)(s->ep * s->etp);
		r.stored[k] = layer_activation_bytes(m, s, (enum layer_kind)k);
		r.kept_stored[k] = layer_activation_bytes(m, &kept, (enum layer_kind)k);
		if (model_layers_of(m, m->layers, (enum layer_kind)k) > 0)
			r.largest_layer =
			    fmax(r.largest_layer, r.dense_parameters[k] + r.expert_parameters[k]);
	}
	r.embedding_parameters = (double)e.tensor / t + (double)e.replicated / x;
	r.head_replicated = (double)o.replicated / x;
	r.head_parameters = (double)o.tensor / t + r.head_replicated;
	r.first_stored = m->dropout ? rows * (double)m->hidden / part : 0;
	/* Final norm's and head's input; logits in 16 and 32 bit with a 32-bit gradient. */
	r.last_transient = 4 * rows * (double)m->hidden / part + 10 * rows * (double)m->vocab / t;
	r.transient = transient_bytes(m, s);
	r.kept_transient = transient_bytes(m, &kept);
	return r;
}

/* What the layer of the stage keeps that keeps the most. */
static double largest_stored(const struct memory_model *m, const struct stage_run *run)
{
	double largest = 0;

	for (int k = 0; k < LAYER_KINDS; k++) {
		if (run->layers[k] > run->kept[k])
			largest = fmax(largest, m->stored[k]);
		if (run->kept[k] > 0)
			largest = fmax(largest, m->kept_stored[k]);
	}
	return largest;
}

struct offload_room stage_offload_room(const struct memory_model *m, const struct strategy *s,
                                       const struct stage_run *run, const struct memory_parts *kept)
{
	return offload_room_of(s, largest_stored(m, run), m->largest_layer, kept);
}

struct parameters_held stage_parameters(const struct cost_problem *p, const struct memory_model *m,
                                        const struct strategy *s, const struct stage_run *run)
{
	bool first = run->first == 0, last = run->first + run->count == s->pp;
	struct parameters_held n = {0};

	for (int k = 0; k < LAYER_KINDS; k++) {
		n.dense += (double)run->layers[k] * m->dense_parameters[k];
		n.expert += (double)run->layers[k] * m->expert_parameters[k];
	}
	if (first)
		n.dense += m->embedding_parameters;
	if (last)
		n.dense += m->head_parameters;
	if (first && last && p->model.tied_embedding) /* a single stage keeps one copy of it */
		n.dense -= (double)(p->model.vocab * p->model.hidden) / (double)s->tp;
	return n;
}

double shard_of(const struct strategy *s, const struct parameters_held *n)
{
	double replicas = (double)(s->dp * s->cp);
	double expert_replicas = (double)(s->tp * s->cp * s->dp) / (double)(s->ep * s->etp);

	return n->dense / replicas + n->expert / expert_replicas;
}

struct memory_parts stage_states(const struct cost_problem *p, const struct memory_model *m,
                                 const struct strategy *s, const struct stage_run *run)
{
	const struct parameters_held n = stage_parameters(p, m, s, run);
	double all = n.dense + n.expert, shard = shard_of(s, &n);

	return (struct memory_parts){.weights = 2 * (s->zero >= 3 ? shard : all),
	                             .gradients = 4 * (s->zero >= 2 ? shard : all),
	                             .optimizer = 12 * (s->zero >= 1 ? shard : all)};
}

static double stored_of(const struct memory_model *m, const int64_t layers[LAYER_KINDS],
                        const int64_t kept[LAYER_KINDS])
{
	double stored = 0;

	for (int k = 0; k < LAYER_KINDS; k++)
		stored += (double)(layers[k] - kept[k]) * m->stored[k] + (double)kept[k] * m->kept_stored[k];
	return stored;
}

double stage_stored(const struct memory_model *m, const struct stage_run *run)
{
	return stored_of(m, run->layers, run->kept);
}

static double chunk_stored(const struct cost_problem *p, const struct memory_model *m,
                           const struct strategy *s, const struct stage_run *run, int64_t j)
{
	struct chunk c = strategy_chunk(&p->model, s, run, j);

	return stored_of(m, c.layers, c.kept);
}

/* A turn of one chunk after the other, one way: which one, and how many micro-batches of it are left. */
struct turn {
	int64_t chunk, left;
};

static void pass_on(struct turn *t, int64_t step, int64_t pp, int64_t next)
{
	t->left -= step;
	if (t->left == 0)
		*t = (struct turn){next, pp};
}

/* What uneven chunks hold, at most. Groups of pp micro-batches take turns on the chunks, forward from the
 * first chunk on and back from the last one; once `ahead` are in flight, every forward is followed by a
 * backward, over and over again. What is held changes its course where a turn ends. stored: of each chunk. */
static double uneven_stored(const struct strategy *s, const double *stored, int64_t ahead, int64_t all)
{
	int64_t pp = s->pp, v = s->vpp, end = sb_smaller(ahead + pp * v, all);
	struct turn forward = {0, pp}, back = {v - 1, pp};
	double held = 0, most = 0;

	for (int64_t done = 0, step; done < end; done += step) {
		bool warm = done < ahead;

		step = sb_smaller(forward.left, warm ? ahead - done : sb_smaller(back.left, end - done));
		held += (double)step * stored[forward.chunk];
		if (!warm) {
			held -= (double)step * stored[back.chunk];
			pass_on(&back, step, pp, back.chunk > 0 ? back.chunk - 1 : v - 1);
		}
		pass_on(&forward, step, pp, forward.chunk < v - 1 ? forward.chunk + 1 : 0);
		most = held > most ? held : most;
	}
	return most;
}

/* How many of `ahead` in flight are of the last `longer` chunks, at most: when a turn of them all has ended,
 * pp of each have come and those of `back` turns have gone, which began with them. */
static int64_t longer_in_flight(const struct strategy *s, int64_t longer, int64_t ahead)
{
	int64_t turn = s->pp * s->vpp, come = s->pp * longer;

	if (ahead > turn)
		return 2 * come - sb_smaller(come, 2 * turn - ahead);
	return come - sb_smaller(come, turn - ahead);
}

/* Apart, so that only uneven chunks pay for the room that the most of them take. */
__attribute__((noinline)) static double
uneven_in_flight(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                 const struct stage_run *run, int64_t ahead, int64_t all)
{
	/* Two stages at least, and two slices without layers. */
	double stored[MODEL_LAYERS_MAX / 2 + 1];
	struct chunk_walk w = strategy_chunks(&p->model, s, run);

	for (int64_t j = 0; j < s->vpp; j++) {
		struct chunk c = strategy_next_chunk(&w);

		stored[j] = stored_of(m, c.layers, c.kept);
	}
	return uneven_stored(s, stored, ahead, all);
}

/* Activations of the micro-batches in flight, at the peak. A shorter last group of micro-batches counts as a
 * whole one. */
static double stored_in_flight(const struct cost_problem *p, const struct memory_model *m,
                               const struct strategy *s, const struct stage_run *run, int64_t micro_batches)
{
	int64_t all, ahead = strategy_in_flight(s, micro_batches, run->first);
	double shorter;

	if (!run->uneven && run->longer == 0)
		return (double)ahead / (double)s->vpp * stage_stored(m, run);
	all = (micro_batches + s->pp - 1) / s->pp * s->pp * s->vpp;
	ahead = strategy_in_flight(s, all / s->vpp, run->first);
	if (ahead == all)
		return (double)(all / s->vpp) * stage_stored(m, run);
	if (!run->uneven) {
		shorter = chunk_stored(p, m, s, run, 0);
		return (double)ahead * shorter + (double)longer_in_flight(s, run->longer, ahead) *
		                                     (chunk_stored(p, m, s, run, s->vpp - 1) - shorter);
	}
	return uneven_in_flight(p, m, s, run, ahead, all);
}

struct memory_parts stage_memory_beside(const struct cost_problem *p, const struct memory_model *m,
                                        const struct strategy *s, const struct stage_run *run,
                                        int64_t micro_batches, const struct memory_parts *states)
{
	bool first = run->first == 0, last = run->first + run->count == s->pp;
	double moving;
	double in_flight = (double)strategy_in_flight(s, micro_batches, run->first) / (double)s->vpp;
	struct memory_parts r = *states;
	int64_t recomputed = 0;

	for (int k = 0; k < LAYER_KINDS; k++)
		recomputed += run->layers[k] - run->kept[k];
	r.activations = stored_in_flight(p, m, s, run, micro_batches);
	/* Of the activations the layers' alone count as such, as published figures have it. */
	moving = (recomputed > 0 ? m->transient : m->kept_transient) + (last ? m->last_transient : 0) +
	         (first ? in_flight * m->first_stored : 0);
	if (s->zero >= 2)
		moving += 4 * m->largest_layer; /* the unit being reduced */
	if (s->zero >= 3)
		moving += 4 * m->largest_layer; /* two gathered units in 16 bit */
	r.host = 0;
	if (offload_any(&s->offload)) {
		const struct offload_room room = stage_offload_room(m, s, run, &r);

		moving += offload_memory(&s->offload, &room, &r);
	}
	r.workspace = p->constants.fragmentation * moving + (p->constants.fragmentation - 1) * r.activations +
	              p->constants.context_bytes;
	return r;
}

struct memory_parts stage_memory(const struct cost_problem *p, const struct memory_model *m,
                                 const struct strategy *s, const struct stage_run *run, int64_t micro_batches)
{
	struct memory_parts states = stage_states(p, m, s, run);

	return stage_memory_beside(p, m, s, run, micro_batches, &states);
}
