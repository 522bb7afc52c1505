#ifndef SB_PLANNER_COST_OVERLAP_H
#define SB_PLANNER_COST_OVERLAP_H
#include "planner/cost/compute.h"

/* What software stacks run at the same time, cost-model section 9. Two streams of A seconds of compute and C
 * of communication that may run together take max(A, C) + (kappa - 1) min(A, C), with kappa the constant
 * overlap_slowdown: of A + C, (2 - kappa) times what runs together is won. A stack whose kappa is 2 or more
 * wins nothing, and loses nothing.
 *
 * Every window is given away once. Tensor ranks (strategy.overlap_tensor; Transformer Engine's user buffers,
 * MC2 on Ascend): a collective goes in pieces under the one product that it feeds or drains, of the backward
 * pass under the gradients of that product's inputs or weights. It needs sequence parallelism, in one
 * dimension: no stack is known to do it for grids.
 *
 * Experts (overlap_expert): their all-to-all of one micro-batch runs under the compute of another in the same
 * layer, the forward pass of one beside the backward pass of the other (Megatron-LM's combined 1F1B,
 * DualPipe). The page has the partner's attention as the window; both stacks use all of its compute: the
 * products of the experts too run beside the other's exchange (DeepSeek-V3, figure 4). What is recomputed
 * runs alone. A pair needs two micro-batches that wait for each other in no stage: without a pipeline, or in
 * an interleaved one, where a micro-batch takes a whole slot for each hop. In plain 1F1B each backward waits
 * for a forward that was just made, so that nothing is paired. In warm-up and cool-down micro-batches have no
 * partner (stage_time.alone). Where ZeRO exchanges in every micro-batch, or passes move what is offloaded,
 * these have the window, and nothing is paired. */

/* Splits of a scatter in Transformer Engine ("pipeline", the default of its products that scatter); a gather
 * goes in as many as there are ranks ("ring_exchange"). */
#define SCATTER_SPLITS 4

/* What is won when so many seconds of two streams run together. */
double overlap_won(const struct constants *k, double together);
/* Of an exchange in q pieces under one product, the seconds that run together: all but one piece's share of
 * both. What is left is section 9's C/q + max(0, C(q-1)/q - A(q-1)/q), with the slow-down. */
double overlap_pieces(double exchange, double product, double q);
/* Do the ranks of the strategy's tensor groups overlap, as its stack would? */
bool overlap_tensor_ranks(const struct strategy *s);
/* Does 1F1B run one micro-batch's forward pass beside another's backward pass? It keeps one more in
 * flight for it (Megatron-LM; cost-model section 6.2). */
bool overlap_in_pairs(const struct strategy *s);
/* Do those sends run under compute? Megatron-LM's --overlap-p2p-communication, its default, which speaks of
 * interleaved pipelines alone; and DualPipe. */
bool overlap_between_stages(const struct strategy *s);
#endif
