/* Names, defaults and refusals: deepspeedai/DeepSpeed, docs/_pages/config-json.md at 00376da49967;
 * pipeline.activation_checkpoint_interval and the refusal of ZeRO 2 and 3: deepspeed/runtime/pipe/engine.py;
 * sequence_parallel_size with data_parallel_size: initialize() in deepspeed/__init__.py; what offload needs:
 * deepspeed/runtime/zero/offload_config.py at 1978617c691b. */
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/strategy_export_deepspeed.h"

/* What the model's own code must do, because no option does it. */
static void demands(const struct launch_plan *l, json_t *list)
{
	const struct strategy *s = &l->strategy;

	if (s->pp > 1) {
		SB_BUF_AUTO cut;

		sb_buf_init(&cut, OPTIONS_TEXT_MAX);
		sb_buf_adds(
		    &cut, "the model must be a PipelineModule of num_stages = pipeline.stages, with layers ");
		for (int64_t i = 0; i < s->pp; i++)
			sb_buf_addf(&cut, "%s%lld", i ? "," : "",
			            (long long)strategy_stage_layers(s, l->model->layers, i));
		if (s->tp > 1)
			sb_buf_addf(&cut,
			            ", that splits its tensors over the topology "
			            "PipeModelDataParallelTopology(num_pp=%lld, num_mp=%lld, num_dp=%lld)",
			            (long long)s->pp, (long long)s->tp, (long long)s->dp);
		json_array_append_new(list, json_stringn(cut.data, cut.len));
	}
	if (s->cp > 1)
		json_array_append_new(list, json_string("sequence_parallel_size splits attention over heads "
		                                        "(Ulysses); the plan's time is that of a ring"));
	if (s->recompute == RECOMPUTE_FULL && s->pp == 1)
		json_array_append_new(list,
		                      json_string("the model must call deepspeed.checkpointing.checkpoint "
		                                  "for each layer"));
	if (s->offload.activations > 0)
		json_array_append_new(list,
		                      json_string("the run must call deepspeed.checkpointing.configure with "
		                                  "this file: cpu_checkpointing"));
	if (s->offload.optimizer > 0)
		json_array_append_new(list, json_string("the optimizer must be DeepSpeedCPUAdam"));
}

static json_t *notes_of(const struct launch_plan *l, const char *notes)
{
	json_t *list = json_array();

	while (*notes) {
		size_t len = strcspn(notes, "\n");

		json_array_append_new(list, json_stringn(notes, len));
		notes += len + (notes[len] == '\n');
	}
	demands(l, list);
	return list;
}

/* The stage that offload asks for. Gradients go with the optimizer from 2 on: below, they wait on the device
 * for the last micro-batch. */
static int offload_stage(const struct offload *o)
{
	if (o->weights > 0 || (o->optimizer > 0 && o->optimizer < 1))
		return 3;
	return o->gradients > 0 ? 2 : o->optimizer > 0;
}

/* One replica may have any stage. */
static int stage_of(const struct strategy *s)
{
	int stage = offload_stage(&s->offload);

	return stage > s->zero ? stage : s->zero;
}

static json_t *zero_of(const struct strategy *s)
{
	int stage = stage_of(s);
	json_t *o = json_pack("{s:i,s:b}", "stage", stage, "overlap_comm",
	                      s->overlap_gradients && deepspeed_overlaps(stage, s->pp));
	json_t *optimizer;

	if (s->offload.optimizer > 0) {
		optimizer = json_pack("{s:s,s:b}", "device", "cpu", "pin_memory", 1);
		if (s->offload.optimizer < 1)
			json_object_set_new(optimizer, "ratio", json_real(s->offload.optimizer));
		json_object_set_new(o, "offload_optimizer", optimizer);
	}
	if (s->offload.weights > 0)
		json_object_set_new(o, "offload_param",
		                    json_pack("{s:s,s:b}", "device", "cpu", "pin_memory", 1));
	return o;
}

static void parallelism(const struct launch_plan *l, json_t *o)
{
	const struct strategy *s = &l->strategy;

	/* AutoTP knows no stages: it makes groups of neighbours out of all ranks. */
	if (s->tp > 1 && s->pp == 1)
		json_object_set_new(o, "tensor_parallel",
		                    json_pack("{s:I}", "autotp_size", (json_int_t)s->tp));
	if (s->cp > 1) {
		json_object_set_new(o, "sequence_parallel_size", json_integer(s->cp));
		json_object_set_new(o, "data_parallel_size", json_integer(s->dp));
	}
	if (s->ep > 1)
		json_object_set_new(o, "expert_parallel",
		                    json_pack("{s:b,s:I}", "enabled", 1, "autoep_size", (json_int_t)s->ep));
	if (s->pp > 1)
		json_object_set_new(o, "pipeline",
		                    json_pack("{s:I,s:i}", "stages", (json_int_t)s->pp,
		                              "activation_checkpoint_interval",
		                              s->recompute == RECOMPUTE_FULL));
	if (s->recompute == RECOMPUTE_FULL && (s->pp == 1 || s->offload.activations > 0))
		json_object_set_new(o, "activation_checkpointing",
		                    json_pack("{s:b,s:b,s:I}", "partition_activations", 0,
		                              "cpu_checkpointing", s->offload.activations > 0,
		                              "number_checkpoints", (json_int_t)l->model->layers));
}

static json_t *document(const struct launch_plan *l, const char *notes)
{
	const struct strategy *s = &l->strategy;
	const char *half = l->model->float16 ? "fp16" : "bf16";
	const char *gradients = s->gradient_bytes == 4 ? "fp32" : half;
	json_t *o = json_object(), *list = notes_of(l, notes);

	if (json_array_size(list) > 0)
		json_object_set(o, "notes", list);
	json_decref(list);
	json_object_set_new(o, "train_batch_size", json_integer(l->sequences));
	json_object_set_new(o, "train_micro_batch_size_per_gpu", json_integer(s->micro_batch));
	json_object_set_new(o, "gradient_accumulation_steps",
	                    json_integer(strategy_micro_batches(s, l->sequences)));
	json_object_set_new(o, half, json_pack("{s:b}", "enabled", 1));
	json_object_set_new(o, "communication_data_type", json_string(gradients));
	json_object_set_new(o, "data_types", json_pack("{s:s}", "grad_accum_dtype", gradients));
	json_object_set_new(o, "zero_optimization", zero_of(s));
	parallelism(l, o);
	return o;
}

static int refuse_offload(const struct launch_plan *l, struct sb_error *err)
{
	const struct strategy *s = &l->strategy;
	const struct offload *o = &s->offload;
	int stage = offload_stage(o);

	if (o->weights > 0 && o->weights < 1)
		return launch_no_offload(err, "DeepSpeed offloads weights wholly or not at all");
	if (o->gradients > 0 && o->optimizer == 0)
		return launch_no_offload(err, "DeepSpeed offloads gradients with the optimizer alone");
	if (stage >= 2 && s->pp > 1)
		return launch_no_offload(err,
		                         "DeepSpeed offloads weights, gradients or a part of the optimizer "
		                         "with ZeRO 2 or 3, and has none together with a pipeline");
	if (stage > s->zero && !launch_is_alone(s))
		return launch_no_offload(err,
		                         "DeepSpeed needs ZeRO 1 to offload the optimizer, 2 for gradients, "
		                         "3 for weights or a part of the optimizer");
	if (o->activations > 0 &&
	    (o->activations < 1 || s->recompute != RECOMPUTE_FULL || !launch_recomputes_all(l)))
		return launch_no_offload(
		    err,
		    "DeepSpeed offloads all activations of recomputed layers (cpu_checkpointing) or none");
	return SB_OK;
}

static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	int rc = launch_one_dimension(l, launch_deepspeed.label, err);

	if (rc != SB_OK)
		return rc;
	if (l->strategy.zero >= 2 && l->strategy.pp > 1)
		return launch_refuse(err, "zero_with_pipeline",
		                     "DeepSpeed has no ZeRO 2 or 3 together with a pipeline",
		                     "\"zero\": [0, 1]");
	if (l->strategy.cp > 1 && l->strategy.pp > 1)
		return launch_refuse(
		    err, "context_with_pipeline",
		    "DeepSpeed has no sequence parallelism (Ulysses) together with a pipeline", "\"cp\": 1");
	if (l->strategy.cp > 1 && l->model->heads % l->strategy.cp != 0)
		return launch_refuse(err, "context_parallel",
		                     "DeepSpeed's sequence parallelism splits heads: cp must divide them",
		                     "\"cp\": 1");
	return refuse_offload(l, err);
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	JSON_AUTO o = document(l, notes);
	char *text = o ? json_write_indented(o) : NULL;

	if (text)
		sb_buf_adds(out, text);
	else
		out->status = SB_ENOMEM;
	free(text);
}

static const char *const why[LAUNCH_FIELDS] = {
    [FIELD_STAGE_RECOMPUTE] = "DeepSpeed recomputes all layers or none",
    [FIELD_TP] = "the topology of a PipelineModule says it",
    [FIELD_ZERO] = "DeepSpeed's offload wants a stage, on one replica too",
    [FIELD_OVERLAP_GRADIENTS] = "DeepSpeed overlaps with ZeRO and without a pipeline",
    [FIELD_OFFLOAD_GRADIENTS] = "from ZeRO 2 on, DeepSpeed has them where it has the optimizer",
    [FIELD_OFFLOAD_OPTIMIZER] = "DeepSpeed's configuration holds 15 digits",
    [FIELD_VPP] = "DeepSpeed's pipeline is not interleaved",
    [FIELD_ETP] = "AutoEP accepts 1 alone",
    [FIELD_SEQUENCE_PARALLEL] = "AutoTP has none",
    [FIELD_RECOMPUTE] = "DeepSpeed recomputes whole layers or none",
    [FIELD_ATTENTION] = "the model's code chooses the kernel",
    [FIELD_ORDER] = "DeepSpeed places the ranks by the topology that the model gives it",
    [FIELD_STAGES] = "PipelineModule cuts by its own partition_method",
};

const struct launch_format launch_deepspeed = {.name = "deepspeed",
                                               .type = "application/json",
                                               .refuse = refuse,
                                               .write = write,
                                               .parse = deepspeed_parse,
                                               .read = deepspeed_read,
                                               .why = why,
                                               .label = "DeepSpeed"};
