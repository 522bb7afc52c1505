#ifndef SB_PLANNER_EXPORT_MEGATRON_H
#define SB_PLANNER_EXPORT_MEGATRON_H
#include "planner/export/launch.h"

/* The reader of launch_megatron: launch arguments, or a script that holds them. */
int megatron_read(const struct options *o, struct launch_plan *io, struct sb_error *err);

/* For launchers that start Megatron. What it refuses whatever the tensor ranks and the offload;
 * SB_EIMPOSSIBLE.
 */
int megatron_refuse(const struct launch_plan *l, struct sb_error *err);
/* Its arguments, but for the attention kernel and the offload. */
void megatron_write(const struct launch_plan *l, const char *notes, struct sb_buf *out);
/* Why fields may come back otherwise. */
extern const char *const megatron_why[LAUNCH_FIELDS];
#endif
