#ifndef SB_PLANNER_MODEL_H
#define SB_PLANNER_MODEL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define MODEL_LAYERS_MAX 4096

/* A transformer as the planner sees it: shapes only. All counts are per model unless said. */

/* Routed experts. Layer i holds experts when i >= first_dense and (i - first_dense) % every == 0. */
struct moe {
	int64_t experts, top_k, ffn_hidden;
	int64_t shared_experts, shared_ffn_hidden; /* width of one shared expert */
	int64_t every, first_dense;
	bool router_bias;
	/* The experts are cut into so many equal groups, one after the other, and a token's lie in at most
	 * top_groups of them (DeepSeek-V2, section 2.2.2, DeepSeek-V3, section 2.1.2); 0: in any. */
	int64_t groups, top_groups;
	double imbalance; /* tokens of the busiest expert rank over the mean, from 1; 0 = 1 */
};

/* Multi-head latent attention (DeepSeek-V2): low-rank and head sizes. q_rank 0 = direct query projection. */
struct mla {
	int64_t q_rank, kv_rank, nope_dim, rope_dim, value_dim;
};

/* vocab is taken as it is given. Megatron and what builds on it pad it to a multiple of 128 tp, MindFormers
 * and torchtitan do not; who will start a plan is not known when it is weighed, and it must cost the same
 * whichever launcher's text it is read back from. Padding adds less than 128 tp rows: of 128,256 at tp 8 0.6
 * percent of embedding and head. Who wants it counted gives the padded number. */
struct model {
	int64_t layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab, seq_len;
	bool gated_ffn;      /* three matrices (SwiGLU) instead of two (GELU) */
	bool tied_embedding; /* the head reuses the embedding */
	bool biases;         /* on the linear layers */
	bool layer_norm;     /* LayerNorm (2 vectors) instead of RMSNorm (1) */
	bool learned_positions;
	bool dropout;       /* masks are kept for the backward pass */
	bool float16;       /* trained in float16 instead of bfloat16: as large, but with a scaled loss */
	bool bidirectional; /* an encoder: every token attends to all, where a decoder's sees those before it
	                     */
	bool has_moe, has_mla;
	struct moe moe;
	struct mla mla;
};

enum layer_kind { LAYER_DENSE, LAYER_MOE, LAYER_KINDS };

/* Parameters by how they are sharded (research page cost-model, section 2): over tensor ranks, on every
 * tensor rank, over expert ranks. */
struct parameters {
	int64_t tensor, replicated, expert;
};

/* Fills what was left 0 from the rest: kv_heads = heads, head_dim = hidden / heads (with latent attention
 * mla.value_dim: its heads are of their own sizes), moe.every = 1, moe.shared_ffn_hidden = moe.ffn_hidden.
 * Call it before model_check(). */
void model_defaults(struct model *m);
/* SB_EIMPOSSIBLE with the member's name in err->field when a size is out of range or the parts do not fit. */
int model_check(const struct model *m, struct sb_error *err);
/* The kind of layer i, 0 <= i < layers. */
enum layer_kind model_layer_kind(const struct model *m, int64_t i);
/* How many of the first n layers have that kind. */
int64_t model_layers_of(const struct model *m, int64_t n, enum layer_kind kind);
/* Parameters of one layer, norms and biases included. */
struct parameters model_layer_parameters(const struct model *m, enum layer_kind kind);
/* Input embedding (and learned positions); zero bytes are replicated. */
struct parameters model_embedding_parameters(const struct model *m);
/* Final norm and head; the head's matrix is counted even when tied: it exists on the last stage. */
struct parameters model_head_parameters(const struct model *m);
/* All parameters, a tied head once. */
int64_t model_parameters(const struct model *m);
/* Parameters that one token passes through: top_k of the routed experts. */
int64_t model_active_parameters(const struct model *m);

/* Forward FLOP of one sequence (a multiply-add is 2), cost-model section 3. */
struct layer_flops {
	double linear; /* matrix products with weights, experts included */
	double scores; /* attention core over the full square (kappa = 1) */
};
/* One layer, FLOP. */
struct layer_flops model_layer_flops(const struct model *m, enum layer_kind kind);
/* How many times its mean share of the tokens the busiest of so many expert ranks has: cost-model section 3's
 * rho, for time and memory, never for model FLOP. A rank that holds all experts has all of its own tokens. */
static inline double model_busiest(const struct model *m, int64_t ep)
{
	return ep > 1 && m->moe.imbalance > 1 ? m->moe.imbalance : 1;
}
/* The product with the head's matrix, FLOP. */
double model_head_flops(const struct model *m);
/* Keys and values of one token in one layer, elements. */
int64_t model_key_values(const struct model *m);
/* The share of the square that a kernel which skips what is masked works on: cost-model section 3's kappa,
 * 1/2 under a causal mask, 1 in an encoder. */
double model_kappa(const struct model *m);
/* Model FLOP of one training step over `sequences`: 3 x forward; kappa = 1 counts the full square (as MFU
 * does for every model), model_kappa() what is not masked. */
double model_step_flops(const struct model *m, int64_t sequences, double kappa);
#endif
