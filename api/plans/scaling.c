#include "api/plans/scaling.h"

#include "api/plans/kinds.h"
#include "api/plans/schema.h"

static const char *const methods[] = {"lemmas", NULL};

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	(void)out_extra;
	return scaling_given(request, out, err);
}

static json_t *schema(void)
{
	static const char *const needs[] = {"compute_seconds", NULL};
	json_t *p = scaling_given_schema();

	json_object_set_new(
	    p, "devices",
	    schema_either(schema_integer(1, SCALING_DEVICES_MAX),
	                  schema_list(SCALING_COUNTS_MAX, schema_integer(1, SCALING_DEVICES_MAX),
	                              "how many to weigh; default: doublings")));
	json_object_set_new(p, "efficiency",
	                    schema_number(0.01, 1,
	                                  "that the devices must keep; default 0.5, below which no knee of "
	                                  "efficiency over time lies (Eager, Zahorjan, Lazowska 1989)"));
	return schema_object(p, needs);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:I,s:i}", "counts", SCALING_COUNTS_MAX, "devices",
	                 (json_int_t)SCALING_DEVICES_MAX, "gradients", SCALING_GRADIENTS_MAX);
}

const struct plan_kind scaling_kind = {
    .name = "scaling", .methods = methods, .solve = solve, .schema = schema, .limits = limits_of};
