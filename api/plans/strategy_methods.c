#include "api/plans/strategy_methods.h"

#include <string.h>

#include "api/plans/schema.h"

#define METHOD_ROW(name, solve, schema) {name, solve, schema},
#define METHOD_NAME(name, solve, schema) name,

static const struct strategy_method methods[] = {STRATEGY_METHODS(METHOD_ROW)};
const char *const strategy_method_names[] = {STRATEGY_METHODS(METHOD_NAME) NULL};

#define METHODS (sizeof(methods) / sizeof(methods[0]))

const struct strategy_method *strategy_method_of(const char *name)
{
	for (size_t i = 0; name && i < METHODS; i++) {
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	}
	return &methods[0];
}

/* A member of some methods' own asks for one of them beside it. */
static void add_own(json_t *properties, json_t *depend, const char *method, json_t *own)
{
	const char *member;
	json_t *value;

	json_object_foreach(own, member, value)
	{
		json_t *rule = json_object_get(depend, member);

		if (!rule) {
			rule = json_pack("{s:{s:{s:[]}},s:[s]}", "properties", "method", "enum", "required",
			                 "method");
			json_object_set_new(depend, member, rule);
			json_object_set(properties, member, value);
		}
		json_array_append_new(
		    json_object_get(json_object_get(json_object_get(rule, "properties"), "method"), "enum"),
		    json_string(method));
	}
	json_decref(own);
}

json_t *strategy_methods_schema(json_t *request)
{
	json_t *depend = json_object();

	for (size_t i = 0; i < METHODS; i++) {
		if (methods[i].schema)
			add_own(json_object_get(request, "properties"), depend, methods[i].name,
			        methods[i].schema());
	}
	if (json_object_size(depend) > 0)
		json_object_set(request, "dependentSchemas", depend);
	json_decref(depend);
	return request;
}

void strategy_proved(json_t *answer, const char *objective, const char *proved)
{
	json_t *quality = json_object_get(answer, "quality");

	json_object_set_new(quality, "objective", json_string(objective));
	json_object_set_new(quality, "proved", json_string(proved));
}
