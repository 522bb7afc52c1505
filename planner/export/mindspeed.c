/* MindSpeed patches Megatron: its arguments, and those of its own. Names, defaults and refusals:
 * Ascend/MindSpeed, mindspeed/features_manager/tensor_parallel/tp_2d.py at 0f1fd933cbfd,
 * context_parallel/context_parallel_feature.py and transformer/flash_attention/fusion_attention_v1_feature.py
 * at 010c43dfee81, and docs/en/features/tensor-parallel-2d.md at 7af9baed9549. */
#include "planner/cost/offload.h"
#include "planner/cost/overlap.h"
#include "planner/export/megatron.h"

/* Its two sides, by mindspeed/core/tensor_parallel/tp_2d (adaptor.py, parallel_state_2d.py,
 * self_attention_2d.py): "tp-x" are the inner ranks, which cut heads, and the tokens of the residual; "tp-y"
 * cut its columns. The plan and MindSpore call them the other way round. */
static struct tensor_grid sides_of(const struct strategy *s)
{
	struct tensor_grid g = tensor_grid_of(s);

	return (struct tensor_grid){.x = g.y, .y = g.x};
}

static bool has_grid(const struct launch_plan *l)
{
	return tensor_grid_of(&l->strategy).x > 1;
}

static int no_grid(struct sb_error *err, const char *why)
{
	sb_fail_field(err, SB_EIMPOSSIBLE, "tensor_grid", "tp_x",
	              "MindSpeed's two-dimensional tensor parallelism %s", why);
	return launch_constraint(err, "\"tensor\": \"1d\"");
}

/* "2d tp does not support moe"; "N1 > 1, N2 > 1"; SelfAttention alone is patched. */
static int refuse_grid(const struct launch_plan *l, struct sb_error *err)
{
	if (l->model->has_moe)
		return no_grid(err, "has no experts");
	if (l->model->has_mla)
		return no_grid(err, "has no latent attention");
	if (sides_of(&l->strategy).x == 1)
		return no_grid(err, "wants more than one rank on both sides");
	return SB_OK;
}

static int refuse(const struct launch_plan *l, struct sb_error *err)
{
	int rc = megatron_refuse(l, err);

	if (rc == SB_OK && has_grid(l))
		rc = refuse_grid(l, err);
	if (rc != SB_OK || !offload_any(&l->strategy.offload))
		return rc;
	return launch_no_offload(err, "what MindSpeed swaps is no share of the plan's");
}

/* Sequence parallelism is part of the grid, and its own flag refused beside it. The rest is what
 * tests_extend/system_tests has beside --tp-2d. */
static void grid(const struct launch_plan *l, struct sb_buf *out)
{
	struct tensor_grid g = sides_of(&l->strategy);

	sb_buf_addf(out, "--tp-2d\n--tp-x %lld\n--tp-y %lld\n--transformer-impl local\n", (long long)g.x,
	            (long long)g.y);
	if (l->strategy.zero < 2) /* Megatron's FSDP has said so */
		sb_buf_adds(out, "--no-gradient-accumulation-fusion\n");
}

/* MC2; and "1F1B Overlap", which refuses to go with --overlap-grad-reduce and asks for grouped products and
 * an expert on one rank (mindspeed/features_manager/moe/fb_overlap.py). */
static void overlaps(const struct launch_plan *l, struct sb_buf *out)
{
	const struct strategy *s = &l->strategy;

	if (overlap_tensor_ranks(s))
		sb_buf_adds(out, "--use-ascend-mc2\n");
	if (overlap_in_pairs(s) && s->etp == 1 && !s->overlap_gradients && !l->model->float16 &&
	    !l->model->biases)
		sb_buf_adds(out, "--moe-fb-overlap\n");
}

static void write(const struct launch_plan *l, const char *notes, struct sb_buf *out)
{
	struct launch_plan flat = *l;

	flat.strategy.overlap_tensor = flat.strategy.overlap_expert = false;
	if (has_grid(l)) {
		flat.strategy.tp_x = 1;
		flat.strategy.sequence_parallel = false;
	}
	megatron_write(&flat, notes, out);
	if (has_grid(l))
		grid(l, out);
	overlaps(l, out);
	if (l->strategy.attention == ATTENTION_FLASH)
		sb_buf_adds(out, "--use-flash-attn\n");
	if (l->strategy.cp > 1 || has_grid(l)) /* the ring of the plan */
		sb_buf_adds(out, "--context-parallel-algo megatron_cp_algo\n");
}

static int read_grid(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	struct strategy *s = &io->strategy;
	struct tensor_grid g = {1, 1};
	bool has = false;
	int rc = options_boolean(o, "tp-2d", &has, err);

	if (rc == SB_OK)
		rc = launch_degree(o, "tp-x", &g.x, err);
	if (rc == SB_OK)
		rc = launch_degree(o, "tp-y", &g.y, err);
	if (rc != SB_OK || !has)
		return rc;
	if (g.x > s->tp || g.x * g.y != s->tp)
		return options_fail(o, "tp-2d", err, "needs tp-x x tp-y = the tensor ranks");
	if (s->sequence_parallel)
		return options_fail(o, "sequence-parallel", err, "does not go with tp-2d");
	s->tp_x = g.y;
	s->sequence_parallel = true;
	return SB_OK;
}

static int read_attention(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	static const char *const ring[] = {"megatron_cp_algo", NULL};
	bool flash = false, rings = io->strategy.cp > 1 || has_grid(io);
	int word = 0, rc = options_boolean(o, "use-flash-attn", &flash, err);

	if (rc == SB_OK && rings)
		rc = options_word(o, "context-parallel-algo", ring, &word, err);
	/* "args.use_flash_attn = True" */
	io->strategy.attention = flash || io->strategy.cp > 1 ? ATTENTION_FLASH : ATTENTION_UNFUSED;
	return rc;
}

/* What changes the schedule or the memory in a way that a strategy does not have: swap_attention.py,
 * swap_optimizer_feature.py, dualpipev_feature.py, ripipe_schedules_feature.py, noop_layers.py. */
static int refuse_others(const struct options *o, struct sb_error *err)
{
	static const char *const names[] = {"swap-attention",      "swap-optimizer",       "schedules-method",
	                                    "recompute-in-bubble", "recompute-in-advance", "noop-layers"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (options_get(o, names[i]))
			return options_fail(o, names[i], err, "is nothing that a strategy can say");
	return SB_OK;
}

static int read(const struct options *o, struct launch_plan *io, struct sb_error *err)
{
	int rc = refuse_others(o, err);

	if (rc == SB_OK)
		rc = megatron_read(o, io, err);
	if (rc == SB_OK)
		rc = read_grid(o, io, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "use-ascend-mc2", &io->strategy.overlap_tensor, err);
	if (rc == SB_OK)
		rc = options_boolean(o, "moe-fb-overlap", &io->strategy.overlap_expert, err);
	return rc == SB_OK ? read_attention(o, io, err) : rc;
}

const struct launch_format launch_mindspeed = {.name = "mindspeed",
                                               .type = "text/plain; charset=utf-8",
                                               .refuse = refuse,
                                               .write = write,
                                               .parse = options_from_arguments,
                                               .read = read,
                                               .why = megatron_why,
                                               .label = "MindSpeed"};
