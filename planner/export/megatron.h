#ifndef SB_PLANNER_EXPORT_MEGATRON_H
#define SB_PLANNER_EXPORT_MEGATRON_H
#include "base/buf.h"
#include "planner/strategy/strategy.h"

/* Appends the launch arguments of Megatron-LM (names of its arguments.py, core 0.9 and later), one argument a
 * line, that run the strategy. SB_EIMPOSSIBLE for what Megatron cannot express: a cut whose middle stages
 * differ, or ZeRO 2 and 3 with a pipeline. SB_ENOMEM, SB_ELIMIT. */
int megatron_arguments(const struct model *m, const struct strategy *s, int64_t sequences, struct sb_buf *out,
                       struct sb_error *err);
#endif
