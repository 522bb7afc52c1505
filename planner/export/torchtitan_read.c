#include <stdlib.h>
#include <string.h>

#include "planner/export/torchtitan.h"

static int degrees(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	const struct {
		const char *name;
		int64_t *out;
	} rows[] = {{"parallelism.tensor_parallel_degree", &s->tp},
	            {"parallelism.context_parallel_degree", &s->cp},
	            {"parallelism.pipeline_parallel_degree", &s->pp},
	            {"parallelism.expert_parallel_degree", &s->ep}};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
		rc = launch_degree(o, rows[i].name, rows[i].out, err);
	/* "No effect ... when ep = 1": the experts are then split as the rest is. */
	s->etp = l->model->has_moe && s->ep == 1 ? s->tp : 1;
	if (rc == SB_OK && s->ep > 1)
		rc = launch_degree(o, "parallelism.expert_tensor_parallel_degree", &s->etp, err);
	return rc;
}

/* Shard -1, the default: all devices that are left. */
static int replicas(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const words[] = {"default", "always", "never", NULL};
	static const char name[] = "parallelism.data_parallel_shard_degree";
	struct strategy *s = &l->strategy;
	int64_t replicate = 1, shard = -1;
	bool host = false;
	int policy = 0, rc = launch_degree(o, "parallelism.data_parallel_replicate_degree", &replicate, err);

	if (rc == SB_OK)
		rc = options_integer(o, name, -1, STRATEGY_MAX_DEGREE, &shard, err);
	if (rc == SB_OK)
		rc = options_word(o, "parallelism.fsdp_reshard_after_forward", words, &policy, err);
	if (rc == SB_OK && shard <= 0)
		rc = launch_replicas(l, err);
	if (rc != SB_OK)
		return rc;
	if (shard == 0 || (shard < 0 && s->dp % replicate != 0))
		return options_fail(o, name, err, "is no degree");
	if (shard < 0)
		shard = s->dp / replicate;
	s->dp = replicate * shard;
	if (replicate > 1 && shard > 1)
		return options_fail(o, name, err,
		                    "together with replication shards over a part of the replicas: a "
		                    "strategy has all or none");
	/* "default" keeps the weights of a pipeline's stages whole between micro-batches. */
	if (shard > 1 || s->cp > 1)
		s->zero = policy == 1 || (policy == 0 && s->pp == 1) ? 3 : 2;
	s->overlap_gradients = true;
	s->sequence_parallel = s->tp > 1;
	/* FSDP does it: without it nothing happens. */
	if (s->zero >= 2)
		rc = options_boolean(o, "training.enable_cpu_offload", &host, err);
	s->offload.weights = s->offload.gradients = s->offload.optimizer = host;
	return rc;
}

/* A pipeline's local batch holds all its micro-batches. */
static int batch(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	int64_t local = 8, micro = 1, global = -1;
	int rc = options_integer(o, "training.local_batch_size", 1, STRATEGY_MAX_DEGREE * 4096, &local, err);

	if (rc == SB_OK)
		rc = options_integer(o, "training.global_batch_size", -1, INT64_MAX, &global, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "parallelism.pipeline_parallel_microbatch_size", &micro, err);
	if (rc != SB_OK)
		return rc;
	l->strategy.micro_batch = l->strategy.pp > 1 ? micro : local;
	if (l->strategy.micro_batch > STRATEGY_MAX_DEGREE)
		return options_fail(o, "training.local_batch_size", err, "is out of range");
	l->sequences = global > 0 ? global : local * l->strategy.dp;
	return SB_OK;
}

/* Layers of every part of module_fqns_per_model_part: modules named layers.N. *out_parts: how many parts. */
static int64_t count_parts(const char *text, int64_t *out_layers, int64_t room)
{
	int64_t part = -1;
	int depth = 0;

	for (const char *c = text; *c; c++) {
		if (*c == ']')
			depth--;
		if (*c == '[' && ++depth == 2) {
			if (++part == room)
				return -1;
			out_layers[part] = 0;
		}
		if (depth == 2 && part >= 0 && strncmp(c, "layers.", 7) == 0)
			out_layers[part]++;
	}
	return part + 1;
}

static int parts(const struct options *o, const char *name, struct launch_plan *l, struct sb_error *err)
{
	int64_t room = l->model->layers + 2, count, *layers = calloc((size_t)room, sizeof(*layers));
	int rc;

	if (!layers)
		return sb_no_memory(err);
	count = count_parts(options_get(o, name), layers, room);
	if (count < l->strategy.pp || count % l->strategy.pp != 0) {
		rc = options_fail(o, name, err, "does not list a part for every stage");
	} else {
		l->strategy.vpp = count / l->strategy.pp;
		rc = launch_cut(l, layers, err);
	}
	free(layers);
	return rc;
}

/* The cut that torchtitan makes by itself, when the parts are not listed: embedding and head count as layers
 * (generate_llm_fqn_per_model_part), what does not divide goes to the first stages. */
static int own_cut(const struct options *o, struct launch_plan *l, bool interleaved, struct sb_error *err)
{
	int64_t pp = l->strategy.pp, total = l->model->layers, input = 1, output = 1, each, extra, *layers;
	int rc = options_integer(o, "parallelism.pipeline_parallel_first_stage_less_layers", 0, total, &input,
	                         err);

	if (rc == SB_OK)
		rc = options_integer(o, "parallelism.pipeline_parallel_last_stage_less_layers", 0, total,
		                     &output, err);
	if (rc != SB_OK)
		return rc;
	each = (total + input + output) / pp;
	extra = (total + input + output) % pp;
	if (interleaved || pp > total || each < input || each < output)
		return sb_fail(err, SB_EIMPOSSIBLE, "stages",
		               "parallelism.module_fqns_per_model_part must list the parts of this pipeline");
	layers = calloc((size_t)pp, sizeof(*layers));
	if (!layers)
		return sb_no_memory(err);
	for (int64_t i = 0; i < pp; i++)
		layers[i] = each + (i < extra ? 1 : 0) - (i == 0 ? input : 0) - (i == pp - 1 ? output : 0);
	rc = launch_cut(l, layers, err);
	free(layers);
	return rc;
}

static int pipeline(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const schedules[] = {"1F1B", "1f1b", "Interleaved1F1B", "interleaved1f1b", NULL};
	static const char name[] = "parallelism.module_fqns_per_model_part";
	int schedule = 0, rc;

	if (l->strategy.pp == 1)
		return SB_OK;
	rc = options_word(o, "parallelism.pipeline_parallel_schedule", schedules, &schedule, err);
	if (rc != SB_OK)
		return rc;
	return options_get(o, name) ? parts(o, name, l, err) : own_cut(o, l, schedule >= 2, err);
}

int torchtitan_read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	static const char *const modes[] = {"none", "selective", "full", NULL};
	const char *converters = options_get(o, "model.converters");
	int mode = 1, rc;

	if (converters && (strstr(converters, "float8") || strstr(converters, "mx")))
		return options_fail(o, "model.converters", err, "trains in 8 bits: a strategy has 16");

	launch_reset(io);
	rc = degrees(o, io, err);
	if (rc == SB_OK)
		rc = replicas(o, io, err);
	if (rc == SB_OK)
		rc = batch(o, io, err);
	if (rc == SB_OK)
		rc = pipeline(o, io, err);
	if (rc == SB_OK)
		rc = options_word(o, "activation_checkpoint.mode", modes, &mode, err);
	io->strategy.recompute = (enum recompute)mode;
	return rc == SB_OK ? options_boolean(o, "parallelism.enable_async_tensor_parallel",
	                                     &io->strategy.overlap_tensor, err)
	                   : rc;
}
