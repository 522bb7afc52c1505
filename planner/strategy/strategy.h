#ifndef SB_PLANNER_STRATEGY_STRATEGY_H
#define SB_PLANNER_STRATEGY_STRATEGY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "planner/cluster.h"
#include "planner/model.h"

/* One way to run one training step: degrees of parallelism and options. */

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL, RECOMPUTES };
/* In which order a pipeline's passes run (planner/schedule): 1F1B, interleaved where vpp is above 1, or one
 * of those that split the backward pass. */
enum pipeline_schedule { PIPELINE_1F1B, PIPELINE_ZB_H1, PIPELINE_DUALPIPE };
enum attention { ATTENTION_UNFUSED, ATTENTION_FLASH };
/* Dimensions of the rank order. Expert ranks fold into the tp x cp x dp ranks of a stage, in the order of
 * these: etp innermost, then ep, then the rest (parallel folding: systems 3.12). */
enum dimension { DIM_TP, DIM_CP, DIM_DP, DIM_PP, DIMS };

#define STRATEGY_MAX_DEGREE ((int64_t)1 << 20)

/* Shares that wait in host memory, 0..1 each (cost/offload.h). */
struct offload {
	double weights, gradients, optimizer, activations;
};

struct strategy {
	int64_t dp, tp, cp, pp, vpp, ep, etp;
	int64_t tp_x; /* of the tp ranks, in two dimensions (tensor_grid_of()); 0 or 1: one dimension */
	int64_t node_devices; /* that it uses of each node, the others idle; 0: all */
	enum pipeline_schedule schedule;
	int64_t micro_batch; /* sequences per replica */
	int zero;            /* ZeRO level 0..3 over dp x cp */
	bool sequence_parallel;
	/* What the software stack runs under compute (cost/overlap.h). */
	bool overlap_gradients; /* gradient reduction and weight gathering */
	bool overlap_tensor;    /* collectives of tensor ranks, in pieces under the products beside them */
	bool overlap_expert;    /* all-to-all of the experts, under another micro-batch */
	bool overlap_sends;     /* between the stages of an interleaved pipeline */
	int gradient_bytes;     /* of one gradient element on the wire: 4 or 2 */
	bool dispatch_fp8;      /* tokens go to their experts in 8 bit, and come back in 16 */
	/* Of the recomputed layers: all of them, or the first of each stage (of each of its chunks as many,
	 * or all that a shorter one has). */
	enum recompute recompute;
	bool recompute_fit; /* as few as make each stage fit in the problem's memory (strategy_fit_runs()) */
	int64_t recompute_bytes;        /* fit in these instead of all of the problem's; 0 = all */
	const int64_t *stage_recompute; /* or as many as these of each stage, pp counts in all its chunks,
	                                   borrowed; NULL: none given */
	enum attention attention;
	struct offload offload;
	enum dimension order[DIMS]; /* innermost first */
	/* The pipeline cut into pp x vpp slices, of which slice j * pp + i is chunk j of stage i. NULL: even,
	 * with the last slice `last_fewer` layers short of an equal share (rounded down) and the
	 * first with `first_more` beyond what the others have; what does not divide lies on the later of
	 * these. Else layers of each slice, borrowed. */
	const int64_t *slice_layers;
	int64_t last_fewer, first_more;
};

/* The defaults: every degree 1, micro-batch 1, ZeRO 0, gradients reduced in 32 bit, order tp, cp, dp, pp, and
 * the attention kernel of strategy_attention(). */
struct strategy strategy_default(const struct model *m, const struct cluster *c);
/* The kernel assumed when the user says nothing: fused where the device has one and the model is of the
 * generation that came with it (gated FFN, or sequences above 2048 tokens), else unfused. */
enum attention strategy_attention(const struct model *m, const struct cluster *c);
/* Bytes of a gradient element on the wire when the user says nothing: 2 for a model trained in float16, as
 * models with a plain FFN and at most 2048 tokens were (Megatron-LM reduces in the type of training), else 4:
 * it reduces the gradients of bfloat16 in 32 bit. */
int strategy_gradient_bytes(const struct model *m);
int64_t strategy_devices(const struct strategy *s);
/* How many devices of a node hold its ranks, where any does: no more than there are ranks. */
int64_t strategy_node_devices(const struct strategy *s, const struct cluster *c);
/* The tensor ranks as a grid, y the inner ones (cost/tensor_grid.h); x = 1: one dimension. */
struct tensor_grid {
	int64_t x, y;
};
static inline struct tensor_grid tensor_grid_of(const struct strategy *s)
{
	return s->tp_x > 1 ? (struct tensor_grid){s->tp_x, s->tp / s->tp_x} : (struct tensor_grid){1, s->tp};
}
/* Micro-batches of one replica; 0 when the batch cannot be divided evenly. */
int64_t strategy_micro_batches(const struct strategy *s, int64_t sequences);

/* The order of the strategy's passes, as the simulator takes it. */
struct schedule_shape;
struct schedule_shape strategy_schedule_shape(const struct strategy *s, int64_t micro_batches);

/* Why a strategy cannot be run at all: integer constraints (cost-model section 1). */
enum misfit {
	FIT_OK,
	MISFIT_DEVICES,       /* more devices than there are, or than there are of each node so many */
	MISFIT_NODE,          /* more devices of each node than it has */
	MISFIT_BATCH,         /* dp x micro_batch does not divide the batch */
	MISFIT_HEADS,         /* tp (of a grid tp_y) does not divide heads or KV heads */
	MISFIT_WIDTH,         /* tp (of a grid both sides) does not divide the FFN or hidden size */
	MISFIT_SEQUENCE,      /* cp, tp_x or sequence parallelism does not divide the sequence */
	MISFIT_ATTENTION,     /* ring attention over cp needs a fused kernel */
	MISFIT_GRID,          /* tp_x does not divide tp, or is without what two dimensions need */
	MISFIT_STAGES,        /* more stages or chunks than layers, or a cut that does not add up */
	MISFIT_SCHEDULE,      /* stages or micro-batches that its order does not take, chunks, or offload */
	MISFIT_INTERLEAVE,    /* vpp without pipeline, or micro-batches that do not fill it
	                         (schedule_interleaves()) */
	MISFIT_EXPERTS,       /* ep does not divide experts, or the expert ranks do not fit */
	MISFIT_EXPERT_TOKENS, /* ep with tp needs sequence parallelism */
	MISFIT_NO_EXPERTS,    /* ep without experts */
	MISFIT_RECOMPUTE,     /* more layers recomputed than a stage has, or not the same in every chunk */
	MISFITS
};
/* Do the expert ranks lie on whole stages' neighbours? Where the pipeline lies inside other dimensions, etp
 * and etp x ep must divide the ranks inside it, or be multiples of them. */
bool strategy_experts_line_up(const struct strategy *s);
enum misfit strategy_fit(const struct model *m, const struct cluster *c, const struct strategy *s,
                         int64_t sequences);
/* The part of it that speaks of tensor and context ranks. */
enum misfit strategy_fit_tensor(const struct model *m, const struct strategy *s);
/* A stable word and a sentence for each. */
const char *misfit_word(enum misfit f);
const char *misfit_text(enum misfit f);
/* The member of the strategy that is to blame. */
const char *misfit_field(enum misfit f);

/* Can a model of so many layers be cut so? Of an interleaved pipeline the first and the last chunk may be
 * without layers, with embedding and head alone. */
bool strategy_slices_fit(int64_t pp, int64_t vpp, int64_t layers);
/* Layers of slice i, and of all slices of stage i, under the strategy's cut. */
int64_t strategy_slice_layers(const struct strategy *s, int64_t layers, int64_t slice);
int64_t strategy_stage_layers(const struct strategy *s, int64_t layers, int64_t stage);
/* How many layers of each of its chunks a stage recomputes that recomputes n: its first ones, or all that a
 * shorter chunk has. -1 where no such number comes to n. */
int64_t strategy_recompute_each(const struct strategy *s, int64_t layers, int64_t stage, int64_t n);

/* Equal neighbouring stages. */
struct stage_run {
	int64_t first, count;
	int64_t layers[LAYER_KINDS]; /* of one stage */
	int64_t
	    kept[LAYER_KINDS]; /* of them, those that are not recomputed although the strategy recomputes */
	int64_t start;         /* the first stage's first layer; without chunks */
	/* With chunks: of each `each` layers are recomputed, or all that it has. Of one kind of layers the
	 * first chunks have `chunk` of them and the last `longer` one more, unless they are uneven. */
	int64_t each, chunk, longer;
	bool uneven; /* the chunks have layers of several kinds, or other lengths */
};
/* The only kind of layers that a stage has; LAYER_KINDS where it has several. */
int stage_only_kind(const struct stage_run *run);
/* Writes the runs of a fitting strategy, at most pp of them, and returns their number. */
int64_t strategy_runs(const struct model *m, const struct strategy *s, struct stage_run *out_runs);
/* Sets run->kept for a stage (a run of one) that recomputes the first n layers of each of its chunks, or all
 * that a shorter one has. */
void strategy_recompute_first(const struct model *m, const struct strategy *s, int64_t n,
                              struct stage_run *run);
/* A chunk of a stage. */
struct chunk {
	int64_t layers[LAYER_KINDS], kept[LAYER_KINDS];
};
/* Chunk j of the first stage of a run. */
struct chunk strategy_chunk(const struct model *m, const struct strategy *s, const struct stage_run *run,
                            int64_t j);
/* An even cut: `base` layers a slice, one more from slice `longer` on, the first and the last as they are. */
struct even_cut {
	int64_t base, longer, last;
};
/* All of them, one after the other: of what it is given it keeps the addresses. */
struct chunk_walk {
	const struct model *model;
	const struct strategy *strategy;
	const struct stage_run *run;
	struct even_cut even;
	int64_t slice, start; /* of the next one, where the cut is given its first layer */
};
struct chunk_walk strategy_chunks(const struct model *m, const struct strategy *s,
                                  const struct stage_run *run);
/* To be called vpp times at most. */
struct chunk strategy_next_chunk(struct chunk_walk *w);
#endif
