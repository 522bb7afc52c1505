#include "planner/strategy/strategy.h"

#include <string.h>

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

static enum misfit fit_pipeline(const struct model *m, const struct strategy *s, int64_t micro_batches)
{
	int64_t sum = 0;

	if (s->pp * s->vpp > m->layers)
		return MISFIT_STAGES;
	for (int64_t i = 0; s->stage_layers && i < s->pp; i++) {
		if (s->stage_layers[i] < 0 || s->stage_layers[i] > m->layers)
			return MISFIT_STAGES;
		sum += s->stage_layers[i];
	}
	if (s->stage_layers && sum != m->layers)
		return MISFIT_STAGES;
	if (!s->stage_layers && strategy_stage_layers(s, m->layers, s->pp - 1) < 0)
		return MISFIT_STAGES;
	if (s->stage_recompute && s->recompute == RECOMPUTE_NONE)
		return MISFIT_RECOMPUTE;
	for (int64_t i = 0; s->stage_recompute && i < s->pp; i++) {
		if (s->stage_recompute[i] < 0 || s->stage_recompute[i] % s->vpp != 0 ||
		    s->stage_recompute[i] > strategy_stage_layers(s, m->layers, i))
			return MISFIT_RECOMPUTE;
	}
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
    [MISFIT_DEVICES] = {"devices", "dp x tp x cp x pp is more than the cluster's devices", "dp"},
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
    [MISFIT_STAGES] = {"stages", "pp x vpp is more than the layers, or the stages do not add up to them",
                       "pp"},
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
                          "a stage recomputes more layers than it has, or not as many in each chunk",
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

int64_t strategy_stage_layers(const struct strategy *s, int64_t layers, int64_t stage)
{
	int64_t last, rest, extra;

	if (s->stage_layers)
		return s->stage_layers[stage];
	if (s->pp == 1)
		return layers;
	last = layers / s->pp - s->last_fewer;
	if (stage == s->pp - 1)
		return last;
	rest = (layers - last - s->first_more) / (s->pp - 1);
	extra = (layers - last - s->first_more) % (s->pp - 1);
	/* Later stages hold fewer micro-batches in flight: they take what does not divide. */
	return rest + (stage == 0 ? s->first_more : 0) + (stage >= s->pp - 1 - extra ? 1 : 0);
}

/* Layers of one kind on a stage of an interleaved pipeline: chunk j of stage i is the (j x pp + i)-th slice.
 */
static void count_interleaved(const struct model *m, const struct strategy *s, int64_t stage,
                              int64_t out_layers[LAYER_KINDS])
{
	int64_t slices = s->pp * s->vpp;

	for (int k = 0; k < LAYER_KINDS; k++) {
		out_layers[k] = 0;
		for (int64_t j = 0; j < s->vpp; j++) {
			int64_t slice = j * s->pp + stage;
			int64_t from = slice * m->layers / slices, to = (slice + 1) * m->layers / slices;

			out_layers[k] += model_layers_of(m, to, (enum layer_kind)k) -
			                 model_layers_of(m, from, (enum layer_kind)k);
		}
	}
}

void strategy_recompute_first(const struct model *m, const struct strategy *s, int64_t n,
                              struct stage_run *run)
{
	int64_t slices = s->pp * s->vpp, experts = 0;

	memcpy(run->kept, run->layers, sizeof(run->kept));
	for (int k = 0; k < LAYER_KINDS; k++) {
		if (run->layers[k] == 0) { /* which of equal layers they are does not matter */
			run->kept[LAYER_KINDS - 1 - k] -= n;
			return;
		}
	}
	for (int64_t j = 0; j < s->vpp; j++) {
		int64_t from = s->vpp > 1 ? (j * s->pp + run->first) * m->layers / slices : run->start;

		experts +=
		    model_layers_of(m, from + n / s->vpp, LAYER_MOE) - model_layers_of(m, from, LAYER_MOE);
	}
	run->kept[LAYER_MOE] -= experts;
	run->kept[LAYER_DENSE] -= n - experts;
}

int64_t strategy_runs(const struct model *m, const struct strategy *s, struct stage_run *out_runs)
{
	int64_t runs = 0, at = 0;

	for (int64_t i = 0; i < s->pp; i++) {
		struct stage_run r = {.first = i, .count = 1, .start = at};
		int64_t n = strategy_stage_layers(s, m->layers, i);

		if (s->vpp > 1 && !s->stage_layers) {
			count_interleaved(m, s, i, r.layers);
		} else {
			for (int k = 0; k < LAYER_KINDS; k++)
				r.layers[k] = model_layers_of(m, at + n, (enum layer_kind)k) -
				              model_layers_of(m, at, (enum layer_kind)k);
		}
		at += n;
		if (s->stage_recompute)
			strategy_recompute_first(m, s, s->stage_recompute[i], &r);
		/* The first and the last stage carry the embedding and the head: always their own runs. */
		if (i > 1 && i < s->pp - 1 &&
		    memcmp(out_runs[runs - 1].layers, r.layers, sizeof(r.layers)) == 0 &&
		    memcmp(out_runs[runs - 1].kept, r.kept, sizeof(r.kept)) == 0)
			out_runs[runs - 1].count++;
		else
			out_runs[runs++] = r;
	}
	return runs;
}
