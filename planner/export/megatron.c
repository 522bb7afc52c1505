#include "planner/export/megatron.h"

#include <stdbool.h>

static void number(struct sb_buf *out, const char *name, int64_t value)
{
	sb_buf_addf(out, "--%s %lld\n", name, (long long)value);
}

static void flag(struct sb_buf *out, const char *name)
{
	sb_buf_addf(out, "--%s\n", name);
}

static void flag_if(struct sb_buf *out, bool yes, const char *name)
{
	if (yes)
		flag(out, name);
}

static void attention(struct sb_buf *out, const struct model *m)
{
	if (m->has_mla) {
		flag(out, "multi-latent-attention");
		if (m->mla.q_rank > 0)
			number(out, "q-lora-rank", m->mla.q_rank);
		number(out, "kv-lora-rank", m->mla.kv_rank);
		number(out, "qk-head-dim", m->mla.nope_dim);
		number(out, "qk-pos-emb-head-dim", m->mla.rope_dim);
		number(out, "v-head-dim", m->mla.value_dim);
		/* the norms behind both down-projections */
		flag(out, "qk-layernorm");
		return;
	}
	if (m->kv_heads != m->heads) {
		flag(out, "group-query-attention");
		number(out, "num-query-groups", m->kv_heads);
	}
	if (m->head_dim * m->heads != m->hidden)
		number(out, "kv-channels", m->head_dim);
}

static void experts(struct sb_buf *out, const struct model *m, const struct strategy *s)
{
	if (!m->has_moe)
		return;
	number(out, "num-experts", m->moe.experts);
	number(out, "moe-router-topk", m->moe.top_k);
	number(out, "moe-ffn-hidden-size", m->moe.ffn_hidden);
	if (m->moe.shared_experts > 0)
		number(out, "moe-shared-expert-intermediate-size",
		       m->moe.shared_experts * m->moe.shared_ffn_hidden);
	if (m->moe.router_bias) {
		flag(out, "moe-router-enable-expert-bias");
		/* Megatron refuses a bias on its default, softmax */
		sb_buf_adds(out, "--moe-router-score-function sigmoid\n");
	}
	if (m->moe.first_dense > 0 || m->moe.every > 1) {
		/* A list with one entry a layer: 1 has experts. */
		sb_buf_adds(out, "--moe-layer-freq [");
		for (int64_t i = 0; i < m->layers; i++)
			sb_buf_addf(out, "%s%d", i ? "," : "", model_layer_kind(m, i) == LAYER_MOE);
		sb_buf_adds(out, "]\n");
	}
	number(out, "expert-model-parallel-size", s->ep);
	number(out, "expert-tensor-parallel-size", s->etp);
	sb_buf_adds(out, "--moe-token-dispatcher-type alltoall\n");
	flag(out, "moe-grouped-gemm");
}

static void shape(struct sb_buf *out, const struct model *m)
{
	number(out, "num-layers", m->layers);
	number(out, "hidden-size", m->hidden);
	number(out, "ffn-hidden-size", m->ffn_hidden);
	number(out, "num-attention-heads", m->heads);
	number(out, "seq-length", m->seq_len);
	number(out, "max-position-embeddings", m->seq_len);
	attention(out, m);
	flag_if(out, m->gated_ffn, "swiglu");
	sb_buf_addf(out, "--normalization %s\n", m->layer_norm ? "LayerNorm" : "RMSNorm");
	sb_buf_addf(out, "--position-embedding-type %s\n",
	            m->learned_positions ? "learned_absolute" : "rope");
	flag_if(out, !m->biases, "disable-bias-linear");
	flag_if(out, !m->tied_embedding, "untie-embeddings-and-output-weights");
	/* Megatron's default is 0.1, whose masks the plan's memory does not count */
	if (!m->dropout)
		sb_buf_adds(out, "--attention-dropout 0.0\n--hidden-dropout 0.0\n");
}

/* bfloat16 accumulates gradients in float32 by itself, float16 does not. */
static void precision(struct sb_buf *out, const struct model *m, const struct strategy *s)
{
	flag(out, m->float16 ? "fp16" : "bf16");
	if (m->float16)
		flag_if(out, s->gradient_bytes == 4, "accumulate-allreduce-grads-in-fp32");
	else
		flag_if(out, s->gradient_bytes == 2, "grad-reduce-in-bf16");
}

/* Any cut, by the layout string: E embedding, t*N transformer layers, L loss, "|" between stages. */
static void layout(struct sb_buf *out, const struct model *m, const struct strategy *s)
{
	sb_buf_adds(out, "--pipeline-model-parallel-layout \"E,");
	for (int64_t i = 0; i < s->pp; i++)
		sb_buf_addf(out, "%st*%lld", i ? "|" : "", (long long)strategy_stage_layers(s, m->layers, i));
	sb_buf_adds(out, ",L\"\n");
}

/* The stable arguments know a first and a last stage of their own size; other cuts need the layout, which in
 * turn would have to name every chunk of an interleaved pipeline. */
static int cut(struct sb_buf *out, const struct model *m, const struct strategy *s, struct sb_error *err)
{
	int64_t first = strategy_stage_layers(s, m->layers, 0);
	int64_t last = strategy_stage_layers(s, m->layers, s->pp - 1);
	int64_t middle = s->pp > 2 ? strategy_stage_layers(s, m->layers, 1) : first;
	bool even = true;

	for (int64_t i = 2; i < s->pp - 1; i++)
		even = even && strategy_stage_layers(s, m->layers, i) == middle;
	if (!even && s->vpp > 1)
		return sb_fail(
		    err, SB_EIMPOSSIBLE, "uneven_stages",
		    "Megatron cannot cut middle stages of different sizes in an interleaved pipeline");
	if (!even) {
		layout(out, m, s);
		return SB_OK;
	}
	if (first != middle || (s->pp == 2 && first != last))
		number(out, "decoder-first-pipeline-num-layers", first);
	if (last != middle)
		number(out, "decoder-last-pipeline-num-layers", last);
	return SB_OK;
}

static int parallel(struct sb_buf *out, const struct model *m, const struct strategy *s, struct sb_error *err)
{
	number(out, "tensor-model-parallel-size", s->tp);
	number(out, "pipeline-model-parallel-size", s->pp);
	number(out, "context-parallel-size", s->cp);
	flag_if(out, s->sequence_parallel, "sequence-parallel");
	if (s->order[DIMS - 1] == DIM_DP && s->pp > 1)
		flag(out, "use-tp-pp-dp-mapping");
	if (s->vpp > 1) {
		number(out, "num-virtual-stages-per-pipeline-rank", s->vpp);
		/* The plan's time counts blocking sends; between two stages Megatron demands the overlap. */
		flag_if(out, s->pp > 2, "no-overlap-p2p-communication");
	}
	if (s->zero >= 2 && s->pp > 1)
		return sb_fail(err, SB_EIMPOSSIBLE, "zero_with_pipeline",
		               "Megatron has no ZeRO 2 or 3 together with a pipeline");
	flag_if(out, s->zero >= 1, "use-distributed-optimizer");
	if (s->zero >= 2) {
		flag(out, "use-megatron-fsdp");
		sb_buf_addf(out, "--data-parallel-sharding-strategy %s\n",
		            s->zero == 2 ? "optim_grads" : "optim_grads_params");
		flag(out, "no-gradient-accumulation-fusion");
		sb_buf_adds(out, "--ckpt-format fsdp_dtensor\n");
	}
	flag_if(out, s->overlap_gradients, "overlap-grad-reduce");
	flag_if(out, s->overlap_gradients && s->zero >= 1, "overlap-param-gather");
	return cut(out, m, s, err);
}

static void recomputation(struct sb_buf *out, const struct strategy *s)
{
	sb_buf_addf(out, "--attention-backend %s\n", s->attention == ATTENTION_FLASH ? "flash" : "unfused");
	if (s->recompute == RECOMPUTE_NONE)
		return;
	sb_buf_addf(out, "--recompute-granularity %s\n",
	            s->recompute == RECOMPUTE_FULL ? "full" : "selective");
	if (s->recompute == RECOMPUTE_FULL)
		sb_buf_adds(out, "--recompute-method uniform\n--recompute-num-layers 1\n");
}

int megatron_arguments(const struct model *m, const struct strategy *s, int64_t sequences, struct sb_buf *out,
                       struct sb_error *err)
{
	int rc;

	shape(out, m);
	experts(out, m, s);
	rc = parallel(out, m, s, err);
	if (rc != SB_OK)
		return rc;
	number(out, "micro-batch-size", s->micro_batch);
	number(out, "global-batch-size", sequences);
	recomputation(out, s);
	precision(out, m, s);
	return out->status == SB_OK ? SB_OK : sb_fail(err, out->status, "no_memory", "out of memory");
}
