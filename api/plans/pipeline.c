#include "api/plans/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/pipeline_csimd.h"
#include "api/plans/schema.h"
#include "planner/pipeline/methods.h"

/* csimd has a request of its own: layers' times by samples, and samples to divide. */
#define CSIMD "csimd"
/* This one may list schedules and chunks. */
#define BEST "best"
/* The rows of pipeline_methods(), and what is no search of one schedule. */
static const char *const methods[] = {"bmpipe", "pipedream", "adapipe", "autopipe", "merak", "alpa",
                                      "even",   "random",    "given",   BEST,       CSIMD,   NULL};

/* What else could be done: the plan of the exact method, the cut that everybody tries first, and the user's
 * own.
 */
static int compare(const struct pipeline_input *in, const struct pipeline_choice *chosen, json_t *answer,
                   struct sb_error *err)
{
	static const char *const others[] = {"bmpipe", "even", NULL};
	int rc = SB_OK;

	for (int i = 0; rc == SB_OK && others[i]; i++)
		if (strcmp(others[i], chosen->method) != 0 && pipeline_method_of(others[i]))
			rc = pipeline_compare(in, others[i], chosen, answer, err);
	if (rc == SB_OK && parse_given(in->request, "given") && strcmp(chosen->method, "given") != 0)
		rc = pipeline_compare(in, "given", chosen, answer, err);
	return rc;
}

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	const char *name = json_string_value(json_object_get(request, "method"));
	PIPELINE_INPUT_AUTO in = {.cbc = {watch}};
	PIPELINE_CHOICE_AUTO chosen = {0};
	JSON_AUTO answer = NULL;
	double start = plan_clock();
	int rc;

	if (name && strcmp(name, CSIMD) == 0)
		return csimd_solve(request, watch, out, out_extra, err);
	if (name && strcmp(name, BEST) == 0)
		return pipeline_solve_best(request, watch, out, out_extra, err);
	if (name && strcmp(name, "pipedream") == 0 && parse_given(request, "levels"))
		return pipeline_levels_solve(request, watch, out, out_extra, err);
	rc = pipeline_from_json(request, &in, err);
	in.problem.watch = watch;
	if (rc == SB_OK)
		rc = pipeline_check_layers(&in.problem, err);
	if (rc == SB_OK)
		rc = pipeline_check_given(&in, err);
	if (rc == SB_OK)
		rc = pipeline_choose(&in, name ? name : methods[0], &chosen, err);
	if (rc == SB_EINFEASIBLE)
		return pipeline_explain(&in, &chosen, out_extra, err);
	if (rc != SB_OK)
		return rc;
	answer = pipeline_choice_to_json(&in, &chosen);
	if (!answer)
		return sb_no_memory(err);
	json_object_set_new(answer, "quality", pipeline_quality_to_json(&chosen.proof, plan_clock() - start));
	json_object_set_new(answer, "alternatives", json_array());
	json_object_set_new(answer, "frontier", pipeline_frontier_to_json(&in, &chosen, 1));
	json_object_set_new(answer, "rejected", json_array());
	json_object_set_new(answer, "warnings", pipeline_warnings_to_json(&in, &chosen));
	rc = compare(&in, &chosen, answer, err);
	if (rc == SB_OK)
		*out = json_incref(answer);
	return rc;
}

/* The schema of a request for one method, or for all others. */
static json_t *schema_for(json_t *request, const char *method)
{
	json_t *properties = json_object_get(request, "properties"), *others = json_array();

	for (int i = 0; methods[i]; i++)
		if (strcmp(methods[i], CSIMD) != 0 && strcmp(methods[i], BEST) != 0)
			json_array_append_new(others, json_string(methods[i]));
	json_object_set_new(properties, "kind", json_object());
	json_object_set_new(properties, "method",
	                    method ? json_pack("{s:s}", "const", method)
	                           : json_pack("{s:O}", "enum", others));
	if (method)
		json_array_append_new(json_object_get(request, "required"), json_string("method"));
	json_decref(others);
	return request;
}

/* One of four requests, told apart by the method; pipedream's other one by its levels. */
static json_t *schema(void)
{
	return json_pack("{s:s,s:{},s:[],s:[o,o,o,o]}", "type", "object", "properties", "required", "anyOf",
	                 schema_for(pipeline_schema(false), NULL), schema_for(pipeline_schema(true), BEST),
	                 schema_for(csimd_schema(), CSIMD), pipeline_levels_schema());
}

static json_t *limits(void)
{
	return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i}", "layers", PIPELINE_LAYERS_MAX, "types",
	                 PIPELINE_TYPES_MAX, "stages", PIPELINE_DEVICES_MAX, "interleave",
	                 SCHEDULE_CHUNKS_MAX, "layers_times_stages", PIPELINE_CELLS_MAX, "operations",
	                 SCHEDULE_OPERATIONS_MAX);
}

static bool is_csimd(const json_t *plan)
{
	const char *name = json_string_value(json_object_get(plan, "method"));

	return name && strcmp(name, CSIMD) == 0;
}

static int export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                  struct sb_error *err)
{
	return (is_csimd(plan) ? csimd_export : pipeline_export)(plan, format, out_text, out_type, err);
}

static int draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	return (is_csimd(plan) ? csimd_draw : pipeline_draw)(plan, view, out, err);
}

const struct plan_kind pipeline_kind = {.name = "pipeline",
                                        .methods = methods,
                                        .search = search,
                                        .schema = schema,
                                        .limits = limits,
                                        .export = export,
                                        .schedule = draw};
