#include <stdlib.h>

#include "api/plans/strategy_methods.h"

/* MoE parallel folding (systems 3.12): the experts are divided over the ranks of a stage in their own way.
 * The search is the exact one; beside its plan stands the best without folding. */

static json_t *unfolded_of(const struct search_request *r, const struct search_result *x, double folded)
{
	return json_pack("{s:o,s:f,s:f}", "solution", strategy_to_json(&r->problem, &x->best.strategy),
	                 "step_seconds", x->best.cost.step_seconds, "speedup",
	                 x->best.cost.step_seconds / folded);
}

static int add_unfolded(const struct search_request *r, json_t *answer, struct sb_error *err)
{
	json_t *predicted = json_object_get(answer, "predicted");
	double folded = json_number_value(json_object_get(predicted, "step_seconds"));
	struct search_request unfolded = *r;
	struct search_result *x = malloc(sizeof(*x));
	struct sb_error why = {0};
	int rc;

	if (!x)
		return sb_no_memory(err);
	unfolded.unfolded = true;
	unfolded.alternatives = 0;
	rc = strategy_search(&unfolded, x, &why);
	if (rc == SB_OK)
		rc = json_object_set_new(predicted, "unfolded", unfolded_of(r, x, folded));
	else if (rc == SB_EINFEASIBLE || rc == SB_EIMPOSSIBLE) /* nothing fits without folding */
		rc = json_object_set_new(predicted, "unfolded", json_null());
	free(x);
	return rc == 0 ? SB_OK : sb_no_memory(err);
}

int strategy_folding(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                     struct sb_error *err)
{
	struct place model = place_of("/model");
	struct search_request r = {.watch = watch};
	bool attention_given = false;
	int rc = strategy_request_from_json(request, &r, &attention_given, err);

	if (rc == SB_OK && !r.problem.model.has_moe)
		return parse_fail(err, SB_EIMPOSSIBLE, "no_experts", &model, NULL,
		                  "has no experts to fold; use the method exact");
	r.effort = SEARCH_EFFORT / 2; /* of each of the two searches */
	if (rc == SB_OK)
		rc = strategy_search_answer(&r, attention_given, out, out_extra, err);
	return rc == SB_OK ? add_unfolded(&r, *out, err) : rc;
}
