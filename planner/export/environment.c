/* The plan as environment variables, for a launch script: names that such scripts use, none that a launcher
 * sets by itself (torchrun's WORLD_SIZE, RANK, ...). */
#include <stdio.h>
#include <string.h>

#include "planner/cost/offload.h"
#include "planner/export/launch.h"

static const char *const names[LAUNCH_FIELDS] = {
    [FIELD_DP] = "DP",
    [FIELD_TP] = "TP",
    [FIELD_TP_X] = "TP_X",
    [FIELD_CP] = "CP",
    [FIELD_PP] = "PP",
    [FIELD_VPP] = "VPP",
    [FIELD_SCHEDULE] = "SCHEDULE",
    [FIELD_EP] = "EP",
    [FIELD_ETP] = "ETP",
    [FIELD_MICRO_BATCH] = "MICRO_BATCH_SIZE",
    [FIELD_ZERO] = "ZERO_STAGE",
    [FIELD_SEQUENCE_PARALLEL] = "SEQUENCE_PARALLEL",
    [FIELD_OVERLAP_GRADIENTS] = "OVERLAP_GRADIENTS",
    [FIELD_OVERLAP_TENSOR] = "OVERLAP_TENSOR",
    [FIELD_OVERLAP_EXPERT] = "OVERLAP_EXPERT",
    [FIELD_OVERLAP_SENDS] = "OVERLAP_SENDS",
    [FIELD_DISPATCH_DTYPE] = "DISPATCH_DTYPE",
    [FIELD_GRADIENT_DTYPE] = "GRADIENT_DTYPE",
    [FIELD_RECOMPUTE] = "RECOMPUTE",
    [FIELD_ATTENTION] = "ATTENTION",
    [FIELD_OFFLOAD_WEIGHTS] = "OFFLOAD_WEIGHTS",
    [FIELD_OFFLOAD_GRADIENTS] = "OFFLOAD_GRADIENTS",
    [FIELD_OFFLOAD_OPTIMIZER] = "OFFLOAD_OPTIMIZER",
    [FIELD_OFFLOAD_ACTIVATIONS] = "OFFLOAD_ACTIVATIONS",
    [FIELD_NODE_DEVICES] = "DEVICES_PER_NODE",
    [FIELD_ORDER] = "RANK_ORDER",
    [FIELD_STAGES] = "STAGE_LAYERS",
    [FIELD_STAGE_RECOMPUTE] = "STAGE_RECOMPUTE",
};

static bool is_said(const struct launch_plan *l, int field)
{
	if (field == FIELD_STAGE_RECOMPUTE)
		return l->strategy.recompute != RECOMPUTE_NONE && !launch_recomputes_all(l);
	if (field == FIELD_SCHEDULE)
		return l->strategy.schedule != PIPELINE_1F1B;
	if (field == FIELD_OVERLAP_TENSOR)
		return l->strategy.overlap_tensor;
	if (field == FIELD_OVERLAP_EXPERT)
		return l->strategy.overlap_expert;
	if (field == FIELD_OVERLAP_SENDS)
		return l->strategy.overlap_sends;
	if (field == FIELD_DISPATCH_DTYPE)
		return l->strategy.dispatch_fp8;
	if (field == FIELD_NODE_DEVICES)
		return l->strategy.node_devices > 0;
	if (field == FIELD_TP_X)
		return tensor_grid_of(&l->strategy).x > 1;
	if (field == FIELD_STAGES)
		return l->strategy.pp > 1 && !launch_equal_chunks(l);
	return field < FIELD_OFFLOAD_WEIGHTS || field > FIELD_OFFLOAD_ACTIVATIONS ||
	       offload_any(&l->strategy.offload);
}

/* Up to Hopper Megatron refuses to start with tensor or context parallelism unless this is 1, so that
 * communication is launched in order, and with FSDP if it is (NVIDIA/Megatron-LM,
 * megatron/training/arguments.py at 000c4ac24f61). */
static bool needs_one_connection(const struct launch_plan *l)
{
	enum device_family f = l->cluster->device.family;
	bool nvidia = f == FAMILY_VOLTA || f == FAMILY_AMPERE || f == FAMILY_HOPPER;

	return nvidia && (l->strategy.tp > 1 || l->strategy.cp > 1) && l->strategy.zero < 2;
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	launch_comments(notes, out);
	sb_buf_addf(out, "DEVICES=%lld\n", (long long)strategy_devices(&l->strategy));
	for (int f = 0; f < LAUNCH_FIELDS; f++) {
		if (!is_said(l, f))
			continue;
		sb_buf_addf(out, "%s=", names[f]);
		launch_field_write(l, (enum launch_field)f, out);
		sb_buf_adds(out, "\n");
	}
	sb_buf_addf(out, "GLOBAL_BATCH_SIZE=%lld\nNUM_MICRO_BATCHES=%lld\n", (long long)l->sequences,
	            (long long)strategy_micro_batches(&l->strategy, l->sequences));
	if (needs_one_connection(l))
		sb_buf_adds(out, "# Megatron-LM asks for it\nCUDA_DEVICE_MAX_CONNECTIONS=1\n");
}

static int read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	int rc;

	launch_reset(io);
	for (int f = 0; f < FIELD_STAGES; f++) {
		const char *value = options_get(o, names[f]);

		if (value && !launch_field_read(io, (enum launch_field)f, value))
			return options_fail(o, names[f], err, "has no such value");
	}
	rc = options_integer(o, "GLOBAL_BATCH_SIZE", 1, INT64_MAX, &io->sequences, err);
	if (rc == SB_OK && !options_get(o, names[FIELD_DP]))
		rc = launch_replicas(io, err);
	for (int f = FIELD_STAGES; rc == SB_OK && f < LAUNCH_FIELDS; f++) {
		const char *value = options_get(o, names[f]);

		if (value && (!strategy_slices_fit(io->strategy.pp, io->strategy.vpp, io->model->layers) ||
		              !launch_field_read(io, (enum launch_field)f, value)))
			return options_fail(o, names[f], err,
			                    "does not list layers of PP x VPP stages of the model");
	}
	return rc;
}

static const char *const why[LAUNCH_FIELDS];

const struct launch_format launch_env = {.name = "env",
                                         .type = "text/plain; charset=utf-8",
                                         .write = write,
                                         .parse = options_from_lines,
                                         .read = read,
                                         .why = why,
                                         .label = "the environment"};
