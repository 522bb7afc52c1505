#include <stdlib.h>
#include <string.h>

#include "planner/export/mindformers.h"

static const char too_many_stages[] = "makes more stages than there are layers";

static int degrees(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	const struct {
		const char *name;
		int64_t *out;
	} rows[] = {
	    {"parallel_config.data_parallel", &s->dp},    {"parallel_config.model_parallel", &s->tp},
	    {"parallel_config.context_parallel", &s->cp}, {"parallel_config.pipeline_stage", &s->pp},
	    {"parallel_config.expert_parallel", &s->ep},  {"model.model_config.pp_interleave_num", &s->vpp},
	    {"runner_config.batch_size", &s->micro_batch}};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
		rc = launch_degree(o, rows[i].name, rows[i].out, err);
	/* None, the default, is model_parallel. */
	s->etp = l->model->has_moe ? s->tp : 1;
	return rc == SB_OK && l->model->has_moe ? options_integer(o, "moe_config.expert_model_parallel", 1,
	                                                          STRATEGY_MAX_DEGREE, &s->etp, err)
	                                        : rc;
}

/* tp_x x tp_y x tp_z = model_parallel; z, of weights, is none of ours. */
static int grid(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char name[] = "model.model_config.use_3d_tensor_parallel";
	bool used = false;
	int64_t y = 1, z = 1;
	int rc = options_boolean(o, name, &used, err);

	if (rc != SB_OK || !used)
		return rc;
	rc = launch_degree(o, "model.model_config.tp_x", &l->strategy.tp_x, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "model.model_config.tp_y", &y, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "model.model_config.tp_z", &z, err);
	if (rc == SB_OK && (z != 1 || l->strategy.tp_x * y != l->strategy.tp))
		return options_fail(o, name, err, "must have tp_x x tp_y = model_parallel, and tp_z 1");
	return rc;
}

/* batch_size x data_parallel x micro_batch_num x micro_batch_interleave_num x gradient_accumulation_steps */
static int batch(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char *const names[] = {"parallel_config.micro_batch_num", "micro_batch_interleave_num",
	                                    "runner_config.gradient_accumulation_steps"};
	double product = (double)l->strategy.micro_batch * (double)l->strategy.dp;
	int64_t sequences = l->strategy.micro_batch * l->strategy.dp;

	for (size_t i = l->strategy.pp > 1 ? 0 : 1; i < sizeof(names) / sizeof(names[0]); i++) {
		int64_t n = 1;
		int rc = launch_degree(o, names[i], &n, err);

		if (rc != SB_OK)
			return rc;
		product *= (double)n;
		if (product > 0x1p53)
			return options_fail(o, names[i], err, "makes a batch that is too large");
		sequences *= n;
	}
	l->sequences = sequences;
	return SB_OK;
}

static int sharding(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	bool optimizer = false, gradients = false, weights = false, wide = true;
	int rc = options_boolean(o, "parallel.enable_parallel_optimizer", &optimizer, err);

	if (rc == SB_OK)
		rc = options_boolean(o, "parallel.parallel_optimizer_config.gradient_accumulation_shard",
		                     &gradients, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "recompute_config.parallel_optimizer_comm_recompute", &weights, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "parallel.gradient_fp32_sync", &wide, err);
	l->strategy.zero = !optimizer ? 0 : weights && gradients ? 3 : gradients ? 2 : 1;
	l->strategy.gradient_bytes = wide ? 4 : 2;
	l->strategy.overlap_gradients = true;
	return rc;
}

/* A number is 0 for all stages; else one list a chunk, of an offset a stage. */
static int cut(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char name[] = "model.model_config.offset";
	const char *text = options_get(o, name);
	int64_t count = launch_slices(l), extra = 0, share, *layers;
	int rc;

	if (!text || l->strategy.pp == 1)
		return SB_OK;
	if (!strategy_slices_fit(l->strategy.pp, l->strategy.vpp, l->model->layers))
		return options_fail(o, "parallel_config.pipeline_stage", err, too_many_stages);
	layers = calloc((size_t)count, sizeof(*layers));
	if (!layers)
		return sb_no_memory(err);
	share = l->model->layers / count;
	if (text[0] != '[') {
		rc = options_list(text, layers, count) == 1 && layers[0] == 0 && l->model->layers % count == 0
		         ? SB_OK
		         : options_fail(o, name, err, "must list an offset for every stage");
	} else if (options_list(text, layers, count) != count) {
		rc = options_fail(o, name, err, "must list an offset for every stage");
	} else {
		for (int64_t i = 0; i < count; i++)
			layers[i] = layers[i] > INT64_MAX - share ? -1 : layers[i] + share;
		/* The last stage's layers include those of multi-token prediction. */
		rc = options_integer(o, "model.model_config.mtp_depth", 0, l->model->layers, &extra, err);
		layers[count - 1] -= extra;
		if (rc == SB_OK)
			rc = launch_cut(l, layers, err);
	}
	free(layers);
	return rc;
}

/* True, False or a list of layers of each stage. *out_way: whether any layer is recomputed so. */
static int one_recompute(const struct options *o, const char *name, struct launch_plan *l, bool *out_way,
                         int64_t *layers, struct sb_error *err)
{
	const char *text = options_get(o, name);
	int64_t slices = launch_slices(l);

	*out_way = false;
	if (!text || text[0] != '[')
		return options_boolean(o, name, out_way, err);
	if (options_list(text, layers, slices) != slices)
		return options_fail(o, name, err, "must be True, False, or list the layers of every stage");
	*out_way = true;
	return SB_OK;
}

static int recomputation(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char full_name[] = "recompute_config.recompute";
	static const char selective_name[] = "recompute_config.select_recompute";
	bool full = false, selective = false;
	int64_t *layers;
	int rc;

	if (!strategy_slices_fit(l->strategy.pp, l->strategy.vpp, l->model->layers))
		return options_fail(o, "parallel_config.pipeline_stage", err, too_many_stages);
	layers = calloc((size_t)launch_slices(l), sizeof(*layers));
	if (!layers)
		return sb_no_memory(err);
	rc = one_recompute(o, full_name, l, &full, layers, err);
	if (rc == SB_OK)
		rc = one_recompute(o, selective_name, l, &selective, layers, err);
	if (rc == SB_OK && full && selective)
		rc = options_fail(o, selective_name, err,
		                  "together with recompute: layers of both ways belong to the kind pipeline");
	if (rc == SB_OK) {
		const char *text = options_get(o, full ? full_name : selective_name);

		l->strategy.recompute = full        ? RECOMPUTE_FULL
		                        : selective ? RECOMPUTE_SELECTIVE
		                                    : RECOMPUTE_NONE;
		if ((full || selective) && text && text[0] == '[')
			rc = launch_recompute(l, layers, err);
	}
	free(layers);
	return rc;
}

/* Layers behind "layers:" of one flow mapping in a list; -1 when there is another text. */
static int64_t swapped_layers(const char *text, int64_t *layers, int64_t room)
{
	static const char mark[] = "layers:";
	const char *list = text ? strstr(text, mark) : NULL;
	const char *end = list ? strchr(list, ']') : NULL;
	char *numbers;
	int64_t found = -1;

	if (!end || strstr(end, mark) || strstr(text, "op_name"))
		return -1;
	list += sizeof(mark) - 1;
	numbers = strndup(list, (size_t)(end - list));
	if (numbers)
		found = options_list(numbers, layers, room);
	free(numbers);
	return found;
}

static int swapping(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	static const char name[] = "swap_config.layer_swap";
	int64_t room = l->model->layers, count, *layers;
	bool swaps = false;
	int rc = options_boolean(o, "swap_config.swap", &swaps, err);

	if (rc != SB_OK || !swaps)
		return rc;
	if (l->strategy.recompute != RECOMPUTE_NONE)
		return options_fail(o, "swap_config.swap", err,
		                    "together with recomputing: a strategy cannot say what of it is swapped");
	layers = calloc((size_t)room, sizeof(*layers));
	if (!layers)
		return sb_no_memory(err);
	count = swapped_layers(options_get(o, name), layers, room);
	for (int64_t i = 0; i < count; i++)
		if (layers[i] < 0 || layers[i] >= room || (i > 0 && layers[i] <= layers[i - 1]))
			count = -1;
	free(layers);
	if (count < 0)
		return options_fail(o, name, err, "must list whole layers, rising: [{layers: [0, 1]}]");
	l->strategy.offload.activations = (double)count / (double)room;
	return SB_OK;
}

int mindformers_read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	bool flash = io->strategy.attention == ATTENTION_FLASH;
	int rc;

	launch_reset(io);
	rc = launch_same_layers(o, "model.model_config.num_layers", io, err);
	if (rc == SB_OK)
		rc = degrees(o, io, err);
	if (rc == SB_OK)
		rc = grid(o, io, err);
	if (rc == SB_OK)
		rc = batch(o, io, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "parallel_config.use_seq_parallel", &io->strategy.sequence_parallel,
		                     err);
	if (rc == SB_OK)
		rc = options_boolean(o, "model.model_config.use_flash_attention", &flash, err);
	io->strategy.attention = flash ? ATTENTION_FLASH : ATTENTION_UNFUSED;
	if (rc == SB_OK)
		rc = sharding(o, io, err);
	if (rc == SB_OK)
		rc = cut(o, io, err);
	if (rc == SB_OK)
		rc = recomputation(o, io, err);
	return rc == SB_OK ? swapping(o, io, err) : rc;
}
