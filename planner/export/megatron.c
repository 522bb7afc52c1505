/* Names, defaults and refusals: NVIDIA/Megatron-LM, megatron/training/arguments.py at 000c4ac24f61. */
#include "planner/cost/overlap.h"
#include "planner/export/launch.h"
#include "planner/export/megatron.h"

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
		/* Not used here, but it asserts that the default, hidden / heads, is whole. */
		if (m->hidden % m->heads != 0)
			number(out, "kv-channels", m->mla.value_dim);
		return;
	}
	if (m->kv_heads != m->heads) {
		flag(out, "group-query-attention");
		number(out, "num-query-groups", m->kv_heads);
	}
	if (m->head_dim * m->heads != m->hidden)
		number(out, "kv-channels", m->head_dim);
}

/* A token that goes once to each node is what DeepEP does, on Ampere and Hopper; it wants the router's
 * probabilities in 32 bit (megatron/core/transformer/moe/README.md, token_dispatcher.py). */
static void dispatcher(struct sb_buf *out, const struct launch_plan *l)
{
	bool once = l->strategy.ep > 1 && l->model->moe.top_groups < l->model->moe.groups;
	enum device_family f = l->cluster->device.family;

	if (once && (f == FAMILY_AMPERE || f == FAMILY_HOPPER)) {
		sb_buf_adds(
		    out, "--moe-token-dispatcher-type flex\n--moe-enable-deepep\n--moe-router-dtype fp32\n");
		return;
	}
	if (once)
		sb_buf_adds(out,
		            "# of the plan's tokens, one copy goes to each node: here one to each expert\n");
	sb_buf_adds(out, "--moe-token-dispatcher-type alltoall\n");
}

static void experts(struct sb_buf *out, const struct launch_plan *l)
{
	const struct model *m = l->model;
	const struct strategy *s = &l->strategy;

	if (!m->has_moe)
		return;
	number(out, "num-experts", m->moe.experts);
	number(out, "moe-router-topk", m->moe.top_k);
	number(out, "moe-ffn-hidden-size", m->moe.ffn_hidden);
	if (m->moe.shared_experts > 0)
		number(out, "moe-shared-expert-intermediate-size",
		       m->moe.shared_experts * m->moe.shared_ffn_hidden);
	if (m->moe.groups > 0) {
		number(out, "moe-router-num-groups", m->moe.groups);
		number(out, "moe-router-group-topk", m->moe.top_groups);
	}
	if (m->moe.router_bias) {
		flag(out, "moe-router-enable-expert-bias");
		/* Megatron refuses a bias on its default, softmax */
		sb_buf_adds(out, "--moe-router-score-function sigmoid\n");
	}
	if (m->moe.first_dense > 0 || m->moe.every > 1) {
		/* A list with one entry a layer: 1 has experts. A shell would look for files without quotes.
		 */
		sb_buf_adds(out, "--moe-layer-freq \"[");
		for (int64_t i = 0; i < m->layers; i++)
			sb_buf_addf(out, "%s%d", i ? "," : "", model_layer_kind(m, i) == LAYER_MOE);
		sb_buf_adds(out, "]\"\n");
	}
	number(out, "expert-model-parallel-size", s->ep);
	number(out, "expert-tensor-parallel-size", s->etp);
	dispatcher(out, l);
	/* "Currently GroupedGEMM for MoE only supports bf16 dtype", "bias in the expert layer is not
	 * supported in Grouped GEMM yet" (megatron/core/transformer/moe/experts.py) */
	flag_if(out, !m->float16 && !m->biases, "moe-grouped-gemm");
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

/* Any cut, by the layout string: E embedding, t*N transformer layers, L loss, "|" between stages, chunk by
 * chunk through the devices. */
static void layout(struct sb_buf *out, const struct launch_plan *l)
{
	int64_t slices = launch_slices(l);

	sb_buf_adds(out, "--pipeline-model-parallel-layout \"E,");
	for (int64_t i = 0; i < slices; i++) {
		int64_t n = launch_slice_layers(l, i);

		sb_buf_adds(out, i ? "|" : "");
		if (n > 0)
			sb_buf_addf(out, "t*%lld", (long long)n);
	}
	sb_buf_adds(out, ",L\"\n");
}

/* The stable arguments know equal chunks, or a first and a last stage of their own size without chunks. */
static void cut(struct sb_buf *out, const struct launch_plan *l)
{
	int64_t slices = launch_slices(l), first = launch_slice_layers(l, 0);
	int64_t last = launch_slice_layers(l, slices - 1);
	int64_t middle = slices > 2 ? launch_slice_layers(l, 1) : first;
	bool even = true;

	for (int64_t i = 2; i < slices - 1; i++)
		even = even && launch_slice_layers(l, i) == middle;
	if (!even || middle == 0 || first == 0 || last == 0 ||
	    (l->strategy.vpp > 1 && !launch_equal_chunks(l))) {
		layout(out, l);
		return;
	}
	if (l->strategy.vpp > 1)
		number(out, "num-virtual-stages-per-pipeline-rank", l->strategy.vpp);
	if (first != middle || (slices == 2 && first != last))
		number(out, "decoder-first-pipeline-num-layers", first);
	if (last != middle)
		number(out, "decoder-last-pipeline-num-layers", last);
}

static void sharding(struct sb_buf *out, const struct strategy *s)
{
	flag_if(out, s->zero >= 1 || s->offload.optimizer > 0, "use-distributed-optimizer");
	if (s->zero >= 2) {
		flag(out, "use-megatron-fsdp");
		sb_buf_addf(out, "--data-parallel-sharding-strategy %s\n",
		            s->zero == 2 ? "optim_grads" : "optim_grads_params");
		flag(out, "no-gradient-accumulation-fusion");
		sb_buf_adds(out, "--ckpt-format fsdp_dtensor\n");
	}
	flag_if(out, s->overlap_gradients, "overlap-grad-reduce");
	flag_if(out, s->overlap_gradients && s->zero >= 1, "overlap-param-gather");
}

static bool dp_outside_pp(const struct strategy *s)
{
	static const enum dimension usual[DIMS] = {DIM_TP, DIM_CP, DIM_DP, DIM_PP};
	static const enum dimension outside[DIMS] = {DIM_TP, DIM_CP, DIM_PP, DIM_DP};

	return !launch_order_is(s, usual) && launch_order_is(s, outside);
}

static void parallel(struct sb_buf *out, const struct launch_plan *l)
{
	const struct strategy *s = &l->strategy;

	number(out, "tensor-model-parallel-size", s->tp);
	number(out, "pipeline-model-parallel-size", s->pp);
	number(out, "context-parallel-size", s->cp);
	flag_if(out, s->sequence_parallel, "sequence-parallel");
	flag_if(out, dp_outside_pp(s), "use-tp-pp-dp-mapping");
	/* Megatron's default is the overlap, which it demands between two stages. */
	flag_if(out, !s->overlap_sends && s->vpp > 1 && s->pp > 2, "no-overlap-p2p-communication");
	/* "can happen only when sequence parallelism is enabled" */
	flag_if(out, overlap_tensor_ranks(s), "tp-comm-overlap");
	/* "virtual_pipeline_model_parallel_size must be specified when pipeline_model_parallel_size > 1",
	 * "disable full recomputation" (__post_init__() of TransformerConfig) */
	flag_if(out, overlap_in_pairs(s) && s->recompute != RECOMPUTE_FULL,
	        "overlap-moe-expert-parallel-comm");
	sharding(out, s);
	cut(out, l);
}

/* The layers that one chunk of a stage recomputes, where Megatron has one number for all: the largest. */
static int64_t most_recomputed(const struct launch_plan *l)
{
	int64_t most = 0;

	for (int64_t i = 0; i < launch_slices(l); i++) {
		int64_t n = launch_slice_recomputed(l, i);

		most = n > most ? n : most;
	}
	return most;
}

/* "flash" leaves the flash-attn package alone, whose version 2 refuses latent attention; cuDNN's kernel takes
 * it.
 */
static void kernel(struct sb_buf *out, const struct launch_plan *l)
{
	bool flash = l->strategy.attention == ATTENTION_FLASH;

	sb_buf_addf(out, "--attention-backend %s\n",
	            !flash              ? "unfused"
	            : l->model->has_mla ? "fused"
	                                : "flash");
}

static void recomputation(struct sb_buf *out, const struct launch_plan *l)
{
	const struct strategy *s = &l->strategy;

	if (s->recompute == RECOMPUTE_SELECTIVE)
		sb_buf_adds(out, "--recompute-granularity selective\n");
	if (s->recompute != RECOMPUTE_FULL || most_recomputed(l) == 0)
		return;
	sb_buf_addf(out, "--recompute-granularity full\n--recompute-method %s\n",
	            launch_recomputes_all(l) ? "uniform" : "block");
	number(out, "recompute-num-layers", launch_recomputes_all(l) ? 1 : most_recomputed(l));
}

/* The update on the host runs while gradients come and weights go, as in the plan's time. */
static void offloading(struct sb_buf *out, const struct launch_plan *l)
{
	const struct strategy *s = &l->strategy;

	if (s->offload.optimizer > 0) {
		sb_buf_adds(out, "--optimizer-cpu-offload\n--optimizer-offload-fraction ");
		launch_real(s->offload.optimizer, out);
		sb_buf_adds(out, "\n--overlap-cpu-optimizer-d2h-h2d\n--use-precision-aware-optimizer\n");
	}
	/* "CPU offloading can be done only for layers less than" all of them */
	if (s->offload.activations > 0) {
		int64_t n = launch_offloaded(s, l->model->layers);

		number(out, "cpu-offloading-num-layers", n < l->model->layers ? n : n - 1);
	}
}

/* What its arguments and __post_init__() of OptimizerConfig and TransformerConfig refuse, the latter at
 * 002526d81b81; and pull request 4623, "Fix Megatron-FSDP optimizer CPU offload", which is open. */
static int refuse_offload(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;

	if (s->offload.weights > 0 || s->offload.gradients > 0)
		return launch_no_offload(err, "Megatron keeps weights and gradients on the device");
	if (s->offload.optimizer > 0 && s->zero == 0 && !launch_is_alone(s))
		return launch_no_offload(err, "Megatron offloads the optimizer with ZeRO 1 alone");
	if (s->offload.optimizer > 0 && s->zero >= 2)
		return launch_no_offload(err,
		                         "Megatron's FSDP, its ZeRO 2 and 3, does not offload the optimizer");
	if (s->offload.activations > 0 && (s->pp > 1 || s->recompute != RECOMPUTE_NONE))
		return launch_no_offload(
		    err, "Megatron offloads activations without a pipeline and without recomputing alone");
	if (s->offload.activations > 0 && l->model->layers == 1)
		return launch_no_offload(err, "Megatron keeps the activations of one layer on the device");
	return SB_OK;
}

/* MoELayer.forward(), forward_backward_pipelining_with_interleaving() and validate_args(). */
static int refuse_shapes(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;

	if (l->model->has_moe && s->tp > 1 && !s->sequence_parallel)
		return launch_refuse(err, "sequence_parallel",
		                     "Megatron trains experts with tensor parallelism together with sequence "
		                     "parallelism alone",
		                     "\"sequence_parallel\": true");
	if (s->vpp > 1 && strategy_micro_batches(s, l->sequences) % s->pp != 0)
		return launch_refuse(
		    err, "interleaving",
		    "Megatron's interleaved pipeline takes multiples of pp micro-batches alone",
		    "\"vpp\": 1");
	if (s->cp > 1 && l->model->seq_len % (2 * s->cp) != 0)
		return launch_refuse(
		    err, "context_parallel",
		    "Megatron splits sequences into 2 x cp parts: they must divide the sequence",
		    "\"cp\": 1");
	return SB_OK;
}

int megatron_refuse(const struct launch_plan *l, struct sb_error *err)
{
	if (l->strategy.zero >= 2 && l->strategy.pp > 1)
		return launch_refuse(err, "zero_with_pipeline",
		                     "Megatron has no ZeRO 2 or 3 together with a pipeline",
		                     "\"zero\": [0, 1]");
	if (l->model->float16 && l->strategy.ep > 1)
		return launch_refuse(err, "experts_in_float16",
		                     "Megatron has no expert parallelism with float16 training", "\"ep\": 1");
	return refuse_shapes(l, err);
}

static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	int rc = launch_one_dimension(l, launch_megatron.label, err);

	if (rc == SB_OK)
		rc = megatron_refuse(l, err);
	return rc == SB_OK ? refuse_offload(l, err) : rc;
}

void megatron_write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	launch_comments(notes, out);
	if (l->model->bidirectional)
		launch_comments(
		    "an encoder, for pretrain_bert.py: pretrain_gpt.py would mask its attention\n", out);
	shape(out, l->model);
	experts(out, l);
	parallel(out, l);
	number(out, "micro-batch-size", l->strategy.micro_batch);
	number(out, "global-batch-size", l->sequences);
	recomputation(out, l);
	precision(out, l->model, &l->strategy);
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	megatron_write(l, notes, out);
	kernel(out, l);
	offloading(out, l);
}

const char *const megatron_why[LAUNCH_FIELDS] = {
    [FIELD_ORDER] = "Megatron knows tp,cp,dp,pp and tp,cp,pp,dp",
    [FIELD_STAGE_RECOMPUTE] = "Megatron recomputes as many first layers of every stage, or a part of all",
    [FIELD_ZERO] = "Megatron's offload wants the distributed optimizer, on one replica too",
    [FIELD_OFFLOAD_ACTIVATIONS] = "Megatron offloads those of whole layers, and not of all",
    [FIELD_EP] = "Megatron spreads experts where there are some",
    [FIELD_OVERLAP_TENSOR] = "it needs tensor ranks with sequence parallelism",
    [FIELD_OVERLAP_EXPERT] =
        "it needs expert ranks, no pipeline or an interleaved one, and in Megatron no full "
        "recomputation, in MindSpeed etp 1 and gradients that are not overlapped",
    [FIELD_OVERLAP_SENDS] = "Megatron overlaps in interleaved pipelines alone, and in those of two stages "
                            "always",
};

const struct launch_format launch_megatron = {.name = "megatron",
                                              .type = "text/plain; charset=utf-8",
                                              .refuse = refuse,
                                              .write = write,
                                              .parse = options_from_arguments,
                                              .read = megatron_read,
                                              .why = megatron_why,
                                              .label = "Megatron"};
