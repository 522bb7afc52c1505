#ifndef SB_PLANNER_METHODS_TED_H
#define SB_PLANNER_METHODS_TED_H
#include "planner/frontier/plans.h"
#include "planner/strategy/search.h"

/* DeepSpeed-TED: tensor, expert and data parallelism together (Singh et al., ICS 2023). All G devices are Gt
 * x Gd for what is no expert, and Gt x Ge x Gd_exp for the experts: no pipeline, ZeRO 1 over the replicas. */

struct ted_parameters {
	double dense, expert; /* of the whole model: what is no expert; all experts */
};
struct ted_layout {
	int64_t devices, tensor, expert; /* G, Gt, Ge */
};
struct ted_switches {
	bool drop_duplicates;   /* tensor ranks hold the same tokens: each sends its share, and they gather
	                           after */
	bool keep_collectives;  /* recomputation repeats compute only (communication-aware checkpointing) */
	double tile_parameters; /* the optimizer's 32-bit copy is of so many; 0: of all that a device owns */
};
#define TED_TILE 1.8e6 /* of the paper */

struct ted_memory {
	double weights_gradients; /* 2 + 2 bytes a resident parameter */
	double optimizer;         /* 12 bytes a parameter, sharded over all replicas */
	double temporary;         /* 4 bytes a parameter of the tile */
};
/* Bytes a device. With every second FFN replaced by E experts on Ge = E ranks, a base model of NP parameters
 * has 2/3 NP dense and E/3 NP expert ones: weights, gradients and optimizer are then 4 NP (1/Gt + (E + 2)/G).
 */
struct ted_memory ted_bytes(const struct ted_parameters *n, const struct ted_layout *l,
                            const struct ted_switches *w);
/* The model's own. */
struct ted_parameters ted_parameters_of(const struct model *m);

struct ted_choice {
	struct strategy strategy;
	double seconds; /* by TED's cost */
	struct ted_memory memory;
	double activations;
};
/* What a device holds of it. */
double ted_choice_bytes(const struct ted_choice *c);
#define TED_KEPT (SEARCH_ALTERNATIVES + 1)
struct ted_result {
	struct ted_choice kept[TED_KEPT]; /* the best of each (Gt, Ge), fastest first */
	int count;
	struct plan_front front; /* of all that fit, by TED's seconds and bytes, within the slack */
	struct ted_choice on_front[PLAN_FRONT_MAX];
	int64_t candidates, over; /* over: of those that do not fit */
	int64_t unfit[MISFITS];
	struct strategy example[MISFITS], leanest;
	double least_memory;
};
/* Seconds of a step: compute, and what waits of communication, nothing overlapped: two all-reduces a layer
 * and pass in the tensor group, two all-to-alls an expert layer and pass over Ge, the gradients over Gd and
 * Gd_exp. */
double ted_seconds(const struct cost_problem *p, const struct strategy *s, const struct ted_switches *w);
/* Weighs every Gt that divides a node, every Ge that divides the experts, each micro-batch, with and without
 * recomputation, on each number of replicas that the devices and the batch allow and that may be faster, or
 * lie on the frontier: within SEARCH_SLACK of the best, at most r->frontier points, SEARCH_FRONTIER by
 * default. SB_EIMPOSSIBLE when the constraints leave nothing, or too much ("search_too_large"); SB_OK with
 * count 0 when nothing fits in memory. */
int ted_search(const struct search_request *r, const struct ted_switches *w, struct ted_result *out,
               struct sb_error *err);
#endif
