#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/strategy_export_deepspeed.h"

bool deepspeed_overlaps(int64_t stage, int64_t pp)
{
	return stage > 0 && pp == 1;
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

int deepspeed_parse(const char *text, size_t len, struct options *out, struct sb_error *err)
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

static int offloading(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const devices[] = {"none", "cpu", NULL};
	struct strategy *s = &l->strategy;
	int optimizer = 0, weights = 0;
	double ratio = 1;
	bool checkpoints = false;
	int rc = options_word(o, "zero_optimization.offload_optimizer.device", devices, &optimizer, err);

	if (rc == SB_OK)
		rc = options_real(o, "zero_optimization.offload_optimizer.ratio", 0, 1, &ratio, err);
	if (rc == SB_OK)
		rc = options_word(o, "zero_optimization.offload_param.device", devices, &weights, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "activation_checkpointing.cpu_checkpointing", &checkpoints, err);
	/* The ratio is "only valid with ZeRO stage 3", parameters too. */
	s->offload.optimizer = optimizer == 0 || s->zero == 0 ? 0 : s->zero == 3 ? ratio : 1;
	s->offload.gradients = s->offload.optimizer > 0 && s->zero >= 2;
	s->offload.weights = weights == 1 && s->zero == 3;
	s->offload.activations = checkpoints && s->recompute == RECOMPUTE_FULL;
	return rc;
}

int deepspeed_read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	static const char *const types[] = {"fp32", "fp16", "bf16", "bfp16", NULL};
	int64_t zero = 0;
	bool overlap;
	int type = 1, rc;

	launch_reset(io);
	rc = degrees(o, io, err);
	if (rc == SB_OK)
		rc = batch(o, io, err);
	if (rc == SB_OK)
		rc = options_integer(o, "zero_optimization.stage", 0, 3, &zero, err);
	io->strategy.zero = (int)zero;
	/* overlap_comm is off by default, but for stage 3 */
	overlap = zero == 3;
	if (rc == SB_OK)
		rc = options_boolean(o, "zero_optimization.overlap_comm", &overlap, err);
	io->strategy.overlap_gradients = overlap && deepspeed_overlaps(io->strategy.zero, io->strategy.pp);
	if (rc == SB_OK)
		rc = options_word(o, "communication_data_type", types, &type, err);
	io->strategy.gradient_bytes = type == 0 ? 4 : 2;
	if (rc == SB_OK)
		rc = recomputation(o, io, err);
	return rc == SB_OK ? offloading(o, io, err) : rc;
}
