#include "planner/export/megatron.h"

#include <stdbool.h>

struct writer {
	struct sb_buf *out;
	int rc;
};

static void number(struct writer *w, const char *name, int64_t value)
{
	if (w->rc == SB_OK)
		w->rc = sb_buf_addf(w->out, "--%s %lld\n", name, (long long)value);
}

static void flag(struct writer *w, const char *name)
{
	if (w->rc == SB_OK)
		w->rc = sb_buf_addf(w->out, "--%s\n", name);
}

static void flag_if(struct writer *w, bool yes, const char *name)
{
	if (yes)
		flag(w, name);
}

static void attention(struct writer *w, const struct model *m)
{
	if (m->has_mla) {
		flag(w, "multi-latent-attention");
		if (m->mla.q_rank > 0)
			number(w, "q-lora-rank", m->mla.q_rank);
		number(w, "kv-lora-rank", m->mla.kv_rank);
		number(w, "qk-head-dim", m->mla.nope_dim);
		number(w, "qk-pos-emb-head-dim", m->mla.rope_dim);
		number(w, "v-head-dim", m->mla.value_dim);
		return;
	}
	if (m->kv_heads != m->heads) {
		flag(w, "group-query-attention");
		number(w, "num-query-groups", m->kv_heads);
	}
	if (m->head_dim * m->heads != m->hidden)
		number(w, "kv-channels", m->head_dim);
}

static void experts(struct writer *w, const struct model *m, const struct strategy *s)
{
	if (!m->has_moe)
		return;
	number(w, "num-experts", m->moe.experts);
	number(w, "moe-router-topk", m->moe.top_k);
	number(w, "moe-ffn-hidden-size", m->moe.ffn_hidden);
	if (m->moe.shared_experts > 0)
		number(w, "moe-shared-expert-intermediate-size",
		       m->moe.shared_experts * m->moe.shared_ffn_hidden);
	flag_if(w, m->moe.router_bias, "moe-router-enable-expert-bias");
	if (m->moe.first_dense > 0 || m->moe.every > 1) {
		/* A list with one entry a layer: 1 has experts. */
		if (w->rc == SB_OK)
			w->rc = sb_buf_adds(w->out, "--moe-layer-freq [");
		for (int64_t i = 0; i < m->layers && w->rc == SB_OK; i++)
			w->rc =
			    sb_buf_addf(w->out, "%s%d", i ? "," : "", model_layer_kind(m, i) == LAYER_MOE);
		if (w->rc == SB_OK)
			w->rc = sb_buf_adds(w->out, "]\n");
	}
	number(w, "expert-model-parallel-size", s->ep);
	number(w, "expert-tensor-parallel-size", s->etp);
	if (w->rc == SB_OK)
		w->rc = sb_buf_adds(w->out, "--moe-token-dispatcher-type alltoall\n");
	flag(w, "moe-grouped-gemm");
}

static void shape(struct writer *w, const struct model *m)
{
	number(w, "num-layers", m->layers);
	number(w, "hidden-size", m->hidden);
	number(w, "ffn-hidden-size", m->ffn_hidden);
	number(w, "num-attention-heads", m->heads);
	number(w, "seq-length", m->seq_len);
	number(w, "max-position-embeddings", m->seq_len);
	attention(w, m);
	flag_if(w, m->gated_ffn, "swiglu");
	if (w->rc == SB_OK)
		w->rc = sb_buf_addf(w->out, "--normalization %s\n", m->layer_norm ? "LayerNorm" : "RMSNorm");
	if (w->rc == SB_OK)
		w->rc = sb_buf_addf(w->out, "--position-embedding-type %s\n",
		                    m->learned_positions ? "learned_absolute" : "rope");
	flag_if(w, !m->biases, "disable-bias-linear");
	flag_if(w, !m->tied_embedding, "untie-embeddings-and-output-weights");
}

/* Megatron knows a first and a last stage of their own size; the others must be equal. */
static int cut(struct writer *w, const struct model *m, const struct strategy *s, struct sb_error *err)
{
	int64_t first = strategy_stage_layers(s, m->layers, 0);
	int64_t last = strategy_stage_layers(s, m->layers, s->pp - 1);
	int64_t middle = s->pp > 2 ? strategy_stage_layers(s, m->layers, 1) : first;

	for (int64_t i = 2; i < s->pp - 1; i++) {
		if (strategy_stage_layers(s, m->layers, i) != middle)
			return sb_fail(err, SB_EIMPOSSIBLE, "uneven_stages",
			               "Megatron cannot cut middle stages of different sizes");
	}
	if (first != middle || (s->pp == 2 && first != last))
		number(w, "decoder-first-pipeline-num-layers", first);
	if (last != middle)
		number(w, "decoder-last-pipeline-num-layers", last);
	return SB_OK;
}

static int parallel(struct writer *w, const struct model *m, const struct strategy *s, struct sb_error *err)
{
	number(w, "tensor-model-parallel-size", s->tp);
	number(w, "pipeline-model-parallel-size", s->pp);
	number(w, "context-parallel-size", s->cp);
	flag_if(w, s->sequence_parallel, "sequence-parallel");
	if (s->order[DIMS - 1] == DIM_DP && s->pp > 1)
		flag(w, "use-tp-pp-dp-mapping");
	if (s->vpp > 1) {
		number(w, "num-virtual-stages-per-pipeline-rank", s->vpp);
		/* The plan's time counts blocking sends. */
		flag(w, "no-overlap-p2p-communication");
	}
	if (s->zero >= 2 && s->pp > 1)
		return sb_fail(err, SB_EIMPOSSIBLE, "zero_with_pipeline",
		               "Megatron has no ZeRO 2 or 3 together with a pipeline");
	flag_if(w, s->zero >= 1, "use-distributed-optimizer");
	if (s->zero >= 2) {
		flag(w, "use-megatron-fsdp");
		if (w->rc == SB_OK)
			w->rc = sb_buf_addf(w->out, "--data-parallel-sharding-strategy %s\n",
			                    s->zero == 2 ? "optim_grads" : "optim_grads_params");
		flag(w, "no-gradient-accumulation-fusion");
		if (w->rc == SB_OK)
			w->rc = sb_buf_adds(w->out, "--ckpt-format fsdp_dtensor\n");
	}
	flag_if(w, s->overlap_gradients, "overlap-grad-reduce");
	flag_if(w, s->overlap_gradients && s->zero >= 1, "overlap-param-gather");
	flag_if(w, s->gradient_bytes == 2, "grad-reduce-in-bf16");
	return cut(w, m, s, err);
}

static void recomputation(struct writer *w, const struct strategy *s)
{
	if (w->rc == SB_OK)
		w->rc = sb_buf_addf(w->out, "--attention-backend %s\n",
		                    s->attention == ATTENTION_FLASH ? "flash" : "unfused");
	if (s->recompute == RECOMPUTE_NONE || w->rc != SB_OK)
		return;
	w->rc = sb_buf_addf(w->out, "--recompute-granularity %s\n",
	                    s->recompute == RECOMPUTE_FULL ? "full" : "selective");
	if (s->recompute == RECOMPUTE_FULL && w->rc == SB_OK)
		w->rc = sb_buf_adds(w->out, "--recompute-method uniform\n--recompute-num-layers 1\n");
}

int megatron_arguments(const struct model *m, const struct strategy *s, int64_t sequences, struct sb_buf *out,
                       struct sb_error *err)
{
	struct writer w = {out, SB_OK};
	int rc;

	shape(&w, m);
	experts(&w, m, s);
	rc = parallel(&w, m, s, err);
	if (rc != SB_OK)
		return rc;
	number(&w, "micro-batch-size", s->micro_batch);
	number(&w, "global-batch-size", sequences);
	recomputation(&w, s);
	flag(&w, "bf16");
	return w.rc == SB_OK ? SB_OK : sb_fail(err, w.rc, "no_memory", "out of memory");
}
