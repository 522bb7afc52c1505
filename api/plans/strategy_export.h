#ifndef SB_API_PLANS_STRATEGY_EXPORT_H
#define SB_API_PLANS_STRATEGY_EXPORT_H
#include "api/plans/strategy_json.h"
#include "planner/export/launch.h"

/* The export of the kinds `strategy` and `estimate`. */
int strategy_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                    struct sb_error *err);
/* The launchers' names, NULL-terminated: what an export may be asked for, and what a text may be read from.
 */
extern const char *const launch_format_names[];
/* NULL for a name that is none. */
const struct launch_format *launch_format_named(const char *name);

/* DeepSpeed's configuration is JSON: it is written and read here, where Jansson lives. */
extern const struct launch_format launch_deepspeed;
#endif
