#ifndef SB_PLANNER_EXPORT_MINDFORMERS_H
#define SB_PLANNER_EXPORT_MINDFORMERS_H
#include "planner/export/launch.h"

/* The reader of launch_mindformers: a training configuration. */
int mindformers_read(const struct options *o, struct launch_plan *io, struct sb_error *err);
#endif
