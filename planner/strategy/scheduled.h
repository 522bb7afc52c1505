#ifndef SB_PLANNER_STRATEGY_SCHEDULED_H
#define SB_PLANNER_STRATEGY_SCHEDULED_H
#include "planner/strategy/cost.h"

/* Pipelines in another order than 1F1B, by the simulator that they share (planner/schedule): the gradients of
 * the weights come apart from those of the inputs, and in DualPipe each device holds two stages, half of the
 * micro-batches come each way, and a forward pass runs beside another micro-batch's backward pass.
 *
 * Of DualPipe's two copies each device updates its stages' share: with ZeRO the copies divide the optimizer
 * states, too. Both stages' gradients are reduced, each under its own last backward pass. Traffic of experts,
 * with strategy.overlap_expert, is hidden in pairs as cost/overlap.h has it; what runs alone hides none. */

/* Memory of each device, out[pp]. runs: of the strategy. SB_ENOMEM. */
int scheduled_memory(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                     const struct stage_run *runs, int64_t count, struct memory_parts *out,
                     struct sb_error *err);
/* Seconds, their parts and the memory, into *io. times: stage_seconds() of the runs. SB_ENOMEM. */
int scheduled_cost(const struct cost_problem *p, const struct strategy *s, const struct layer_costs *l,
                   const struct stage_run *runs, const struct stage_time *times, int64_t count,
                   struct strategy_cost *io, struct sb_error *err);
#endif
