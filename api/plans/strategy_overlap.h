#ifndef SB_API_PLANS_STRATEGY_OVERLAP_H
#define SB_API_PLANS_STRATEGY_OVERLAP_H
#include "api/plans/parse.h"
#include "planner/strategy/strategy.h"

/* What the software stack of a strategy runs under compute, as JSON: `overlap`, a list of words, the older
 * `overlap_gradients` beside it, and `dispatch_dtype`. Members of a strategy, of a solution and, without
 * overlap_gradients, of the constraints of a search. */

/* Without the member `overlap` the strategy keeps what it has; *out_given tells. SB_EINVAL, SB_EIMPOSSIBLE.
 */
int overlap_from_json(const json_t *value, const struct place *at, struct strategy *io, bool *out_given,
                      struct sb_error *err);
/* Sets the members in a solution. */
void overlap_to_json(const struct strategy *s, json_t *solution);
/* Adds the schemas of `overlap` and `dispatch_dtype`. */
void overlap_schema(json_t *properties);
#endif
