#ifndef SB_PLANNER_COST_COMPUTE_H
#define SB_PLANNER_COST_COMPUTE_H
#include "planner/cost/collectives.h"
#include "planner/strategy/strategy.h"

/* Seconds of local work and of the communication inside a layer, of one micro-batch on one device. */

/* The groups that a strategy communicates in. */
struct groups {
	struct group tp, pp;
	struct group tp_x, tp_y;        /* sides of the grid; one dimension: a single rank, and tp */
	struct group cp;                /* who share one sequence in attention: cp x tp_x */
	struct group dp;                /* dp x cp, twice in DualPipe: who holds the same dense weights */
	struct group ep;                /* expert ranks */
	struct group etp;               /* tensor ranks of one expert */
	struct group edp;               /* who holds the same experts */
	struct exchange dense, experts; /* of dp and edp: their gradients and weights */
	struct exchange tensor;         /* of tp_y: gradients of what all of them hold */
};
/* Where its ranks lie. */
static inline struct ranks_used strategy_ranks(const struct strategy *s)
{
	return (struct ranks_used){strategy_devices(s), s->node_devices};
}
/* The groups of a fitting strategy, its ranks numbered in its own order (strategy.order, innermost first). */
struct groups groups_of(const struct network *n, const struct strategy *s);

/* What the cost of a problem needs beside the strategy. */
struct cost_problem {
	struct model model;
	struct cluster cluster;
	struct constants constants;
	struct network network;
	int64_t sequences;    /* global batch */
	int64_t memory_bytes; /* what a device may use */
};

enum part { PART_COMPUTE, PART_RECOMPUTE, PART_TENSOR, PART_CONTEXT, PART_EXPERT, LAYER_PARTS };
struct layer_time {
	double forward, backward;  /* with what is exposed of the layer's own communication */
	double parts[LAYER_PARTS]; /* forward + backward, split */
	double alone;              /* each pass takes so much more whose micro-batch has no partner
	                              (overlap_in_pairs()); counted nowhere else */
	double weight;             /* of backward, the gradients of the weights */
	double free;               /* of each pass, compute that hides nothing */
};
/* Seconds of one layer and one micro-batch on one device, what waits of its communication included.
 * cost-model sections 4, 8 and 9. */
struct layer_time layer_seconds(const struct cost_problem *p, const struct strategy *s,
                                const struct groups *g, enum layer_kind kind);
/* The embedding on the first stage, seconds of one micro-batch. cost-model section 4. */
struct layer_time embedding_seconds(const struct cost_problem *p, const struct strategy *s,
                                    const struct groups *g);
/* The final norm, head and loss on the last stage, likewise. */
struct layer_time head_seconds(const struct cost_problem *p, const struct strategy *s,
                               const struct groups *g);
/* What is left of an exchange that runs under a window of compute (cost-model section 9). */
double overlapped_seconds(const struct constants *k, double exchange, double window);
/* How many FLOP the device would do in the time of a product of so many, at the share of its peak that large
 * products reach: twice as many where flop = half. What a product needs to start (the host's launches, the
 * first and the last tiles) runs beside the products before it, so that times neither add up, as in the
 * page's F + F_half, nor is the longer one all of it: ((F^p + x F_half^p)^(1/p)), p = 3/2. The exponent is
 * from vTrain's 984 runs inside one node, which are not among those that the constants are fitted to: fitted
 * there, the mean error on these is 15.8 % with p = 1, 11.4 with 5/4, 9.5 with 3/2 and 14.4 with 2. */
double gemm_full_flop(double flop, double half);
/* Seconds of one matrix product (m x k) x (k x n) in 16 bit: a saturating share of the peak, or the memory's
 * speed. cost-model section 4. */
double gemm_seconds(const struct cost_problem *p, double m, double n, double k);
/* Seconds to read or write so many bytes of the device's memory. */
static inline double memory_seconds(const struct cost_problem *p, double bytes)
{
	return bytes / (p->cluster.device.memory_bandwidth * p->constants.memory_share);
}
/* Bytes of one column of a micro-batch's activations in 16 bit, on the ranks of one context share. */
static inline double column_bytes(const struct cost_problem *p, const struct strategy *s)
{
	return 2 * (double)s->micro_batch * (double)p->model.seq_len / (double)s->cp;
}
#endif
