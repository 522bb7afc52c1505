#include "api/plans/problem.h"

#include <stdio.h>

#define MOST ((int64_t)1 << 40) /* model_check() knows the real bounds */

/* A document's own words about itself. */
#define DOCUMENT "name", "source", "preset"

static int read_moe(const json_t *o, const struct place *at, struct moe *m, struct sb_error *err)
{
	static const char *const members[] = {
	    "experts",     "top_k",       "ffn_hidden", "shared_experts", "shared_ffn_hidden", "every",
	    "first_dense", "router_bias", "n_group",    "topk_group",     "imbalance",         NULL};
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(o, at, "experts", REQUIRED, 1, MOST, &m->experts, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "top_k", REQUIRED, 1, MOST, &m->top_k, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "ffn_hidden", REQUIRED, 1, MOST, &m->ffn_hidden, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "shared_experts", OPTIONAL, 0, MOST, &m->shared_experts, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "shared_ffn_hidden", OPTIONAL, 1, MOST, &m->shared_ffn_hidden, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "every", OPTIONAL, 1, MOST, &m->every, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "first_dense", OPTIONAL, 0, MOST, &m->first_dense, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "n_group", OPTIONAL, 1, MOST, &m->groups, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "topk_group", OPTIONAL, 1, MOST, &m->top_groups, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "imbalance", OPTIONAL, 1, (double)MOST, &m->imbalance, err);
	return rc == SB_OK ? parse_boolean(o, at, "router_bias", &m->router_bias, err) : rc;
}

static int read_mla(const json_t *o, const struct place *at, struct mla *m, struct sb_error *err)
{
	static const char *const members[] = {"q_lora_rank",      "kv_lora_rank", "qk_nope_head_dim",
	                                      "qk_rope_head_dim", "v_head_dim",   NULL};
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(o, at, "q_lora_rank", OPTIONAL, 0, MOST, &m->q_rank, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "kv_lora_rank", REQUIRED, 1, MOST, &m->kv_rank, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "qk_nope_head_dim", REQUIRED, 1, MOST, &m->nope_dim, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "qk_rope_head_dim", REQUIRED, 0, MOST, &m->rope_dim, err);
	return rc == SB_OK ? parse_integer(o, at, "v_head_dim", REQUIRED, 1, MOST, &m->value_dim, err) : rc;
}

static int read_sizes(const json_t *o, const struct place *at, struct model *m, struct sb_error *err)
{
	const struct {
		const char *member;
		enum need need;
		int64_t *out;
	} rows[] = {
	    {"layers", REQUIRED, &m->layers},     {"hidden", REQUIRED, &m->hidden},
	    {"heads", REQUIRED, &m->heads},       {"kv_heads", OPTIONAL, &m->kv_heads},
	    {"head_dim", OPTIONAL, &m->head_dim}, {"ffn_hidden", REQUIRED, &m->ffn_hidden},
	    {"vocab", REQUIRED, &m->vocab},       {"seq_len", REQUIRED, &m->seq_len},
	};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
		rc = parse_integer(o, at, rows[i].member, rows[i].need, 1, MOST, rows[i].out, err);
	return rc;
}

/* What a plain FFN says about the rest: GPT-2's block (LayerNorm, biases, learned positions, dropout, tied
 * head); a gated one: Llama's. Each can be said otherwise. */
static int read_style(const json_t *o, const struct place *at, struct model *m, struct sb_error *err)
{
	bool gpt, causal = true;
	int rc = parse_boolean(o, at, "gated_ffn", &m->gated_ffn, err);

	gpt = !m->gated_ffn && !m->has_moe && !m->has_mla;
	m->tied_embedding = m->biases = m->layer_norm = m->learned_positions = m->dropout = gpt;
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "tied_embedding", &m->tied_embedding, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "biases", &m->biases, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "layer_norm", &m->layer_norm, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "learned_positions", &m->learned_positions, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "dropout", &m->dropout, err);
	if (rc == SB_OK)
		rc = parse_boolean(o, at, "causal", &causal, err);
	m->bidirectional = !causal;
	return rc;
}

static int read_parts(const json_t *o, const struct place *at, struct model *m, struct sb_error *err)
{
	const json_t *moe, *mla;
	struct place p = place_member(at, "moe"), q = place_member(at, "mla");
	int rc = parse_object(o, at, "moe", OPTIONAL, &moe, err);

	if (rc == SB_OK && moe) {
		m->has_moe = true;
		rc = read_moe(moe, &p, &m->moe, err);
	}
	if (rc == SB_OK)
		rc = parse_object(o, at, "mla", OPTIONAL, &mla, err);
	if (rc == SB_OK && mla) {
		m->has_mla = true;
		rc = read_mla(mla, &q, &m->mla, err);
	}
	return rc;
}

int model_from_json(const json_t *value, const struct place *at, struct model *out, struct sb_error *err)
{
	static const char *const members[] = {
	    "layers",     "hidden",    "heads",       "kv_heads",          "head_dim",
	    "ffn_hidden", "gated_ffn", "vocab",       "seq_len",           "dtype",
	    "moe",        "mla",       "biases",      "layer_norm",        "tied_embedding",
	    "dropout",    DOCUMENT,    "description", "learned_positions", "causal",
	    NULL};
	static const char *const dtypes[] = {"bf16", "fp16", NULL};
	struct model m = {0};
	struct sb_error why = {0};
	int dtype = 0, rc = parse_members(value, at, members, err);

	if (rc == SB_OK)
		rc = read_sizes(value, at, &m, err);
	if (rc == SB_OK)
		rc = read_parts(value, at, &m, err);
	if (rc == SB_OK)
		rc = read_style(value, at, &m, err);
	if (rc == SB_OK)
		rc = parse_word(value, at, "dtype", OPTIONAL, dtypes, &dtype, err);
	if (rc != SB_OK)
		return rc;
	if (m.head_dim == 0 && !m.has_mla && m.hidden % m.heads != 0)
		return parse_fail(err, SB_EIMPOSSIBLE, "not_divisible", at, "heads",
		                  "must divide hidden, or head_dim must be given");
	m.float16 = dtype == 1;
	model_defaults(&m);
	rc = model_check(&m, &why);
	if (rc != SB_OK) {
		struct place p = *at;

		snprintf(p.pointer, sizeof(p.pointer), "%.80s%s%.30s", at->pointer, why.field[0] ? "/" : "",
		         why.field);
		return parse_fail(err, rc, why.word, &p, NULL, why.text);
	}
	*out = m;
	return SB_OK;
}

static void set_flag(json_t *o, const char *member, bool value)
{
	json_object_set_new(o, member, json_boolean(value));
}

static void set_integer(json_t *o, const char *member, int64_t value)
{
	json_object_set_new(o, member, json_integer(value));
}

json_t *model_to_json(const struct model *m)
{
	json_t *o = json_object(), *part;

	set_integer(o, "layers", m->layers);
	set_integer(o, "hidden", m->hidden);
	set_integer(o, "heads", m->heads);
	set_integer(o, "kv_heads", m->kv_heads);
	set_integer(o, "head_dim", m->head_dim);
	set_integer(o, "ffn_hidden", m->ffn_hidden);
	set_flag(o, "gated_ffn", m->gated_ffn);
	set_integer(o, "vocab", m->vocab);
	set_integer(o, "seq_len", m->seq_len);
	set_flag(o, "tied_embedding", m->tied_embedding);
	set_flag(o, "biases", m->biases);
	set_flag(o, "layer_norm", m->layer_norm);
	set_flag(o, "learned_positions", m->learned_positions);
	set_flag(o, "dropout", m->dropout);
	set_flag(o, "causal", !m->bidirectional);
	json_object_set_new(o, "dtype", json_string(m->float16 ? "fp16" : "bf16"));
	if (m->has_moe) {
		part = json_object();
		set_integer(part, "experts", m->moe.experts);
		set_integer(part, "top_k", m->moe.top_k);
		set_integer(part, "ffn_hidden", m->moe.ffn_hidden);
		set_integer(part, "shared_experts", m->moe.shared_experts);
		set_integer(part, "shared_ffn_hidden", m->moe.shared_ffn_hidden);
		set_integer(part, "every", m->moe.every);
		set_integer(part, "first_dense", m->moe.first_dense);
		set_flag(part, "router_bias", m->moe.router_bias);
		if (m->moe.groups > 0) {
			set_integer(part, "n_group", m->moe.groups);
			set_integer(part, "topk_group", m->moe.top_groups);
		}
		if (m->moe.imbalance > 0)
			json_object_set_new(part, "imbalance", json_real(m->moe.imbalance));
		json_object_set_new(o, "moe", part);
	}
	if (m->has_mla) {
		part = json_object();
		set_integer(part, "q_lora_rank", m->mla.q_rank);
		set_integer(part, "kv_lora_rank", m->mla.kv_rank);
		set_integer(part, "qk_nope_head_dim", m->mla.nope_dim);
		set_integer(part, "qk_rope_head_dim", m->mla.rope_dim);
		set_integer(part, "v_head_dim", m->mla.value_dim);
		json_object_set_new(o, "mla", part);
	}
	return o;
}
