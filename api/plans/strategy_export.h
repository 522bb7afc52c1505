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

/* Whether a strategy is given as a launcher's text: {format, text, devices?}. */
bool strategy_is_text(const json_t *value);
/* Reads such a strategy, for the problem's model, on `devices` of the cluster or all of them. *out_attention:
 * the text says which attention kernel runs; else the one in *io stays. *out_stages as in
 * strategy_from_json(). Errors as there; SB_EIMPOSSIBLE, with the line, for a text that cannot be read, and
 * for one with another global batch than the problem's. */
int strategy_from_text(const json_t *value, const struct place *at, const struct cost_problem *p,
                       struct strategy *io, int64_t **out_stages, bool *out_attention, struct sb_error *err);
/* New reference. */
json_t *strategy_text_schema(void);

/* DeepSpeed's configuration is JSON: it is written and read here, where Jansson lives. */
extern const struct launch_format launch_deepspeed;
#endif
