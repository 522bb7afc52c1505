#ifndef SB_API_PLANS_STRATEGY_EXPORT_DEEPSPEED_H
#define SB_API_PLANS_STRATEGY_EXPORT_DEEPSPEED_H
#include "api/plans/strategy_export.h"

/* The reader of launch_deepspeed: a configuration. */
int deepspeed_parse(const char *text, size_t len, struct options *out, struct sb_error *err);
int deepspeed_read(const struct options *o, struct launch_plan *io, struct sb_error *err);
/* A pipeline does not overlap ("... will be disabled", deepspeed/runtime/engine.py), nor does stage 0. */
bool deepspeed_overlaps(int64_t stage, int64_t pp);
#endif
