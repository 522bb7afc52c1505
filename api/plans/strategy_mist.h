#ifndef SB_API_PLANS_STRATEGY_MIST_H
#define SB_API_PLANS_STRATEGY_MIST_H
#include "api/plans/strategy_methods.h"
#include "planner/methods/mist.h"

/* Plans of the strategy method `mist` as JSON. */

struct mist_input {
	struct search_request request;
	bool attention_given, measured; /* measured: the machine is one of Mist's own */
	struct mist_problem problem;
};
/* The ZeRO level of a stage's shards. */
int mist_zero(const struct mist_stage *s);
/* The plan: a strategy of ours where all its stages are alike but for their layers, else in a shape of its
 * own. NULL when out of memory. */
json_t *mist_solution_json(const struct mist_input *in, const struct mist_plan *plan);
/* Sets solution and predicted (by our own cost model; what Mist's says of it in predicted.mist), and with
 * warnings the explanation. SB_ENOMEM. */
int mist_plan_json(const struct mist_input *in, const struct mist_plan *plan, json_t *entry, json_t *warnings,
                   struct sb_error *err);
#endif
