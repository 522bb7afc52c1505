#ifndef SB_PLANNER_COST_MEMORY_H
#define SB_PLANNER_COST_MEMORY_H
#include "planner/cost/compute.h"

/* Bytes on one device, in floating point (exact below 2^53). cost-model sections 5 and 6. */

/* Activations of one layer that wait for the backward pass of one micro-batch. */
double layer_activation_bytes(const struct model *m, const struct strategy *s, enum layer_kind kind);
/* Micro-batches in flight on a stage at its peak, in chunks of 1/vpp of the stage: 1F1B, or the interleaved
 * schedule with groups of pp micro-batches. */
int64_t chunks_in_flight(int64_t pp, int64_t vpp, int64_t micro_batches, int64_t stage);
/* The same of a strategy: one more where micro-batches run in pairs (cost/overlap.h). */
int64_t strategy_in_flight(const struct strategy *s, int64_t micro_batches, int64_t stage);

struct memory_parts {
	double weights, gradients, optimizer, activations, workspace;
	double host; /* kept in host memory instead, by this device */
};
/* Sum of the parts on the device, bytes. */
double memory_total(const struct memory_parts *m);
/* As it is told: rounded up, so that a plan fits in as many bytes as it is told to need. */
int64_t memory_bytes_of(const struct memory_parts *m);

/* What may wait on the host, in the order of struct offload. */
enum offloadable { OFFLOAD_WEIGHTS, OFFLOAD_GRADIENTS, OFFLOAD_OPTIMIZER, OFFLOAD_ACTIVATIONS, OFFLOADABLES };
/* What a stage can move to the host, bytes, and what it needs on the device in return, at most as much as it
 * moves. */
struct offload_room {
	double bytes[OFFLOADABLES], buffers[OFFLOADABLES];
};

/* The part that is the same for every stage of one strategy shape, computed once. */
struct memory_model {
	double dense_parameters[LAYER_KINDS], expert_parameters[LAYER_KINDS]; /* one layer, one device */
	double replicated[LAYER_KINDS], head_replicated; /* of them, those that every tensor rank holds */
	double embedding_parameters, head_parameters;
	double stored[LAYER_KINDS]; /* activations of one layer and micro-batch, recomputed as the strategy
	                               says */
	double kept_stored[LAYER_KINDS]; /* of one that is not recomputed all the same */
	double first_stored;             /* embedding's own, each micro-batch in flight */
	double last_transient;           /* logits and their gradient */
	double transient;                /* replayed layer, buffers of exchanges */
	double kept_transient;           /* where no layer is recomputed */
	double largest_layer;            /* parameters, unsharded over dp */
};
/* For a fitting strategy; bytes and parameters of one device. */
struct memory_model memory_model_of(const struct cost_problem *p, const struct strategy *s);
/* Parameters that one device of a stage holds before ZeRO shards them; experts have replicas of their own. */
struct parameters_held {
	double dense, expert;
};
struct parameters_held stage_parameters(const struct cost_problem *p, const struct memory_model *m,
                                        const struct strategy *s, const struct stage_run *run);
/* How many of them are left where the replicas divide them. */
double shard_of(const struct strategy *s, const struct parameters_held *n);
/* Activations of one micro-batch in all chunks of a stage of the run, bytes. */
double stage_stored(const struct memory_model *m, const struct stage_run *run);
/* The peak of the first stage of a run, which is the fullest one of it, bytes; `m` of the same strategy. */
struct memory_parts stage_memory(const struct cost_problem *p, const struct memory_model *m,
                                 const struct strategy *s, const struct stage_run *run,
                                 int64_t micro_batches);
/* Of it weights, gradients and optimizer states before any is moved to the host, the rest 0: what does not
 * depend on recomputation, nor on the micro-batches in flight. */
struct memory_parts stage_states(const struct cost_problem *p, const struct memory_model *m,
                                 const struct strategy *s, const struct stage_run *run);
/* As stage_memory(), of a stage whose states are known. */
struct memory_parts stage_memory_beside(const struct cost_problem *p, const struct memory_model *m,
                                        const struct strategy *s, const struct stage_run *run,
                                        int64_t micro_batches, const struct memory_parts *states);
/* Of the stage that needs `kept` when it offloads nothing. */
struct offload_room stage_offload_room(const struct memory_model *m, const struct strategy *s,
                                       const struct stage_run *run, const struct memory_parts *kept);
#endif
