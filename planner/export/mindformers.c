/* Names: mindspore-lab/mindformers, configs/general/llm_pretrain_moe_template.yaml at 10bbf6920956,
 * mindformers/modules/transformer/op_parallel_config.py at 0d89c594f8f7, and the page "Configuration File
 * Descriptions" of MindSpore Transformers r1.5.0. optimizer_shard of older configurations is deprecated
 * there: parallel.enable_parallel_optimizer says it. Overlaps are set in a JSON file beside the configuration
 * (context.ascend_config.parallel_speed_up_json_path; mindspore/context.py, _set_speedup_config_path()). */
#include "planner/export/mindformers.h"

static void integer(struct sb_buf *out, const char *name, int64_t value)
{
	sb_buf_addf(out, "%s: %lld\n", name, (long long)value);
}

static void truth(struct sb_buf *out, const char *name, bool value)
{
	sb_buf_addf(out, "%s: %s\n", name, value ? "True" : "False");
}

static void degrees(const struct launch_plan *l, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;
	int64_t micro_batches = strategy_micro_batches(s, l->sequences);

	sb_buf_adds(out, "use_parallel: True\nrunner_config:\n");
	integer(out, "  batch_size", s->micro_batch);
	/* Only a pipeline has micro_batch_num: without one, steps are accumulated. */
	integer(out, "  gradient_accumulation_steps", s->pp > 1 ? 1 : micro_batches);
	sb_buf_adds(out, "parallel_config:\n");
	integer(out, "  data_parallel", s->dp);
	integer(out, "  model_parallel", s->tp);
	integer(out, "  context_parallel", s->cp);
	integer(out, "  pipeline_stage", s->pp);
	integer(out, "  micro_batch_num", s->pp > 1 ? micro_batches : 1);
	if (l->model->has_moe)
		integer(out, "  expert_parallel", s->ep);
	truth(out, "  use_seq_parallel", s->sequence_parallel);
	/* The plan splits the embedding over tp. */
	truth(out, "  vocab_emb_dp", false);
	integer(out, "  gradient_aggregation_group", 4);
	integer(out, "micro_batch_interleave_num", 1);
	if (l->model->has_moe)
		sb_buf_addf(out, "moe_config:\n  expert_model_parallel: %lld\n", (long long)s->etp);
}

static void context(const struct launch_plan *l, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;

	sb_buf_adds(out, "parallel:\n  parallel_mode: 1\n");
	/* "Typically set to True only in MOE scenarios" */
	if (s->ep > 1)
		truth(out, "  enable_alltoall", true);
	truth(out, "  enable_parallel_optimizer", s->zero >= 1);
	truth(out, "  gradient_fp32_sync", s->gradient_bytes == 4);
	if (s->zero >= 1) {
		sb_buf_adds(out, "  parallel_optimizer_config:\n");
		truth(out, "    gradient_accumulation_shard", s->zero >= 2);
		integer(out, "    parallel_optimizer_threshold", 64);
		/* -1: over all that hold the same weights */
		integer(out, "    optimizer_weight_shard_size", -1);
	}
	if (s->pp > 1) {
		sb_buf_adds(out, "  pipeline_config:\n");
		truth(out, "    pipeline_interleave", s->vpp > 1);
		sb_buf_adds(out, "    pipeline_scheduler: '1f1b'\n");
	}
}

/* The third dimension, of weights, is none of the plan's. */
static void grid(const struct strategy *s, struct sb_buf *out)
{
	struct tensor_grid g = tensor_grid_of(s);

	if (g.x == 1)
		return;
	truth(out, "    use_3d_tensor_parallel", true);
	integer(out, "    tp_x", g.x);
	integer(out, "    tp_y", g.y);
	integer(out, "    tp_z", 1);
}

/* Layers of each stage above or below an equal share; one list a chunk. */
static void offsets(const struct launch_plan *l, struct sb_buf *out)
{
	int64_t pp = l->strategy.pp, share = l->model->layers / launch_slices(l);

	sb_buf_adds(out, "    offset: ");
	if (pp == 1) {
		sb_buf_adds(out, "0\n");
		return;
	}
	for (int64_t i = 0; i < launch_slices(l); i++) {
		const char *open = i == 0 ? "[[" : i % pp == 0 ? "], [" : ", ";

		/* A single chunk has a plain list. */
		if (i == 0 && l->strategy.vpp == 1)
			open = "[";
		sb_buf_addf(out, "%s%lld", open, (long long)(launch_slice_layers(l, i) - share));
	}
	sb_buf_adds(out, l->strategy.vpp == 1 ? "]\n" : "]]\n");
}

/* True, False, or how many layers of each stage, one list a chunk. */
static void recomputing(struct sb_buf *out, const char *name, const struct launch_plan *l, enum recompute way)
{
	const struct strategy *s = &l->strategy;

	if (s->recompute != way || launch_recomputes_all(l)) {
		truth(out, name, s->recompute == way);
		return;
	}
	sb_buf_addf(out, "%s: %s", name, s->vpp > 1 ? "[" : "");
	for (int64_t chunk = 0; chunk < s->vpp; chunk++) {
		sb_buf_adds(out, chunk ? ", [" : "[");
		for (int64_t i = 0; i < s->pp; i++)
			sb_buf_addf(out, "%s%lld", i ? ", " : "",
			            (long long)launch_slice_recomputed(l, chunk * s->pp + i));
		sb_buf_adds(out, "]");
	}
	sb_buf_adds(out, s->vpp > 1 ? "]\n" : "\n");
}

/* The first layers of every stage, or of every chunk of one, as large a share of each as is offloaded. */
static void swapping(const struct launch_plan *l, struct sb_buf *out)
{
	int64_t first = 0;
	const char *comma = "";

	sb_buf_adds(out, "swap_config:\n  swap: True\n  layer_swap: [{backward_prefetch: 1, layers: [");
	for (int64_t i = 0; i < launch_slices(l); i++) {
		int64_t has = launch_slice_layers(l, i), n = launch_offloaded(&l->strategy, has);

		for (int64_t layer = first; layer < first + n; layer++) {
			sb_buf_addf(out, "%s%lld", comma, (long long)layer);
			comma = ", ";
		}
		first += has;
	}
	sb_buf_adds(out, "]}]\ncontext:\n  memory_optimize_level: \"O0\"\n");
	if (l->strategy.pp == 1)
		sb_buf_adds(out, "# needs ENABLE_LAZY_INLINE_NO_PIPELINE=1 in the environment\n");
}

/* The page "Fine-Grained Activations SWAP" of MindSpore Transformers r1.5.0: what is recomputed is not
 * swapped, and the lists of recompute_config mean other things beside swap; dense models alone. */
static int refuse_offload(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;

	if (s->offload.weights > 0 || s->offload.gradients > 0 || s->offload.optimizer > 0)
		return launch_no_offload(err, "MindFormers swaps activations alone");
	if (s->offload.activations > 0 && s->recompute != RECOMPUTE_NONE)
		return launch_no_offload(err, "MindFormers does not swap what it recomputes");
	if (s->offload.activations > 0 && l->model->has_moe)
		return launch_no_offload(err, "MindFormers swaps activations of dense models alone");
	return SB_OK;
}

/* _check_moe_config() of mindformers/modules/transformer/moe.py at 06d7698342bf and, of
 * expert_model_parallel, the feed-forward of llama_layer.py: "must be 1 or model_parallel"; of chunks,
 * "num_layers should be greater than `pp * pp_interleave_num`" of its models' check_pipeline_stage(), which
 * refuses what is below. */
static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;

	if (s->pp > 1 && strategy_micro_batches(s, l->sequences) < s->pp)
		return launch_refuse(err, "micro_batches",
		                     "MindSpore's pipeline needs as many micro-batches as stages",
		                     "\"pp\": 1");
	if (s->vpp > 1 && launch_slices(l) > l->model->layers)
		return launch_refuse(err, "stages", "MindFormers has no more chunks than layers",
		                     "\"vpp\": 1");
	if (l->model->has_moe && tensor_grid_of(s).x > 1)
		return launch_one_dimension(l, "MindFormers with experts", err);
	if (l->model->has_moe && s->etp != 1 && s->etp != s->tp)
		return launch_refuse(err, "expert_tensor_parallel", "MindFormers has etp 1 or etp = tp alone",
		                     "\"etp\": 1");
	if (s->dp * s->cp % s->ep != 0)
		return launch_refuse(err, "expert_parallel",
		                     "MindFormers spreads experts over replicas: ep must divide dp x cp",
		                     "\"ep\": 1");
	return refuse_offload(l, err);
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;

	launch_comments(notes, out);
	degrees(l, out);
	context(l, out);
	sb_buf_adds(out, "model:\n  model_config:\n");
	integer(out, "    num_layers", l->model->layers);
	integer(out, "    seq_length", l->model->seq_len);
	truth(out, "    use_flash_attention", s->attention == ATTENTION_FLASH);
	grid(s, out);
	integer(out, "    pp_interleave_num", s->vpp);
	offsets(l, out);
	sb_buf_adds(out, "recompute_config:\n");
	recomputing(out, "  recompute", l, RECOMPUTE_FULL);
	recomputing(out, "  select_recompute", l, RECOMPUTE_SELECTIVE);
	/* Gathered weights are dropped after the forward pass and gathered again: ZeRO 3. */
	truth(out, "  parallel_optimizer_comm_recompute", s->zero == 3);
	if (s->offload.activations > 0)
		swapping(l, out);
}

static const char *const why[LAUNCH_FIELDS] = {
    [FIELD_ETP] = "MindFormers has it where there are experts",
    [FIELD_OVERLAP_GRADIENTS] = "MindSpore overlaps what its graph allows",
    [FIELD_OVERLAP_TENSOR] = "compute_communicate_fusion_level: 3 in the file of parallel_speed_up_json_path",
    [FIELD_OVERLAP_EXPERT] =
        "pp_1f1b_overlap: \"AlltoAll,AlltoAllV\" in the file of parallel_speed_up_json_path",
    [FIELD_OFFLOAD_ACTIVATIONS] = "MindFormers swaps those of whole layers",
    [FIELD_ORDER] = "MindSpore places tp,cp,dp,pp",
};

const struct launch_format launch_mindformers = {.name = "mindformers",
                                                 .type = "application/yaml",
                                                 .refuse = refuse,
                                                 .write = write,
                                                 .parse = options_from_yaml,
                                                 .read = mindformers_read,
                                                 .why = why,
                                                 .label = "MindFormers"};
