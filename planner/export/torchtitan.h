#ifndef SB_PLANNER_EXPORT_TORCHTITAN_H
#define SB_PLANNER_EXPORT_TORCHTITAN_H
#include "planner/export/launch.h"

/* The reader of launch_torchtitan: a job configuration. */
int torchtitan_read(const struct options *o, struct launch_plan *io, struct sb_error *err);
#endif
