#ifndef SB_PLANNER_EXPORT_MEGATRON_H
#define SB_PLANNER_EXPORT_MEGATRON_H
#include "planner/export/launch.h"

/* The reader of launch_megatron: launch arguments, or a script that holds them. */
int megatron_read(const struct options *o, struct launch_plan *io, struct sb_error *err);
#endif
