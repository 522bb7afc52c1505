/* Names and defaults: torchtitan/config/job_config.py of pytorch/torchtitan at 6404b932421f, and of
 * wwwjn/torchtitan at 0966a711313e for expert_tensor_parallel_degree, which came later; cuts by
 * generate_llm_fqn_per_model_part() of torchtitan/distributed/pipeline_parallel.py. */
#include "planner/export/torchtitan.h"

#include "planner/cost/offload.h"
#include "planner/cost/overlap.h"

static const char *const modes[] = {"none", "selective", "full", NULL};

static void integer(struct sb_buf *out, const char *name, int64_t value)
{
	sb_buf_addf(out, "%s = %lld\n", name, (long long)value);
}

/* Experts are spread over the ranks that shard, so that there must be some; and "DDP has not supported > 1D
 * parallelism" (parallelize_llama()). */
static bool shards(const struct strategy *s)
{
	return s->dp > 1 && (s->zero >= 1 || s->ep > 1 || s->tp > 1 || s->pp > 1);
}

/* FSDP is there with cp, too. */
static bool is_offloaded(const struct strategy *s)
{
	return (shards(s) || s->cp > 1) && s->offload.weights == 1 && s->offload.gradients == 1 &&
	       s->offload.optimizer == 1;
}

/* The modules of every part, chunk by chunk through the devices, as Interleaved1F1B places them. */
static void parts(const struct launch_plan *l, struct sb_buf *out)
{
	int64_t slices = launch_slices(l), layer = 0;

	sb_buf_adds(out, "module_fqns_per_model_part = [\n");
	for (int64_t i = 0; i < slices; i++) {
		int64_t end = layer + launch_slice_layers(l, i);
		const char *comma = "";

		sb_buf_adds(out, "  [");
		if (i == 0) {
			sb_buf_adds(out, "\"tok_embeddings\"");
			comma = ", ";
		}
		for (; layer < end; layer++) {
			sb_buf_addf(out, "%s\"layers.%lld\"", comma, (long long)layer);
			comma = ", ";
		}
		if (i == slices - 1)
			sb_buf_addf(out, "%s\"norm\", \"output\"", comma);
		sb_buf_adds(out, "],\n");
	}
	sb_buf_adds(out, "]\n");
}

static void training(const struct launch_plan *l, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;

	sb_buf_adds(out, "[training]\n");
	/* A pipeline divides the local batch into its micro-batches; without one, the global batch is
	 * accumulated. */
	integer(out, "local_batch_size", s->pp > 1 ? l->sequences / s->dp : s->micro_batch);
	integer(out, "global_batch_size", l->sequences);
	integer(out, "seq_len", l->model->seq_len);
	if (is_offloaded(s))
		sb_buf_adds(out, "enable_cpu_offload = true\n");
	sb_buf_adds(out, "mixed_precision_param = \"bfloat16\"\nmixed_precision_reduce = \"float32\"\n");
}

static void parallelism(const struct launch_plan *l, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;

	sb_buf_adds(out, "\n[parallelism]\n");
	integer(out, "data_parallel_replicate_degree", shards(s) ? 1 : s->dp);
	integer(out, "data_parallel_shard_degree", shards(s) ? s->dp : 1);
	if (shards(s))
		sb_buf_addf(out, "fsdp_reshard_after_forward = \"%s\"\n", s->zero == 3 ? "always" : "never");
	integer(out, "tensor_parallel_degree", s->tp);
	integer(out, "context_parallel_degree", s->cp);
	integer(out, "pipeline_parallel_degree", s->pp);
	if (overlap_tensor_ranks(s))
		sb_buf_adds(out, "enable_async_tensor_parallel = true\n");
	if (s->pp > 1) {
		sb_buf_addf(out, "pipeline_parallel_schedule = \"%s\"\n",
		            s->vpp > 1 ? "Interleaved1F1B" : "1F1B");
		integer(out, "pipeline_parallel_microbatch_size", s->micro_batch);
		parts(l, out);
	}
	if (l->model->has_moe) {
		integer(out, "expert_parallel_degree", s->ep);
		integer(out, "expert_tensor_parallel_degree", s->etp);
	}
}

/* "EP would borrow all cp and tp and some dp_shard degree": those tp ranks that the experts do not use. */
static int refuse_experts(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;
	int64_t borrowed = s->cp * (s->etp == s->tp ? 1 : s->tp);

	if (!l->model->has_moe || s->ep == 1)
		return SB_OK;
	if (s->etp != 1 && s->etp != s->tp)
		return launch_refuse(err, "expert_tensor_parallel", "torchtitan has etp 1 or etp = tp alone",
		                     "\"etp\": 1");
	if (s->ep % borrowed != 0 || (s->dp * borrowed) % s->ep != 0)
		return launch_refuse(
		    err, "expert_parallel",
		    "torchtitan spreads experts over all cp ranks (and tp ranks when etp is 1) and "
		    "some dp ranks: ep must be a multiple of the former, and divide the product",
		    "\"ep\": 1");
	return SB_OK;
}

/* ParallelDims at 6404b932421f, ScheduleInterleaved1F1B of PyTorch. */
static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;
	int64_t m = strategy_micro_batches(s, l->sequences);
	int rc = launch_one_dimension(l, launch_torchtitan.label, err);

	if (rc != SB_OK)
		return rc;
	if (s->offload.activations > 0)
		return launch_no_offload(err, "torchtitan keeps activations on the device");
	if (offload_any(&s->offload) && !is_offloaded(s))
		return launch_no_offload(err,
		                         "torchtitan offloads weights, gradients and optimizer wholly and "
		                         "together, where it shards them");
	if (l->model->seq_len % (2 * s->tp * s->cp) != 0)
		return launch_refuse(err, "sequence",
		                     "torchtitan's sequences must be multiples of 2 x tp x cp",
		                     "\"tp\": 1, \"cp\": 1");
	/* rounds of about pp micro-batches, all of one size */
	if (s->vpp > 1 && m % (m > s->pp ? m / s->pp : 1) != 0)
		return launch_refuse(
		    err, "interleaving",
		    "Interleaved1F1B takes multiples of (micro-batches / pp, rounded down) alone",
		    "\"vpp\": 1");
	if (l->model->tied_embedding && s->pp > 1)
		return launch_refuse(err, "tied_embedding",
		                     "torchtitan has no pipeline for a model whose head is its embedding",
		                     "\"pp\": 1");
	return refuse_experts(l, err);
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	launch_comments(notes, out);
	if (l->model->bidirectional)
		launch_comments("the plan's model is an encoder, torchtitan's mask their attention\n", out);
	if (l->model->float16)
		launch_comments("torchtitan trains in bfloat16, the plan in float16\n", out);
	if (l->strategy.recompute == RECOMPUTE_SELECTIVE)
		launch_comments("the plan recomputes the attention core; torchtitan's selective keeps other "
		                "operators\n",
		                out);
	training(l, out);
	parallelism(l, out);
	/* "Async TP requires torch.compile" */
	if (overlap_tensor_ranks(&l->strategy))
		sb_buf_adds(out, "\n[compile]\nenable = true\n");
	sb_buf_addf(out, "\n[activation_checkpoint]\nmode = \"%s\"\n", modes[l->strategy.recompute]);
	if (l->strategy.recompute == RECOMPUTE_SELECTIVE)
		sb_buf_adds(out, "selective_ac_option = \"op\"\n");
}

static const char *const why[LAUNCH_FIELDS] = {
    [FIELD_STAGE_RECOMPUTE] = "torchtitan recomputes in all layers or in none",
    [FIELD_ZERO] = "torchtitan shards gradients with the optimizer, and always over cp or below experts",
    [FIELD_SEQUENCE_PARALLEL] = "torchtitan has it with tensor parallelism, always",
    [FIELD_OVERLAP_GRADIENTS] = "torchtitan always overlaps",
    [FIELD_OVERLAP_TENSOR] = "torchtitan's needs tensor ranks",
    [FIELD_OVERLAP_EXPERT] = "torchtitan has it in its schedule DualPipeV alone",
    [FIELD_GRADIENT_DTYPE] = "torchtitan reduces in float32",
    [FIELD_ORDER] = "torchtitan's mesh is tp,cp,dp,pp",
    [FIELD_ATTENTION] = "the model's code chooses the kernel",
    [FIELD_ETP] = "torchtitan reads it only where ep is above 1",
};

const struct launch_format launch_torchtitan = {.name = "torchtitan",
                                                .type = "application/toml",
                                                .refuse = refuse,
                                                .write = write,
                                                .parse = options_from_toml,
                                                .read = torchtitan_read,
                                                .why = why,
                                                .label = "torchtitan"};
