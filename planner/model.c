#include "planner/model.h"

#include <stddef.h>

#define MODEL_MAX_PARAMETERS 1e16 /* keeps every count inside int64 with room for bytes */

void model_defaults(struct model *m)
{
	if (m->kv_heads == 0)
		m->kv_heads = m->heads;
	if (m->head_dim == 0 && m->heads > 0)
		m->head_dim = m->has_mla ? m->mla.value_dim : m->hidden / m->heads;
	if (m->has_moe && m->moe.every == 0)
		m->moe.every = 1;
	if (m->has_moe && m->moe.shared_ffn_hidden == 0)
		m->moe.shared_ffn_hidden = m->moe.ffn_hidden;
}

struct range {
	const char *field;
	int64_t value, low, high;
};

static int check_ranges(const struct range *r, size_t n, struct sb_error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (r[i].value < r[i].low || r[i].value > r[i].high)
			return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", r[i].field,
			                     "must lie between %lld and %lld", (long long)r[i].low,
			                     (long long)r[i].high);
	}
	return SB_OK;
}

static int check_expert_groups(const struct moe *e, struct sb_error *err)
{
	const struct range ranges[] = {
	    {"moe/n_group", e->groups, e->top_groups > 0 ? 1 : 0, e->experts},
	    {"moe/topk_group", e->top_groups, e->groups > 0 ? 1 : 0, e->groups},
	};
	int rc = check_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), err);

	if (rc != SB_OK || e->groups == 0)
		return rc;
	if (e->experts % e->groups != 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "not_divisible", "moe/n_group",
		                     "must divide the experts");
	if (e->top_groups * (e->experts / e->groups) < e->top_k)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "moe/topk_group",
		                     "groups must hold the top_k experts of a token");
	return SB_OK;
}

static int check_moe(const struct model *m, struct sb_error *err)
{
	const struct moe *e = &m->moe;
	const struct range ranges[] = {
	    {"moe/experts", e->experts, 1, 65536},
	    {"moe/top_k", e->top_k, 1, e->experts},
	    {"moe/ffn_hidden", e->ffn_hidden, 1, 1 << 22},
	    {"moe/shared_experts", e->shared_experts, 0, 1024},
	    {"moe/shared_ffn_hidden", e->shared_ffn_hidden, 1, 1 << 22},
	    {"moe/every", e->every, 1, m->layers},
	    {"moe/first_dense", e->first_dense, 0, m->layers},
	};

	int rc = check_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), err);

	if (rc == SB_OK && e->imbalance != 0 && !(e->imbalance >= 1 && e->imbalance <= (double)e->experts))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "moe/imbalance",
		                     "must lie between 1 and the experts");
	return rc == SB_OK ? check_expert_groups(e, err) : rc;
}

static int check_mla(const struct model *m, struct sb_error *err)
{
	const struct range ranges[] = {
	    {"mla/q_rank", m->mla.q_rank, 0, 1 << 20},       {"mla/kv_rank", m->mla.kv_rank, 1, 1 << 20},
	    {"mla/nope_dim", m->mla.nope_dim, 1, 1 << 16},   {"mla/rope_dim", m->mla.rope_dim, 0, 1 << 16},
	    {"mla/value_dim", m->mla.value_dim, 1, 1 << 16},
	};

	return check_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), err);
}

/* The size of the whole model in floating point, so that a hostile shape cannot overflow the integers. */
static double rough_parameters(const struct model *m)
{
	double h = (double)m->hidden, a = (double)m->heads;
	double attention = 4 * h * (double)m->head_dim * a;
	double dense = 3 * h * (double)m->ffn_hidden;
	double moe = 0;

	if (m->has_mla)
		attention += (double)m->mla.q_rank * (h + a * (double)(m->mla.nope_dim + m->mla.rope_dim)) +
		             (double)(m->mla.kv_rank + m->mla.rope_dim) * h +
		             (double)m->mla.kv_rank * a * (double)(m->mla.nope_dim + m->mla.value_dim) +
		             a * h * (double)(m->mla.nope_dim + m->mla.rope_dim + m->mla.value_dim);
	if (m->has_moe)
		moe = 3 * h *
		          ((double)m->moe.ffn_hidden * (double)m->moe.experts +
		           (double)m->moe.shared_ffn_hidden * (double)m->moe.shared_experts) +
		      (h + 1) * (double)m->moe.experts;
	return (double)m->layers * (attention + dense + moe + 16 * h) +
	       2 * h * (double)(m->vocab + m->seq_len);
}

int model_check(const struct model *m, struct sb_error *err)
{
	const struct range ranges[] = {
	    {"layers", m->layers, 1, MODEL_LAYERS_MAX},
	    {"hidden", m->hidden, 1, 1 << 20},
	    {"heads", m->heads, 1, 1 << 14},
	    {"kv_heads", m->kv_heads, 1, m->heads},
	    {"head_dim", m->head_dim, 1, 1 << 16},
	    {"ffn_hidden", m->ffn_hidden, 1, 1 << 22},
	    {"vocab", m->vocab, 1, 1 << 26},
	    {"seq_len", m->seq_len, 1, 1 << 26},
	};
	int rc = check_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), err);

	if (rc == SB_OK && m->has_moe)
		rc = check_moe(m, err);
	if (rc == SB_OK && m->has_mla)
		rc = check_mla(m, err);
	if (rc != SB_OK)
		return rc;
	if (m->heads % m->kv_heads != 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "not_divisible", "kv_heads",
		                     "heads must be a multiple of kv_heads");
	if (rough_parameters(m) > MODEL_MAX_PARAMETERS)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "",
		                     "the model has more than 1e16 parameters");
	return SB_OK;
}

enum layer_kind model_layer_kind(const struct model *m, int64_t i)
{
	if (!m->has_moe || i < m->moe.first_dense)
		return LAYER_DENSE;
	return (i - m->moe.first_dense) % m->moe.every == 0 ? LAYER_MOE : LAYER_DENSE;
}

int64_t model_layers_of(const struct model *m, int64_t n, enum layer_kind kind)
{
	int64_t moe = 0;

	if (m->has_moe && n > m->moe.first_dense)
		moe = (n - m->moe.first_dense + m->moe.every - 1) / m->moe.every;
	return kind == LAYER_MOE ? moe : n - moe;
}

static struct parameters attention_parameters(const struct model *m)
{
	int64_t h = m->hidden, a = m->heads, d = m->head_dim;
	const struct mla *q = &m->mla;
	struct parameters p = {0};

	if (!m->has_mla) {
		p.tensor = h * d * (a + 2 * m->kv_heads) + a * d * h;
		if (m->biases) {
			p.tensor += (a + 2 * m->kv_heads) * d;
			p.replicated += h;
		}
		return p;
	}
	p.tensor = q->kv_rank * a * (q->nope_dim + q->value_dim) + a * q->value_dim * h;
	p.replicated = h * (q->kv_rank + q->rope_dim) + q->kv_rank;
	if (q->q_rank > 0) {
		p.tensor += q->q_rank * a * (q->nope_dim + q->rope_dim);
		p.replicated += h * q->q_rank + q->q_rank;
	} else {
		p.tensor += h * a * (q->nope_dim + q->rope_dim);
	}
	return p;
}

static int64_t ffn_matrices(const struct model *m)
{
	return m->gated_ffn ? 3 : 2;
}

struct parameters model_layer_parameters(const struct model *m, enum layer_kind kind)
{
	struct parameters p = attention_parameters(m);
	int64_t h = m->hidden;

	p.replicated += 2 * h * (m->layer_norm ? 2 : 1);
	if (kind == LAYER_DENSE) {
		p.tensor += ffn_matrices(m) * h * m->ffn_hidden;
		if (m->biases) {
			p.tensor += (ffn_matrices(m) - 1) * m->ffn_hidden;
			p.replicated += h;
		}
		return p;
	}
	p.expert = ffn_matrices(m) * h * m->moe.ffn_hidden * m->moe.experts;
	p.tensor += ffn_matrices(m) * h * m->moe.shared_ffn_hidden * m->moe.shared_experts;
	p.replicated += h * m->moe.experts + (m->moe.router_bias ? m->moe.experts : 0);
	return p;
}

struct parameters model_embedding_parameters(const struct model *m)
{
	struct parameters p = {.tensor = m->vocab * m->hidden};

	if (m->learned_positions)
		p.replicated = m->seq_len * m->hidden;
	return p;
}

struct parameters model_head_parameters(const struct model *m)
{
	return (struct parameters){.tensor = m->vocab * m->hidden,
	                           .replicated = m->hidden * (m->layer_norm ? 2 : 1)};
}

static int64_t total(struct parameters p)
{
	return p.tensor + p.replicated + p.expert;
}

int64_t model_parameters(const struct model *m)
{
	int64_t n = total(model_embedding_parameters(m)) + total(model_head_parameters(m));

	if (m->tied_embedding)
		n -= m->vocab * m->hidden;
	for (int k = 0; k < LAYER_KINDS; k++)
		n += model_layers_of(m, m->layers, (enum layer_kind)k) *
		     total(model_layer_parameters(m, (enum layer_kind)k));
	return n;
}

int64_t model_active_parameters(const struct model *m)
{
	int64_t idle = 0;

	if (m->has_moe)
		idle = model_layers_of(m, m->layers, LAYER_MOE) * ffn_matrices(m) * m->hidden *
		       m->moe.ffn_hidden * (m->moe.experts - m->moe.top_k);
	return model_parameters(m) - idle;
}

struct layer_flops model_layer_flops(const struct model *m, enum layer_kind kind)
{
	double s = (double)m->seq_len, h = (double)m->hidden, a = (double)m->heads;
	double matrices = (double)ffn_matrices(m);
	const struct mla *q = &m->mla;
	struct layer_flops f = {0};

	if (m->has_mla) {
		double up = (double)(q->nope_dim + q->rope_dim);

		f.linear = (double)q->kv_rank * a * (double)(q->nope_dim + q->value_dim) +
		           a * (double)q->value_dim * h + h * (double)(q->kv_rank + q->rope_dim);
		f.linear += q->q_rank > 0 ? (double)q->q_rank * (h + a * up) : h * a * up;
		f.linear *= 2 * s;
		f.scores = 2 * s * s * a * (up + (double)q->value_dim);
	} else {
		f.linear = 2 * s * h * (double)m->head_dim * (2 * a + 2 * (double)m->kv_heads);
		f.scores = 4 * s * s * a * (double)m->head_dim;
	}
	if (kind == LAYER_DENSE)
		f.linear += 2 * s * h * (double)m->ffn_hidden * matrices;
	else
		f.linear += 2 * s * h *
		            (matrices * (double)(m->moe.ffn_hidden * m->moe.top_k +
		                                 m->moe.shared_ffn_hidden * m->moe.shared_experts) +
		             (double)m->moe.experts);
	return f;
}

double model_head_flops(const struct model *m)
{
	return 2 * (double)m->seq_len * (double)m->hidden * (double)m->vocab;
}

int64_t model_key_values(const struct model *m)
{
	if (m->has_mla)
		return m->heads * (m->mla.nope_dim + m->mla.rope_dim + m->mla.value_dim);
	return 2 * m->kv_heads * m->head_dim;
}

double model_kappa(const struct model *m)
{
	return m->bidirectional ? 1 : 0.5;
}

double model_step_flops(const struct model *m, int64_t sequences, double kappa)
{
	double forward = model_head_flops(m);

	for (int k = 0; k < LAYER_KINDS; k++) {
		struct layer_flops f = model_layer_flops(m, (enum layer_kind)k);

		forward +=
		    (double)model_layers_of(m, m->layers, (enum layer_kind)k) * (f.linear + kappa * f.scores);
	}
	return 3 * (double)sequences * forward;
}
