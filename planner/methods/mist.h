#ifndef SB_PLANNER_METHODS_MIST_H
#define SB_PLANNER_METHODS_MIST_H
#include "base/watch.h"
#include "planner/methods/mist_machine.h"
#include "planner/methods/stage_program.h"
#include "planner/strategy/cost.h"

/* Mist's search (EuroSys 2025; research pages systems 3.2, search-algorithms
 * section 9): memory and parallelism together. Equal stages of devices; each
 * stage has its own micro-batch of 1, 2 or 4, data and tensor degrees, shards
 * of weights, gradients and optimizer, shares of them and of the activations
 * that are kept on the host, layers within 2 of an even cut, and checkpointed
 * layers. Layers' compute times and sizes are ours (Mist profiles operators);
 * transfers, overlap and memory are Mist's. */

enum mist_state { MIST_WEIGHTS, MIST_GRADIENTS, MIST_OPTIMIZER, MIST_STATES };
#define MIST_ACTIVATIONS MIST_STATES

/* How one stage trains. */
struct mist_stage {
	int64_t layers, checkpointed;
	int64_t micro_batch, dp, tp;
	bool shard[MIST_STATES];
	double offload[MIST_STATES + 1]; /* shares on the host, of the activations last */
	double stable, delta;            /* seconds: stage_program.h */
	double bytes;                    /* at the peak */
};
struct mist_problem {
	const struct cost_problem *cost; /* a dense model */
	struct mist_machine machine;
	enum attention attention;
	int gradient_bytes;
	bool offload;                 /* else nothing is kept on the host */
	const struct sb_watch *watch; /* stopped, a search ends with what it has; NULL: never */
	/* May be NULL: may a pipeline of so many stages have such a stage? (layers,
	 * times are not set) */
	bool (*allowed)(const void *self, const struct mist_stage *s, int64_t stages);
	const void *self;
};
struct mist_plan {
	int64_t stages, micro_batches;
	struct mist_stage *stage; /* [stages] */
	double seconds;           /* a step, by Mist's objective */
	double lower_bound;
	bool optimal;
	int64_t candidates;  /* options of stages that were weighed */
	double least_memory; /* bytes of the fullest stage of the leanest plan, when nothing fits */
};
void mist_plan_free(struct mist_plan *p);
#define MIST_PLAN_AUTO __attribute__((cleanup(mist_plan_free))) struct mist_plan

/* The least step. SB_EINFEASIBLE: nothing fits (out->least_memory).
 * SB_EIMPOSSIBLE: no candidate at all, or the effort ended. SB_ENOMEM. */
int mist_search(const struct mist_problem *p, struct mist_plan *out, struct sb_error *err);
/* The best plans of other numbers of stages and micro-batches than `best`, at most `wanted`, fastest first,
 * none slower than `slack` times the best: each to be freed. SB_ENOMEM. */
int mist_alternatives(const struct mist_problem *p, const struct mist_plan *best, double slack, int wanted,
                      struct mist_plan *out, int *out_count);
/* The fastest plans with less memory than `best`, in `wanted` even steps from it down to the leanest of all,
 * as far as they are not slower than `slack` times the best: fastest first, each to be freed. SB_ENOMEM. */
int mist_frontier(const struct mist_problem *p, const struct mist_plan *best, double slack, int wanted,
                  struct mist_plan *out, int *out_count);
/* The three parts of a plan's step: (micro-batches - 1) x the largest stable time, their sum, the largest
 * tail. */
struct mist_parts {
	double steady, fill, ends;
};
struct mist_parts mist_parts_of(const struct mist_plan *plan);
/* Bytes of the fullest stage. */
double mist_fullest(const struct mist_plan *plan);
/* The least bytes of the fullest stage of any plan, whatever may be used; INFINITY = there is no plan at all.
 * SB_ENOMEM. */
int mist_least_memory(const struct mist_problem *p, double *out);
/* Fills stable, delta and bytes of the stages of a given plan, and seconds;
 * *out_fits: all of them fit. */
void mist_evaluate(const struct mist_problem *p, struct mist_plan *io, bool *out_fits);

/* ---- mist_stage.c: one stage ---- */

/* What is the same for all stages of one shape (stages, dp, tp, micro-batch).
 */
struct mist_shape {
	int64_t stages, micro_batch, dp, tp, micro_batches;
	int64_t nodes, inside;              /* of the data-parallel group */
	double compute[2], exposed[2];      /* a layer's forward and backward; what waits
	                                       for tensor ranks */
	double full[MIST_STATES];           /* bytes of a layer's states, unsharded */
	double kept[2];                     /* bytes of its activations: all, checkpointed */
	double send;                        /* seconds a micro-batch, both ways */
	double end_seconds[2], end_once[2]; /* embedding and head: a micro-batch, and once a step */
	double end_bytes[2], end_kept, end_transient;
	double factor, capacity, context; /* of the memory */
};
struct mist_shape mist_shape_of(const struct mist_problem *p, int64_t stages, const struct mist_stage *s,
                                int64_t micro_batches);

/* One layer under a way to shard and offload: [0] as it is, [1] checkpointed.
 */
struct mist_layer {
	double stable[2], delta[2];
	double states, buffers; /* bytes: of each layer, and once */
	double kept_share;      /* of activations, on the device */
	double factor;
};
struct mist_layer mist_layer_of(const struct mist_problem *p, const struct mist_shape *shape,
                                const struct mist_stage *s);
/* Bytes of stage i at its peak. */
double mist_stage_bytes(const struct mist_shape *shape, const struct mist_layer *l, int64_t i, int64_t layers,
                        int64_t checkpointed);
/* The fewest checkpointed layers with which stage i fits, -1 = it does not. */
int64_t mist_least_checkpointed(const struct mist_shape *shape, const struct mist_layer *l, int64_t i,
                                int64_t layers);
/* stable and delta of stage i. */
struct stage_option mist_stage_seconds(const struct mist_shape *shape, const struct mist_layer *l, int64_t i,
                                       int64_t layers, int64_t checkpointed);
#endif
