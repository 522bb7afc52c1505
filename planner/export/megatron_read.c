#include <stdlib.h>
#include <string.h>

#include "planner/export/megatron.h"
#include "planner/export/pipeline.h"

static int degrees(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	int rc = launch_degree(o, "tensor-model-parallel-size", &s->tp, err);

	if (rc == SB_OK)
		rc = launch_degree(o, "pipeline-model-parallel-size", &s->pp, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "context-parallel-size", &s->cp, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "expert-model-parallel-size", &s->ep, err);
	/* "if args.expert_tensor_parallel_size is None": as the tensor ranks */
	s->etp = l->model->has_moe ? s->tp : 1;
	if (rc == SB_OK)
		rc = options_integer(o, "expert-tensor-parallel-size", 1, STRATEGY_MAX_DEGREE, &s->etp, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "micro-batch-size", &s->micro_batch, err);
	if (rc == SB_OK)
		rc = options_integer(o, "global-batch-size", 1, INT64_MAX, &l->sequences, err);
	return rc == SB_OK ? launch_replicas(l, err) : rc;
}

static int layout(const char *text, struct launch_plan *l, struct sb_error *err)
{
	int64_t stages = 0, *slices;
	int rc = megatron_layout_stages(text, &stages, err);

	if (rc != SB_OK)
		return rc;
	if (stages % l->strategy.pp != 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "stages",
		               "the layout's %lld stages are no multiple of the pipeline's %lld",
		               (long long)stages, (long long)l->strategy.pp);
	l->strategy.vpp = stages / l->strategy.pp;
	slices = calloc((size_t)stages, sizeof(*slices));
	if (!slices)
		return sb_no_memory(err);
	rc = megatron_layout_parse(text, stages, slices, err);
	if (rc == SB_OK)
		rc = launch_cut(l, slices, err);
	free(slices);
	return rc;
}

/* --num-virtual-stages-per-pipeline-rank, or --num-layers-per-virtual-pipeline-stage. */
static int chunks(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char name[] = "num-layers-per-virtual-pipeline-stage";
	struct strategy *s = &l->strategy;
	int64_t layers = 0;
	int rc = launch_degree(o, "num-virtual-stages-per-pipeline-rank", &s->vpp, err);

	if (rc == SB_OK)
		rc = options_integer(o, name, 1, STRATEGY_MAX_DEGREE, &layers, err);
	if (rc != SB_OK || layers == 0)
		return rc;
	if (l->model->layers % (s->pp * layers) != 0)
		return options_fail(o, name, err, "does not divide the layers of a stage");
	s->vpp = l->model->layers / (s->pp * layers);
	return SB_OK;
}

/* A first and a last stage of their own; the others share the rest. */
static int ends(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	int64_t pp = l->strategy.pp, total = l->model->layers, first = -1, last = -1, others, left, *slices;
	int rc = options_integer(o, "decoder-first-pipeline-num-layers", 0, total, &first, err);

	if (rc == SB_OK)
		rc = options_integer(o, "decoder-last-pipeline-num-layers", 0, total, &last, err);
	if (rc != SB_OK || (first < 0 && last < 0))
		return rc;
	others = pp - (first >= 0) - (last >= 0);
	left = total - (first > 0 ? first : 0) - (last > 0 ? last : 0);
	if (pp < 2 || pp > total || l->strategy.vpp > 1 || left < 0 || (others == 0 && left > 0) ||
	    (others > 0 && left % others != 0))
		return sb_fail(err, SB_EIMPOSSIBLE, "stages",
		               "the layers that the first and last stages leave do not divide evenly");
	slices = calloc((size_t)pp, sizeof(*slices));
	if (!slices)
		return sb_no_memory(err);
	for (int64_t i = 0; i < pp; i++)
		slices[i] = i == 0 && first >= 0 ? first : i == pp - 1 && last >= 0 ? last : left / others;
	rc = launch_cut(l, slices, err);
	free(slices);
	return rc;
}

static int cut(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	const char *text = options_get(o, "pipeline-model-parallel-layout");
	int rc;

	if (text)
		return layout(text, l, err);
	rc = chunks(o, l, err);
	return rc == SB_OK ? ends(o, l, err) : rc;
}

static int sharding(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const words[] = {"no_shard", "optim", "optim_grads", "optim_grads_params", NULL};
	bool distributed = false, fsdp = false, torch_fsdp = false, whole = false;
	int level = 0, rc = options_boolean(o, "use-distributed-optimizer", &distributed, err);

	if (rc == SB_OK)
		rc = options_boolean(o, "use-megatron-fsdp", &fsdp, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "use-torch-fsdp2", &torch_fsdp, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "torch-fsdp2-no-reshard-after-forward", &whole, err);
	if (rc == SB_OK)
		rc = options_word(o, "data-parallel-sharding-strategy", words, &level, err);
	l->strategy.zero = torch_fsdp ? (whole ? 2 : 3) : fsdp ? level : distributed ? 1 : 0;
	return rc == SB_OK ? options_boolean(o, "overlap-grad-reduce", &l->strategy.overlap_gradients, err)
	                   : rc;
}

/* As many first layers of every chunk, or all that it has. */
static int block(struct launch_plan *l, int64_t most, struct sb_error *err)
{
	int64_t count = launch_slices(l), *slices;
	bool all = true;
	int rc;

	if (!strategy_slices_fit(l->strategy.pp, l->strategy.vpp, l->model->layers))
		return sb_fail(err, SB_EIMPOSSIBLE, "stages", "there are more stages than layers");
	slices = calloc((size_t)count, sizeof(*slices));
	if (!slices)
		return sb_no_memory(err);
	for (int64_t i = 0; i < count; i++) {
		int64_t n = launch_slice_layers(l, i);

		slices[i] = n < most ? n : most;
		all = all && n <= most;
	}
	rc = all ? SB_OK : launch_recompute(l, slices, err);
	free(slices);
	return rc;
}

static int recomputation(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const granularities[] = {"", "selective", "full", NULL};
	static const char *const methods[] = {"uniform", "block", NULL};
	bool selective = false;
	int granularity = 0, method = 0;
	int64_t layers = 1;
	int rc = options_boolean(o, "recompute-activations", &selective, err);

	if (rc == SB_OK)
		rc = options_word(o, "recompute-granularity", granularities, &granularity, err);
	if (rc == SB_OK)
		rc = options_word(o, "recompute-method", methods, &method, err);
	if (rc == SB_OK)
		rc = options_integer(o, "recompute-num-layers", 1, STRATEGY_MAX_DEGREE, &layers, err);
	if (rc != SB_OK)
		return rc;
	if (granularity == 2 && method == 0 && layers > 1)
		return options_fail(o, "recompute-num-layers", err,
		                    "keeps one layer of each group alone: no strategy of ours");
	l->strategy.recompute = (enum recompute)(granularity == 0 && selective ? 1 : granularity);
	return granularity == 2 && method == 1 ? block(l, layers, err) : SB_OK;
}

static int kernel(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const words[] = {"auto", "flash", "fused", "unfused", "local", NULL};
	bool flash = false;
	int word = 0, rc = options_word(o, "attention-backend", words, &word, err);

	if (rc == SB_OK)
		rc = options_boolean(o, "use-flash-attn", &flash, err);
	if (word != 0 || flash)
		l->strategy.attention = word >= 3 ? ATTENTION_UNFUSED : ATTENTION_FLASH;
	return rc;
}

static int precision(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	bool half = l->model->float16, wide = false, narrow = false;
	int rc = options_boolean(o, "fp16", &half, err);

	if (rc == SB_OK)
		rc = options_boolean(o, "accumulate-allreduce-grads-in-fp32", &wide, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "grad-reduce-in-bf16", &narrow, err);
	l->strategy.gradient_bytes = (half ? wide : !narrow) ? 4 : 2;
	return rc;
}

static int offloading(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	bool optimizer = false;
	double fraction = 1;
	int64_t layers = 0;
	int rc = options_boolean(o, "optimizer-cpu-offload", &optimizer, err);

	if (rc == SB_OK)
		rc = options_real(o, "optimizer-offload-fraction", 0, 1, &fraction, err);
	if (rc == SB_OK)
		rc = options_integer(o, "cpu-offloading-num-layers", 0, l->model->layers - 1, &layers, err);
	l->strategy.offload.optimizer = optimizer ? fraction : 0;
	l->strategy.offload.activations = (double)layers / (double)l->model->layers;
	return rc;
}

static int overlaps(const struct options *o, struct strategy *s, struct sb_error *err)
{
	bool blocking = false;
	int rc = options_boolean(o, "no-overlap-p2p-communication", &blocking, err);

	if (rc == SB_OK)
		rc = options_boolean(o, "tp-comm-overlap", &s->overlap_tensor, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "overlap-moe-expert-parallel-comm", &s->overlap_expert, err);
	/* "Overlap P2P communication is disabled if not using the interleaved schedule" */
	s->overlap_sends = s->vpp > 1 && !blocking;
	return rc;
}

/* Options that change what runs in a way that a strategy does not have. */
static int refuse_others(const struct options *o, struct sb_error *err)
{
	static const char *const names[] = {"account-for-embedding-in-pipeline-split",
	                                    "account-for-loss-in-pipeline-split",
	                                    "fp8-format",
	                                    "fp4-format",
	                                    "offload-optimizer-states",
	                                    "fine-grained-activation-offloading"};
	int64_t instances = 1;
	int rc = options_integer(o, "num-distributed-optimizer-instances", 1, STRATEGY_MAX_DEGREE, &instances,
	                         err);

	if (rc == SB_OK && instances > 1)
		return options_fail(o, "num-distributed-optimizer-instances", err,
		                    "shards over a part of the replicas: a strategy has all or none");
	for (size_t i = 0; rc == SB_OK && i < sizeof(names) / sizeof(names[0]); i++)
		if (options_get(o, names[i]))
			return options_fail(o, names[i], err, "is nothing that a strategy can say");
	return rc;
}

int megatron_read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	static const enum dimension dp_last[DIMS] = {DIM_TP, DIM_CP, DIM_PP, DIM_DP};
	bool mapping = false;
	int rc;

	launch_reset(io);
	rc = refuse_others(o, err);
	if (rc == SB_OK)
		rc = launch_same_layers(o, "num-layers", io, err);
	if (rc == SB_OK)
		rc = degrees(o, io, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "sequence-parallel", &io->strategy.sequence_parallel, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "use-tp-pp-dp-mapping", &mapping, err);
	if (rc == SB_OK && mapping)
		memcpy(io->strategy.order, dp_last, sizeof(dp_last));
	if (rc == SB_OK)
		rc = sharding(o, io, err);
	if (rc == SB_OK)
		rc = cut(o, io, err);
	if (rc == SB_OK)
		rc = overlaps(o, &io->strategy, err);
	if (rc == SB_OK)
		rc = recomputation(o, io, err);
	if (rc == SB_OK)
		rc = kernel(o, io, err);
	if (rc == SB_OK)
		rc = offloading(o, io, err);
	return rc == SB_OK ? precision(o, io, err) : rc;
}
