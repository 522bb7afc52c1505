#ifndef SB_PLANNER_STRATEGY_SEARCH_H
#define SB_PLANNER_STRATEGY_SEARCH_H
#include "base/watch.h"
#include "planner/strategy/cost.h"

/* The search for the fastest strategy that fits in memory: exact over the space below, best first, with
 * bounds that never exceed the true cost, and the schedule simulated for every strategy that may be the best.
 *
 * The space: tp dividing heads and widths; cp a power of two with at least 256 tokens a rank; any pp; dp and
 * micro_batch dividing the batch; any vpp that leaves no chunk but the first and the last without layers; ep
 * dividing the experts and etp their width, folded freely into the tp x cp x dp ranks of a stage (parallel
 * folding); ZeRO 0..3 where replicas, or tensor ranks of the experts, hold weights in common (2 and 3 in a
 * pipeline only where the request names them: few stacks run that), with the exchange under compute from 1
 * on, where the request does not say what its stack overlaps (struct stack, the same for all strategies);
 * grids of tensor ranks only where the request names them (tp_y as tp, tp_x dividing the widths): no
 * stack but MindFormers runs them; recomputation of nothing, of all layers, or in each stage of as few as
 * make it fit; sequence parallelism on and off (with experts or a grid always on, beside tp); every order of
 * the ranks, whatever nodes they fill (the worst group of a dimension counts); of a pipeline's slices (the
 * stages, or the chunks of all stages in turn) the last one shortened by up to the layers that the head
 * weighs, and the first one lengthened by up to as many as are dense before the first with experts, where
 * that leaves the slices between equally long (both at most 8); what does not divide lies on the later ones
 * before the last. Interleaved pipelines have whole groups of pp micro-batches; a shorter last chunk only
 * while the last stage, a layer longer and with the head, would be the longest; and slices between the first
 * and the last that differ (by one layer) only without experts, and of the numbers of chunks whose longest is
 * as long the fewest. Any number of devices up to the cluster's, node after node, and of each node any number
 * that all nodes together have room with: neither more nodes nor more devices in each make the plan worse. Of
 * no degree are more than about 500 values tried, nor more than PLACEMENTS_MAX ways for the ranks of a set of
 * degrees to lie: what has more divisors, or layers, than that leaves some out (values_left_out). No other
 * cuts: `estimate` takes them all.
 *
 * The frontier has, of plans that offload nothing, every number of recomputed layers: its points are the
 * fastest in evenly spaced amounts of memory, a few more than points are wanted, beside what needs no such
 * choice. Of w points wanted it answers a search with less memory within two w-ths of what lies between its
 * first point's memory and its last one's: it has one as fast in so much more. frontier_in_part says where
 * that may not hold: where simulations would take long (then lower bounds chose), or there was no room for
 * all that may be on it. Plans that offload are on it only if faster than all others
 * (frontier_without_offload).
 *
 * Offload, where the cluster says what its host holds and how quick the link to it is: of five ways to need
 * less memory - weights, gradients, optimizer states and activations on the host, and recomputation of a
 * stage's layers - one at most is taken in part, the others whole or not at all (of the ways to meet one
 * linear limit at least linear cost one always is of this kind). What is taken in part is as little as fits.
 * Weights and gradients are offloaded in part only while the optimizer's states stay, and those only while
 * these do: where the host updates what it holds, they go together or not. Layers beyond the fewest that fit
 * are not recomputed, though beside activations on the host, recomputed layers have less to move: on a link
 * that cannot hide it such a plan may be quicker than all of the space (seen once in 400 random problems, by
 * 0.25 percent).
 *
 * Offload wins memory and costs time: each pass takes at least as long, since what the link moves is added,
 * even hidden, and takes window from the exchanges (overlap_slowdown below 2, as it is measured); the update
 * never less than the device's own (offload_update_seconds()). So a strategy that fits is not tried with
 * offload, which would only slow it down; and of what is taken in part, more than fits costs more, so that
 * the space is the same for any memory, and more memory never makes the plan worse. Strategies that offload
 * are walked through after the others, and kept only where they may be faster than all of those: alternatives
 * and points of the frontier, too, offload only then, and as little as fits. */

enum constraint {
	ONLY_DP,
	ONLY_TP,
	ONLY_CP,
	ONLY_PP,
	ONLY_VPP,
	ONLY_EP,
	ONLY_ETP,
	ONLY_MICRO_BATCH,
	ONLY_ZERO,
	ONLY_RECOMPUTE, /* enum recompute, or RECOMPUTES: as few layers as make each stage fit */
	ONLY_SEQUENCE_PARALLEL,
	ONLY_OFFLOAD, /* enum offloadable: what may go to the host; OFFLOADABLES: "none" of the request */
	ONLY_TENSOR,  /* 0: one dimension, 1: grids of tensor ranks beside it; left out: 0 */
	ONLY_TP_X,    /* any named asks for grids, too */
	CONSTRAINTS
};
#define ALLOWED_MAX 16
struct allowed {
	int count; /* 0 = any */
	int64_t value[ALLOWED_MAX];
};

/* What the software stack runs under compute; not given: gradients from ZeRO 1 on, and nothing else. */
struct stack {
	bool given;
	bool gradients, tensor, expert, sends;
	bool dispatch_fp8;
};
/* Gives a strategy what the stack does; its ZeRO level is set. */
void stack_apply(const struct stack *k, struct strategy *s);

struct search_request {
	struct cost_problem problem;
	struct allowed only[CONSTRAINTS];
	enum attention attention;
	int gradient_bytes;
	struct stack stack;
	int alternatives;             /* wanted, at most SEARCH_ALTERNATIVES */
	int frontier;                 /* points wanted, at most SEARCH_FRONTIER_MOST; 0 = SEARCH_FRONTIER */
	bool unfolded;                /* experts as without parallel folding: etp = tp, ep within dp */
	int64_t effort;               /* steps of the walk after which to give up, 0 = SEARCH_EFFORT */
	const struct sb_watch *watch; /* NULL: never */
};

enum rejection {
	REJECT_MEMORY, /* does not fit */
	REJECT_HOST,   /* what it offloads does not fit in a node's host memory */
	REJECT_SLOWER, /* than the best by SEARCH_SLACK, or than one that needs no more memory */
	REJECT_HEADS,
	REJECT_WIDTH,
	REJECT_SEQUENCE,
	REJECT_ATTENTION,  /* cp or a grid of tensor ranks without a fused attention kernel */
	REJECT_INTERLEAVE, /* micro-batches do not fill the interleaved pipeline */
	REJECT_ZERO,       /* ZeRO 2 and 3 with a pipeline, not asked for */
	REJECT_EXPERTS,
	REJECTIONS
};
const char *rejection_word(enum rejection r);

/* Steps of a share that is offloaded in part: rounding up to the next one moves at most a sixty-fourth of the
 * thing too much, less than a layer of most models. */
#define OFFLOAD_STEPS 64
#define SEARCH_ALTERNATIVES 16
#define SEARCH_FRONTIER 16
#define SEARCH_FRONTIER_MOST 64
/* Strategies beyond this times the best seconds are no alternatives, and not on the frontier. */
#define SEARCH_SLACK 1.25
/* Steps of the walk after which a search gives up, so that a hostile problem cannot hold a core: about two
 * seconds of work. A mixture of 256 experts on 16,384 devices stays within it. */
#define SEARCH_EFFORT ((int64_t)1 << 24)

struct choice {
	struct strategy strategy;
	struct strategy_cost cost;
};
struct rejected {
	int64_t count;
	struct strategy example; /* the fastest of them where a time is known, else the first */
	double example_seconds;  /* NaN = unknown */
};
struct search_result {
	struct choice best;
	struct choice alternatives[SEARCH_ALTERNATIVES]; /* the best of other degrees, fastest first */
	int alternative_count;
	struct choice frontier[SEARCH_FRONTIER_MOST]; /* fastest first: time up, memory down */
	int frontier_count;
	bool frontier_in_part;         /* something faster may be between its points; */
	bool frontier_without_offload; /* beside it, something faster that offloads */
	struct rejected rejected[REJECTIONS];
	int64_t candidates;   /* strategies weighed, those cut off by a bound included */
	int64_t costed;       /* of them costed one by one */
	int64_t effort;       /* steps that the walk took */
	double lower_bound;   /* of the best step under the model; NaN: not known */
	bool optimal;         /* proved: nothing in the space is faster under the model */
	bool cut_short;       /* the effort did not last for the whole space */
	bool values_left_out; /* of a degree, or of ways to lie on the nodes, with too many */
	double least_memory;  /* bytes, over everything that was costed */
	struct strategy leanest;
};

/* SB_EINFEASIBLE when nothing fits: then out->least_memory, leanest, candidates and rejected are valid. When
 * the constraints leave no strategy at all, or the effort ends before one is found ("search_too_large"):
 * SB_EIMPOSSIBLE. Where it ends later, the best that was found (cut_short). SB_ENOMEM, SB_ECANCELED.
 * Deterministic. */
int strategy_search(const struct search_request *r, struct search_result *out, struct sb_error *err);
/* What would make the request feasible. Costs memory only. *effort: steps taken so far, which count for what
 * these take together.
 *
 * The fewest nodes (up to 64 times as many, at most 65,536), 0 when none is found with that effort. */
int strategy_nearest_nodes(const struct search_request *r, int64_t *effort, int64_t *out_nodes,
                           struct sb_error *err);
/* The least host memory of a node, 0 when none does or that effort does not reach it; whatever the cluster
 * says of its host. */
int strategy_nearest_host(const struct search_request *r, int64_t *effort, int64_t *out_bytes,
                          struct sb_error *err);
/* Which of the request's constraints, each dropped alone, would let a strategy fit: false also for what the
 * effort does not reach. */
int strategy_nearest_constraints(const struct search_request *r, int64_t *effort, bool out_frees[CONSTRAINTS],
                                 struct sb_error *err);
#endif
