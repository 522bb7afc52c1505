#include "api/plans/scaling.h"

#include "api/plans/counts.h"
#include "api/plans/kinds.h"
#include "api/plans/schema.h"

static const char *const methods[] = {"lemmas", NULL};
static const char *const given_needs[] = {"compute_seconds", NULL};
static const char *const searched_needs[] = {"model", "cluster", "batch", NULL};

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	for (int i = 0; searched_needs[i]; i++)
		if (parse_given(request, searched_needs[i]))
			return scaling_searched(request, watch, out, out_extra, err);
	return scaling_given(request, out, err);
}

/* An alternative of the request: who has these members is meant to have none of the other form. */
static json_t *form(const char *const *needs, const char *const *others)
{
	json_t *required = json_array(), *without = json_array();

	for (; *needs; needs++)
		json_array_append_new(required, json_string(*needs));
	for (; *others; others++)
		json_array_append_new(without, json_pack("{s:[s]}", "required", *others));
	return json_pack("{s:o,s:{s:o}}", "required", required, "not", "anyOf", without);
}

/* The kind `strategy` says what a model, a cluster and the rest may be. */
static void add_searched(json_t *properties)
{
	static const char *const members[] = {"model",       "cluster",     "batch",
	                                      "calibration", "constraints", NULL};
	JSON_AUTO all = strategy_kind.schema();

	for (int i = 0; members[i]; i++)
		json_object_set(properties, members[i],
		                json_object_get(json_object_get(all, "properties"), members[i]));
}

static json_t *schema(void)
{
	static const char *const given[] = {"compute_seconds", "overhead_seconds", "gradients",
	                                    "parameter_servers", NULL};
	static const char *const searched[] = {"model",       "cluster",     "batch",
	                                       "calibration", "constraints", NULL};
	json_t *p = scaling_given_schema(), *request;

	add_searched(p);
	json_object_set_new(p, "devices",
	                    counts_schema(SCALING_DEVICES_MAX,
	                                  "how many to weigh; default: doublings, to 1024 or all of the "
	                                  "cluster. Of a cluster: parts of one node, or whole nodes"));
	json_object_set_new(p, "efficiency",
	                    schema_number(0.01, 1,
	                                  "that the devices must keep; default 0.5, below which no knee of "
	                                  "efficiency over time lies (Eager, Zahorjan, Lazowska 1989)"));
	request = schema_object(p, NULL);
	json_object_set_new(request, "anyOf",
	                    json_pack("[o,o]", form(given_needs, searched), form(searched_needs, given)));
	/* what gradients cost may be all the overhead there is */
	json_object_set_new(request, "if", json_pack("{s:[s]}", "required", "compute_seconds"));
	json_object_set_new(request, "then",
	                    json_pack("{s:[{s:[s]},{s:[s]}]}", "anyOf", "required", "overhead_seconds",
	                              "required", "gradients"));
	return request;
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:I,s:i,s:I}", "counts", SCALING_COUNTS_MAX, "devices",
	                 (json_int_t)SCALING_DEVICES_MAX, "gradients", SCALING_GRADIENTS_MAX, "search_effort",
	                 (json_int_t)POINTS_EFFORT);
}

const struct plan_kind scaling_kind = {
    .name = "scaling", .methods = methods, .search = search, .schema = schema, .limits = limits_of};
