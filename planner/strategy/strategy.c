#include "planner/strategy/strategy.h"

#include "planner/cost/offload.h"
#include "planner/schedule/schedule.h"

#define FUSED_FROM_TOKENS 2048

/* Gated FFNs, latent attention and long sequences came with fused attention kernels and bfloat16. */
static bool of_flash_generation(const struct model *m)
{
	return m->gated_ffn || m->has_mla || m->seq_len > FUSED_FROM_TOKENS;
}

enum attention strategy_attention(const struct model *m, const struct cluster *c)
{
	return c->device.flash_attention && of_flash_generation(m) ? ATTENTION_FLASH : ATTENTION_UNFUSED;
}

int strategy_gradient_bytes(const struct model *m)
{
	return m->float16 || !of_flash_generation(m) ? 2 : 4;
}

struct strategy strategy_default(const struct model *m, const struct cluster *c)
{
	return (struct strategy){.dp = 1,
	                         .tp = 1,
	                         .tp_x = 1,
	                         .cp = 1,
	                         .pp = 1,
	                         .vpp = 1,
	                         .ep = 1,
	                         .etp = 1,
	                         .micro_batch = 1,
	                         .gradient_bytes = strategy_gradient_bytes(m),
	                         .attention = strategy_attention(m, c),
	                         .order = {DIM_TP, DIM_CP, DIM_DP, DIM_PP}};
}

int64_t strategy_devices(const struct strategy *s)
{
	return s->dp * s->tp * s->cp * s->pp;
}

int64_t strategy_node_devices(const struct strategy *s, const struct cluster *c)
{
	int64_t used = s->node_devices > 0 ? s->node_devices : c->devices_per_node;

	return used < strategy_devices(s) ? used : strategy_devices(s);
}

int64_t strategy_micro_batches(const struct strategy *s, int64_t sequences)
{
	int64_t share = s->dp * s->micro_batch;

	return share > 0 && sequences % share == 0 ? sequences / share : 0;
}

static bool divides_widths(const struct model *m, int64_t n)
{
	int64_t shared = m->has_moe ? m->moe.shared_experts * m->moe.shared_ffn_hidden : 0;

	return m->ffn_hidden % n == 0 && m->hidden % n == 0 && shared % n == 0;
}

enum misfit strategy_fit_tensor(const struct model *m, const struct strategy *s)
{
	struct tensor_grid t = tensor_grid_of(s);

	if (t.x > 1 && (s->tp % t.x != 0 || !s->sequence_parallel || s->attention == ATTENTION_UNFUSED))
		return MISFIT_GRID;
	if (m->heads % t.y != 0 || (!m->has_mla && m->kv_heads % t.y != 0))
		return MISFIT_HEADS;
	if (!divides_widths(m, t.x) || !divides_widths(m, t.y))
		return MISFIT_WIDTH;
	if (m->has_mla && (m->mla.q_rank % t.x != 0 || m->mla.kv_rank % t.x != 0))
		return MISFIT_WIDTH;
	/* Ring attention goes round the context ranks, and those of x. */
	if (s->cp * t.x > 1 && m->seq_len % (2 * s->cp * t.x) != 0)
		return MISFIT_SEQUENCE;
	if (s->cp > 1 && s->attention == ATTENTION_UNFUSED)
		return MISFIT_ATTENTION;
	if (s->sequence_parallel && m->seq_len % (s->tp * s->cp) != 0)
		return MISFIT_SEQUENCE;
	return FIT_OK;
}

bool strategy_experts_line_up(const struct strategy *s)
{
	const int64_t size[DIMS] = {[DIM_TP] = s->tp, [DIM_CP] = s->cp, [DIM_DP] = s->dp, [DIM_PP] = s->pp};
	int64_t inner = 1, first = s->etp, both = s->etp * s->ep;

	for (int i = 0; s->order[i] != DIM_PP; i++)
		inner *= size[s->order[i]];
	return s->pp == 1 ||
	       ((inner % first == 0 || first % inner == 0) && (inner % both == 0 || both % inner == 0));
}

static enum misfit fit_experts(const struct model *m, const struct strategy *s)
{
	if (!m->has_moe)
		return s->ep > 1 || s->etp > 1 ? MISFIT_NO_EXPERTS : FIT_OK;
	if (m->moe.experts % s->ep != 0 || m->moe.ffn_hidden % s->etp != 0 ||
	    (s->tp * s->cp * s->dp) % (s->ep * s->etp) != 0 || !strategy_experts_line_up(s))
		return MISFIT_EXPERTS;
	if (s->ep > 1 && s->tp > 1 && !s->sequence_parallel)
		return MISFIT_EXPERT_TOKENS;
	return FIT_OK;
}

struct schedule_shape strategy_schedule_shape(const struct strategy *s, int64_t micro_batches)
{
	struct schedule_shape shape = {.kind = s->vpp > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B,
	                               .devices = s->pp,
	                               .micro_batches = micro_batches,
	                               .chunks = s->vpp,
	                               .slices = 1};

	if (s->schedule == PIPELINE_ZB_H1)
		shape.kind = SCHEDULE_ZB_H1;
	if (s->schedule == PIPELINE_DUALPIPE) { /* its chunks are the two directions */
		shape.kind = SCHEDULE_DUALPIPE;
		shape.chunks = 2;
	}
	return shape;
}

static bool fits_schedule(const struct strategy *s, int64_t micro_batches)
{
	const struct schedule_shape shape = strategy_schedule_shape(s, micro_batches);
	struct sb_error ignored;

	return s->schedule == PIPELINE_1F1B ||
	       (s->pp > 1 && s->vpp == 1 && !s->recompute_fit && !offload_any(&s->offload) &&
	        schedule_check(&shape, &ignored) == SB_OK);
}

static enum misfit fit_pipeline(const struct model *m, const struct strategy *s, int64_t micro_batches)
{
	int64_t sum = 0;

	if (!strategy_slices_fit(s->pp, s->vpp, m->layers))
		return MISFIT_STAGES;
	for (int64_t i = 0; i < s->pp * s->vpp; i++) {
		int64_t n = strategy_slice_layers(s, m->layers, i);
		bool between = s->vpp > 1 && i > 0 && i + 1 < s->pp * s->vpp;

		if (n < (between ? 1 : 0) || n > m->layers)
			return MISFIT_STAGES;
		sum += n;
	}
	if (sum != m->layers)
		return MISFIT_STAGES;
	if (s->stage_recompute && s->recompute == RECOMPUTE_NONE)
		return MISFIT_RECOMPUTE;
	for (int64_t i = 0; s->stage_recompute && i < s->pp; i++) {
		if (strategy_recompute_each(s, m->layers, i, s->stage_recompute[i]) < 0)
			return MISFIT_RECOMPUTE;
	}
	if (!fits_schedule(s, micro_batches))
		return MISFIT_SCHEDULE;
	if (s->vpp > 1 && (s->pp < 2 || micro_batches < s->pp ||
	                   (micro_batches % s->pp != 0 && micro_batches < 2 * s->pp) ||
	                   !schedule_interleaves(s->pp, s->vpp, micro_batches)))
		return MISFIT_INTERLEAVE;
	return FIT_OK;
}

enum misfit strategy_fit(const struct model *m, const struct cluster *c, const struct strategy *s,
                         int64_t sequences)
{
	int64_t micro_batches;
	enum misfit f;

	/* Degree by degree, so that no product can overflow. */
	if (s->dp > STRATEGY_MAX_DEGREE || s->tp > STRATEGY_MAX_DEGREE || s->cp > STRATEGY_MAX_DEGREE ||
	    s->pp > STRATEGY_MAX_DEGREE ||
	    (double)s->dp * (double)s->tp * (double)s->cp * (double)s->pp > (double)cluster_devices(c))
		return MISFIT_DEVICES;
	if (s->node_devices < 0 || s->node_devices > c->devices_per_node)
		return MISFIT_NODE;
	if (strategy_devices(s) > c->nodes * strategy_node_devices(s, c))
		return MISFIT_DEVICES;
	if (s->vpp > m->layers)
		return MISFIT_STAGES;
	if (s->ep > STRATEGY_MAX_DEGREE || s->etp > STRATEGY_MAX_DEGREE)
		return MISFIT_EXPERTS;
	if (s->micro_batch > sequences)
		return MISFIT_BATCH;
	micro_batches = strategy_micro_batches(s, sequences);
	if (micro_batches == 0)
		return MISFIT_BATCH;
	f = strategy_fit_tensor(m, s);
	if (f == FIT_OK)
		f = fit_experts(m, s);
	return f == FIT_OK ? fit_pipeline(m, s, micro_batches) : f;
}

static const struct {
	const char *word, *text, *field;
} misfits[MISFITS] = {
    [FIT_OK] = {"ok", "fits", ""},
    [MISFIT_DEVICES] = {"devices",
                        "dp x tp x cp x pp is more than the cluster's devices, or than its nodes have with "
                        "devices_per_node of each",
                        "dp"},
    [MISFIT_NODE] = {"node_devices", "a node of the cluster has fewer devices", "devices_per_node"},
    [MISFIT_BATCH] = {"batch_division", "dp x micro_batch does not divide the global batch", "dp"},
    [MISFIT_HEADS] = {"heads_division",
                      "tp (tp_y in two dimensions) does not divide the attention heads and KV heads", "tp"},
    [MISFIT_WIDTH] = {"width_division",
                      "tp (tp_x and tp_y in two dimensions) does not divide the hidden and FFN sizes, or "
                      "tp_x the latent ranks",
                      "tp"},
    [MISFIT_SEQUENCE] = {"sequence_division",
                         "cp (or tp x cp with sequence parallelism, and twice tp_x x cp in two "
                         "dimensions) does not divide the sequence",
                         "cp"},
    [MISFIT_GRID] = {"tensor_grid",
                     "two-dimensional tensor parallelism needs a tp_x that divides tp, "
                     "sequence_parallel and a fused attention kernel",
                     "tp_x"},
    [MISFIT_ATTENTION] = {"attention_kernel", "context parallelism needs a fused attention kernel", "cp"},
    [MISFIT_STAGES] = {"stages",
                       "pp is more than the layers, or pp x vpp than two more of them, or the "
                       "stages do not add up to them, or a chunk between the first and the last has none",
                       "pp"},
    [MISFIT_SCHEDULE] =
        {"schedule",
         "zb-h1 and dualpipe take a pipeline without chunks (vpp 1) and without offload, zb-h1 "
         "at least pp micro-batches, dualpipe an even pp and an even number of at least twice "
         "pp micro-batches",
         "schedule"},
    [MISFIT_INTERLEAVE] = {"interleaving",
                           "vpp above 1 needs pp of at least 2 and micro-batches that fill the pipeline: a "
                           "multiple of pp, or at least twice pp with a last group on which the "
                           "interleaved order does not deadlock (one or two short of pp)",
                           "vpp"},
    [MISFIT_EXPERTS] = {"expert_division",
                        "ep or etp does not divide the experts, their width or tp x cp x dp, or their "
                        "ranks do not line up with the pipeline's place in the order",
                        "ep"},
    [MISFIT_EXPERT_TOKENS] = {"expert_tokens", "ep together with tp needs sequence parallelism",
                              "sequence_parallel"},
    [MISFIT_RECOMPUTE] = {"recompute",
                          "a stage recomputes more layers than it has, or not as many in each chunk "
                          "(or all that a shorter one has)",
                          "stages"},
    [MISFIT_NO_EXPERTS] = {"no_experts", "the model has no experts to distribute", "ep"},
};

const char *misfit_word(enum misfit f)
{
	return misfits[f].word;
}

const char *misfit_text(enum misfit f)
{
	return misfits[f].text;
}

const char *misfit_field(enum misfit f)
{
	return misfits[f].field;
}
