#ifndef SB_PLANNER_PIPELINE_WEIGHT_PIPELINE_H
#define SB_PLANNER_PIPELINE_WEIGHT_PIPELINE_H
#include "planner/strategy/cost.h"

/* Pipelines that pass weights on and keep activations where they are (WeiPipe; TawPipe: Wu and Chen, AAAI
 * 2026), against a pipeline that passes activations (1F1B) and against fully sharded data parallelism. All P
 * devices of a cluster do one of these; D nodes are the groups. h: hidden size, s: tokens of a sequence, b:
 * sequences of a micro-batch, w: elements of a layer's matrices, 12 h^2 in a plain transformer. */

enum weight_way { WAY_1F1B, WAY_FSDP, WAY_WEIPIPE, WAY_TAWPIPE, WEIGHT_WAYS };

struct weight_cost {
	enum misfit misfit; /* else than FIT_OK: cannot be run, and nothing else is set */
	struct strategy strategy;
	/* Of one layer while P micro-batches pass it: 1F1B 2 P b s h (forward and back), as if each layer was
	 * a stage; FSDP 3 w (P - 1) / P; WeiPipe 3 w, the weights twice and their gradients; TawPipe 2 w. */
	double elements;
	/* Of N micro-batches in all: (P - 1) / (N + P - 1), for 1F1B and WeiPipe. TawPipe with n = N / P of
	 * them a device: ((D - 1) P + n) / ((3 n + D - 1) P + n), as 3 n P is the work of a device of P
	 * layers. FSDP 0. */
	double bubble_share;
	double sent_bytes; /* of one device in a step, really: a stage has many layers */
	double compute_seconds, network_seconds; /* of one device in a step, each alone */
	double step_seconds, tokens_per_second;
	struct memory_parts memory; /* of the fullest device */
	bool fits;
};
struct weight_comparison {
	struct weight_cost way[WEIGHT_WAYS];
	int64_t ranks, groups;
	int64_t weights;         /* that are passed: as many as ranks, or as layers where these are fewer */
	double tokens;           /* s b */
	double threshold_tokens; /* w / (P h): beyond it 2 P b s h > 2 w, passing weights sends less by
	                            TawPipe's count; 12 h / P in a plain transformer */
};

struct weight_options {
	int64_t micro_batch;
	enum recompute recompute; /* RECOMPUTES: for each way the one that is fastest within the memory */
	/* The devices of a node share one network interface of the cluster link's rate. Only FSDP uses it
	 * from all of them at once; a chain crosses it from one. */
	bool shared_nic;
};
/* Every way with the recomputing that is fastest within the memory, or with the given one (RECOMPUTES:
 * choose); of what does not fit, the leanest. 1F1B and FSDP are costed as the strategies they are
 * (strategy_cost()). WeiPipe and TawPipe: a round of P micro-batches takes the longer of its compute and its
 * transfers, as these overlap, and the shorter one's slowdown; transfers go over the slowest link between
 * neighbours; the bubble's share comes on top. Activations and the shards of all states are those of FSDP;
 * WeiPipe holds two weights in transit, TawPipe one. SB_ENOMEM. */
int weight_compare(const struct cost_problem *p, const struct weight_options *o,
                   struct weight_comparison *out, struct sb_error *err);
/* The rank that keeps weight i (TawPipe's device-bound storage): neighbours lie in different groups, so that
 * one is fetched while the other is broadcast. i < ranks, groups divides ranks. */
int64_t weight_rank(int64_t i, int64_t ranks, int64_t groups);
/* Layers of weight i, and its first layer: as even as can be, the first ones take one more. */
int64_t weight_layers(int64_t i, int64_t layers, int64_t weights, int64_t *out_first);
#endif
