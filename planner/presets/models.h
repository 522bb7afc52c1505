#ifndef SB_PLANNER_PRESETS_MODELS_H
#define SB_PLANNER_PRESETS_MODELS_H
#include <stddef.h>

#include "planner/presets/presets.h"

/* How the tables of models_*.c are written: a row is a name, a source, a shape and a style. */

/* layers, hidden, query heads, key-value heads, size of a head, width of a dense FFN, vocabulary, sequence */
#define SHAPE(l, h, a, g, d, f, v, s)                                                                        \
	.layers = (l), .hidden = (h), .heads = (a), .kv_heads = (g), .head_dim = (d), .ffn_hidden = (f),     \
	.vocab = (v), .seq_len = (s)
/* GPT-2's block: GELU, LayerNorm, biases, learned positions, dropout, tied head. */
#define GPT                                                                                                  \
	.tied_embedding = true, .biases = true, .layer_norm = true, .learned_positions = true, .dropout = true
/* Llama's block: SwiGLU, RMSNorm, no biases, rotary positions, a head of its own. */
#define LLAMA .gated_ffn = true
#define ENCODER .bidirectional = true
/* experts, experts per token, width of one; shared experts, width of one; dense layers in front */
#define MOE(e, k, f, n, fs, first)                                                                           \
	.has_moe = true, .moe = {.experts = (e),                                                             \
	                         .top_k = (k),                                                               \
	                         .ffn_hidden = (f),                                                          \
	                         .shared_experts = (n),                                                      \
	                         .shared_ffn_hidden = (fs),                                                  \
	                         .every = 1,                                                                 \
	                         .first_dense = (first)}
/* experts of one FFN's width in every second layer, one a token */
#define SECOND(e, f)                                                                                         \
	.has_moe = true, .moe = {.experts = (e),                                                             \
	                         .top_k = 1,                                                                 \
	                         .ffn_hidden = (f),                                                          \
	                         .shared_ffn_hidden = (f),                                                   \
	                         .every = 2,                                                                 \
	                         .first_dense = 1}
/* a token's experts lie in so many of n groups */
#define GROUPS(n, top) .moe.groups = (n), .moe.top_groups = (top)
#define ROUTER_BIAS .moe.router_bias = true
/* ranks of the query (0: none) and of keys and values; a head's sizes without position, with it, of values */
#define MLA(rq, rkv, dn, dr, dv)                                                                             \
	.has_mla = true,                                                                                     \
	.mla = {.q_rank = (rq), .kv_rank = (rkv), .nope_dim = (dn), .rope_dim = (dr), .value_dim = (dv)}

struct model_family {
	const struct model_preset *rows;
	size_t count;
};

#define FAMILY_OF(table)                                                                                     \
	{                                                                                                    \
		(table), sizeof(table) / sizeof((table)[0])                                                  \
	}

extern const struct model_family gpt_models, megatron_models, llama_models, qwen_models, deepseek_models,
    pangu_models, encoder_models;
#endif
