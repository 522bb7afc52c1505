#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_export.h"

static const char *const methods[] = {"simulation", NULL};

/* The strategy as a solution has it, or as a launcher's text. */
static int read_strategy(const json_t *value, const struct cost_problem *p, struct strategy *io,
                         int64_t **out_stages, bool *out_attention, struct sb_error *err)
{
	struct place at = place_of("/strategy"), text = place_of("/strategy/text");
	bool is_text = strategy_is_text(value);
	int rc;

	if (is_text) {
		rc = strategy_from_text(value, &at, p, io, out_stages, out_attention, err);
	} else {
		rc = strategy_from_json(value, &at, io, out_stages, err);
		*out_attention = parse_given(value, "attention") != NULL;
	}
	if (rc != SB_OK)
		return rc;
	rc = strategy_check(p, io, err);
	if (rc != SB_OK && is_text && err)
		snprintf(err->field, sizeof(err->field), "%s", text.pointer);
	return rc;
}

static int cost_of(const json_t *value, const struct cost_problem *p, int64_t micro, json_t **out,
                   struct sb_error *err)
{
	struct strategy s = strategy_default(&p->model, &p->cluster);
	struct strategy_cost c;
	int64_t *stages = NULL;
	bool attention = false;
	double start = plan_clock();
	int rc;

	if (micro > 0)
		s.micro_batch = micro;
	rc = read_strategy(value, p, &s, &stages, &attention, err);
	if (rc == SB_OK)
		rc = strategy_cost(p, &s, &c, err);
	if (rc == SB_OK)
		*out = json_pack("{s:o,s:o,s:o,s:[],s:[],s:[],s:o}", "solution", strategy_to_json(p, &s),
		                 "predicted", predicted_to_json(&c), "quality",
		                 quality_to_json(-1, NAN, c.step_seconds, 1, plan_clock() - start,
		                                 p->constants.model_error),
		                 "alternatives", "frontier", "rejected", "warnings",
		                 warnings_to_json(p, &s, &c, attention));
	if (rc == SB_OK)
		rc = *out ? strategy_explain_json(p, &s, &c, *out, err) : sb_no_memory(err);
	free(stages);
	return rc;
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	static const char *const members[] = {"kind",     "method",      "model",       "cluster", "batch",
	                                      "strategy", "calibration", "constraints", NULL};
	static const char *const limits[] = {"memory_bytes", NULL};
	struct place root = place_of(""), constraints = place_of("/constraints");
	struct cost_problem p;
	const json_t *value;
	int64_t micro = 0;
	int rc = parse_members(request, &root, members, err);

	(void)out_extra;
	if (rc == SB_OK)
		rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);
	if (rc == SB_OK && value)
		rc = parse_members(value, &constraints, limits, err);
	if (rc == SB_OK)
		rc = parse_object(request, &root, "strategy", REQUIRED, &value, err);
	if (rc == SB_OK)
		rc = cost_problem_from_json(request, &p, &micro, err);
	return rc == SB_OK ? cost_of(value, &p, micro, out, err) : rc;
}

static json_t *schema(void)
{
	json_t *strategy = schema_either(strategy_schema(), strategy_text_schema());

	return request_schema(json_pack("{s:o}", "strategy", strategy), "strategy");
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i}", "layers", 4096, "nodes", 1 << 17);
}

const struct plan_kind estimate_kind = {.name = "estimate",
                                        .methods = methods,
                                        .solve = solve,
                                        .schema = schema,
                                        .limits = limits_of,
                                        .export = strategy_export};
