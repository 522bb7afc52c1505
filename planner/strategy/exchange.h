#ifndef SB_PLANNER_STRATEGY_EXCHANGE_H
#define SB_PLANNER_STRATEGY_EXCHANGE_H
#include "planner/cost/memory.h"
#include "planner/cost/offload.h"

/* What the devices that hold the same parameters exchange of gradients and weights, seconds. */

/* Of an exchange, what the window of compute beside it does not hide. */
double exposed_seconds(const struct cost_problem *p, const struct strategy *s, double exchange,
                       double window);
/* Are gradients reduced in each micro-batch? ZeRO 3 does, and ZeRO 2 when it accumulates: what is kept of the
 * gradients is a part, so each micro-batch's must be reduced before the next adds to them (cost-model
 * section 5). */
bool reduces_each(const struct cost_problem *p, const struct strategy *s);
/* What one stage of the run waits for once a step (section 8): the replicas' gradients and weights, as far as
 * the last and the first pass do not hide them, and what tensor ranks and the ends of a pipeline have in
 * common. */
double exchange_seconds(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                        const struct groups *g, const struct stage_run *run, struct offload_passes window);
#endif
