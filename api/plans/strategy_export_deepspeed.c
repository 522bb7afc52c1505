/* Names, defaults and refusals: deepspeedai/DeepSpeed, docs/_pages/config-json.md at 00376da49967;
 * pipeline.activation_checkpoint_interval and the refusal of ZeRO 2 and 3: deepspeed/runtime/pipe/engine.py;
 * sequence_parallel_size with data_parallel_size: initialize() in deepspeed/__init__.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/strategy_export.h"

/* What the model's own code must do, because no option does it. */
static void demands(const struct launch_plan *l, json_t *list)
{
	const struct strategy *s = &l->strategy;

	if (s->pp > 1) {
		SB_BUF_AUTO cut;

		sb_buf_init(&cut, OPTIONS_TEXT_MAX);
		sb_buf_adds(
		    &cut, "the model must be a PipelineModule of num_stages = pipeline.stages, with layers ");
		launch_field_write(l, FIELD_STAGES, &cut);
		json_array_append_new(list, json_stringn(cut.data, cut.len));
	}
	if (s->cp > 1)
		json_array_append_new(list, json_string("sequence_parallel_size splits attention over heads "
		                                        "(Ulysses); the plan's time is that of a ring"));
	if (s->recompute == RECOMPUTE_FULL && s->pp == 1)
		json_array_append_new(list,
		                      json_string("the model must call deepspeed.checkpointing.checkpoint "
		                                  "for each layer"));
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

static json_t *zero_of(const struct strategy *s)
{
	return json_pack("{s:i,s:b}", "stage", s->zero, "overlap_comm", s->overlap_gradients);
}

static void parallelism(const struct launch_plan *l, json_t *o)
{
	const struct strategy *s = &l->strategy;

	if (s->tp > 1)
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
	else if (s->recompute == RECOMPUTE_FULL)
		json_object_set_new(o, "activation_checkpointing",
		                    json_pack("{s:b,s:b,s:I}", "partition_activations", 0,
		                              "cpu_checkpointing", 0, "number_checkpoints",
		                              (json_int_t)l->model->layers));
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

static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	if (l->strategy.zero >= 2 && l->strategy.pp > 1)
		return sb_fail(err, SB_EIMPOSSIBLE, "zero_with_pipeline",
		               "DeepSpeed has no ZeRO 2 or 3 together with a pipeline");
	if (l->strategy.cp > 1 && l->strategy.pp > 1)
		return sb_fail(err, SB_EIMPOSSIBLE, "context_with_pipeline",
		               "DeepSpeed has no sequence parallelism (Ulysses) together with a pipeline");
	if (l->strategy.cp > 1 && l->model->heads % l->strategy.cp != 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "context_parallel",
		               "DeepSpeed's sequence parallelism splits heads: cp must divide them");
	return SB_OK;
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

static int add_note(const json_t *note, struct options *out, struct sb_error *err)
{
	if (!json_is_string(note))
		return SB_OK;
	return options_comment(out, json_string_value(note), json_string_length(note), 0, err);
}

/* Every member that is no list, by its path; the lists that we read are our notes. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by OPTIONS_DEPTH */
static int flatten(const json_t *object, const char *path, int depth, struct options *out,
                   struct sb_error *err)
{
	const char *name;
	json_t *value;
	int rc = SB_OK;

	if (depth == OPTIONS_DEPTH)
		return sb_fail(err, SB_EIMPOSSIBLE, "too_deep", "is nested too deep");
	json_object_foreach(json_readable(object), name, value)
	{
		char number[32] = "", here[512];
		const char *text = number;

		if (rc != SB_OK)
			return rc;
		if (json_is_object(value)) {
			if (snprintf(here, sizeof(here), "%s%s%s", path, *path ? "." : "", name) >=
			    (int)sizeof(here))
				return sb_fail(err, SB_EIMPOSSIBLE, "too_deep",
				               "has a name that is too long");
			rc = flatten(value, here, depth + 1, out, err);
			continue;
		}
		if (json_is_array(value)) {
			for (size_t i = 0; rc == SB_OK && depth == 0 && strcmp(name, "notes") == 0 &&
			                   i < json_array_size(value);
			     i++)
				rc = add_note(json_array_get(value, i), out, err);
			continue;
		}
		if (json_is_string(value))
			text = json_string_value(value);
		else if (json_is_boolean(value))
			text = json_is_true(value) ? "true" : "false";
		else if (json_is_integer(value))
			snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		else if (json_is_real(value))
			snprintf(number, sizeof(number), "%.17g", json_real_value(value));
		else
			continue;
		rc = options_add_in(out, path, name, strlen(name), text, strlen(text), 0, err);
	}
	return rc;
}

static int parse(const char *text, size_t len, struct options *out, struct sb_error *err)
{
	json_error_t fault;
	int rc = options_check(text, len, err);
	JSON_AUTO o = rc == SB_OK ? json_read_request(text, len, &fault) : NULL;

	if (rc != SB_OK)
		return rc;
	if (!o)
		return sb_fail(err, SB_EIMPOSSIBLE, "bad_syntax", "line %d: %s", fault.line, fault.text);
	if (!json_is_object(o))
		return sb_fail(err, SB_EIMPOSSIBLE, "bad_syntax", "is no JSON object");
	rc = flatten(o, "", 0, out, err);
	return rc == SB_OK ? options_close(out, err) : rc;
}

/* Two of the three batch sizes give the third; with all, the replicas. */
static int batch(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	int64_t total = 0, micro = 0, steps = 0;
	int rc = options_integer(o, "train_batch_size", 1, (int64_t)1 << 40, &total, err);

	if (rc == SB_OK)
		rc =
		    options_integer(o, "train_micro_batch_size_per_gpu", 1, STRATEGY_MAX_DEGREE, &micro, err);
	if (rc == SB_OK)
		rc = options_integer(o, "gradient_accumulation_steps", 1, STRATEGY_MAX_DEGREE, &steps, err);
	if (rc != SB_OK)
		return rc;
	if (total > 0 && micro > 0 && steps > 0) {
		if (total % (micro * steps) != 0 || total / (micro * steps) > STRATEGY_MAX_DEGREE)
			return options_fail(o, "train_batch_size", err,
			                    "is no multiple of micro batch x accumulation steps");
		s->dp = total / (micro * steps);
	} else {
		rc = launch_replicas(l, err);
	}
	if (rc != SB_OK)
		return rc;
	if (micro == 0) {
		micro = total / (s->dp * (steps ? steps : 1));
		if (micro < 1 || micro > STRATEGY_MAX_DEGREE || total != micro * s->dp * (steps ? steps : 1))
			return options_fail(o, "train_batch_size", err, "is no multiple of the replicas");
	}
	s->micro_batch = micro;
	l->sequences = total > 0 ? total : micro * (steps ? steps : 1) * s->dp;
	return SB_OK;
}

static int degrees(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	const char *stages = options_get(o, "pipeline.stages");
	bool experts = false;
	int rc = options_integer(o, "tensor_parallel.autotp_size", 0, STRATEGY_MAX_DEGREE, &s->tp, err);

	s->tp = s->tp > 0 ? s->tp : 1;
	if (rc == SB_OK)
		rc = launch_degree(o, "sequence_parallel_size", &s->cp, err);
	if (rc == SB_OK && stages && strcmp(stages, "auto") != 0)
		rc = launch_degree(o, "pipeline.stages", &s->pp, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "expert_parallel.enabled", &experts, err);
	if (rc == SB_OK && experts)
		rc = launch_degree(o, "expert_parallel.autoep_size", &s->ep, err);
	return rc;
}

static int recomputation(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	int64_t interval = 0, checkpoints = 0;
	int rc = options_integer(o, "pipeline.activation_checkpoint_interval", 0, STRATEGY_MAX_DEGREE,
	                         &interval, err);

	if (rc == SB_OK && interval > 1)
		return options_fail(o, "pipeline.activation_checkpoint_interval", err,
		                    "recomputes groups of layers: a strategy recomputes each");
	if (rc == SB_OK)
		rc = options_integer(o, "activation_checkpointing.number_checkpoints", 0, STRATEGY_MAX_DEGREE,
		                     &checkpoints, err);
	l->strategy.recompute = interval == 1 || checkpoints > 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
	return rc;
}

static int read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	static const char *const types[] = {"fp32", "fp16", "bf16", "bfp16", NULL};
	int64_t zero = 0;
	int type = 1, rc;

	launch_reset(io);
	rc = degrees(o, io, err);
	if (rc == SB_OK)
		rc = batch(o, io, err);
	if (rc == SB_OK)
		rc = options_integer(o, "zero_optimization.stage", 0, 3, &zero, err);
	io->strategy.zero = (int)zero;
	/* overlap_comm is off by default, but for stage 3 */
	io->strategy.overlap_gradients = zero == 3;
	if (rc == SB_OK)
		rc = options_boolean(o, "zero_optimization.overlap_comm", &io->strategy.overlap_gradients,
		                     err);
	if (rc == SB_OK)
		rc = options_word(o, "communication_data_type", types, &type, err);
	io->strategy.gradient_bytes = type == 0 ? 4 : 2;
	return rc == SB_OK ? recomputation(o, io, err) : rc;
}

static const char *const why[LAUNCH_FIELDS] = {
    [FIELD_STAGE_RECOMPUTE] = "DeepSpeed recomputes all layers or none",
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
                                               .parse = parse,
                                               .read = read,
                                               .why = why,
                                               .label = "DeepSpeed"};
