#ifndef SB_API_PLANS_STRATEGY_METHODS_H
#define SB_API_PLANS_STRATEGY_METHODS_H
#include "api/plans/strategy_json.h"
#include "planner/strategy/search.h"

/* The methods of the kind `strategy`. A new one adds its file api/plans/strategy_NAME.c and its row here:
 * ROW(public name, solve, schema). The first is the default.
 *
 * solve: a request whose members are all known, the answer of api.md out, as search in struct plan_kind. It
 * says in the answer's quality what it proved and for which objective (strategy_proved()), and predicts its
 * plan by the cost model of the kind `estimate` where that can run it, so that methods can be compared.
 * schema: the members that only this method takes, name -> JSON Schema; NULL = none. New reference. */
#define STRATEGY_METHODS(ROW)                                                                                \
	ROW("exact", strategy_exact, NULL)                                                                   \
	ROW("amp", strategy_amp, strategy_amp_schema)                                                        \
	ROW("apss", strategy_apss, strategy_amp_schema)                                                      \
	ROW("folding", strategy_folding, NULL)                                                               \
	ROW("mist", strategy_mist, strategy_mist_schema)                                                     \
	ROW("oases", strategy_oases, NULL)                                                                   \
	ROW("pangu-5d", strategy_pangu, NULL)                                                                \
	ROW("ted", strategy_ted, strategy_ted_schema)

struct strategy_method {
	const char *name;
	int (*solve)(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
	             struct sb_error *err);
	json_t *(*schema)(void);
};
#define STRATEGY_METHOD_DECLARED(name, solve, schema)                                                        \
	int solve(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,     \
	          struct sb_error *err);
STRATEGY_METHODS(STRATEGY_METHOD_DECLARED)
/* Members of the methods' own. */
json_t *strategy_amp_schema(void);
json_t *strategy_ted_schema(void);
json_t *strategy_mist_schema(void);

/* NULL-terminated. */
extern const char *const strategy_method_names[];
/* The method of a known name; NULL = the default. */
const struct strategy_method *strategy_method_of(const char *name);
/* The schema of a request, with the members of the methods' own: each only beside its methods. Takes and
 * returns the same object. */
json_t *strategy_methods_schema(json_t *request);

/* What all methods share of a request: model, cluster, batch, objective, constraints, calibration, limit.
 * *out_attention: the request says which kernel. SB_EINVAL, SB_EIMPOSSIBLE. */
int strategy_request_from_json(const json_t *request, struct search_request *r, bool *out_attention,
                               struct sb_error *err);
/* The constraint's member in a request. */
const char *strategy_constraint_name(enum constraint c);
/* Searches the space of the request, and answers: with the plan, or why there is none. */
int strategy_search_answer(const struct search_request *r, bool attention_given, json_t **out,
                           json_t **out_extra, struct sb_error *err);
/* Sets quality.objective (what the method makes least) and quality.proved (what is known of its plan). */
void strategy_proved(json_t *answer, const char *objective, const char *proved);
#endif
