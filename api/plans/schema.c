#include "api/plans/schema.h"

static json_t *described(json_t *schema, const char *description)
{
	if (description)
		json_object_set_new(schema, "description", json_string(description));
	return schema;
}

json_t *schema_integer(int64_t low, int64_t high)
{
	json_t *o = json_pack("{s:s,s:I}", "type", "integer", "minimum", (json_int_t)low);

	if (high < INT64_MAX)
		json_object_set_new(o, "maximum", json_integer(high));
	return o;
}

json_t *schema_number(double low, double high, const char *description)
{
	return described(json_pack("{s:s,s:f,s:f}", "type", "number", "minimum", low, "maximum", high),
	                 description);
}

json_t *schema_boolean(const char *description)
{
	return described(json_pack("{s:s}", "type", "boolean"), description);
}

json_t *schema_words(const char *const *words)
{
	json_t *values = json_array();

	for (; *words; words++)
		json_array_append_new(values, json_string(*words));
	return json_pack("{s:o}", "enum", values);
}

json_t *schema_list(int64_t most, json_t *items, const char *description)
{
	return described(json_pack("{s:s,s:i,s:I,s:o}", "type", "array", "minItems", 1, "maxItems",
	                           (json_int_t)most, "items", items),
	                 description);
}

json_t *schema_either(json_t *one, json_t *other)
{
	return json_pack("{s:[o,o]}", "anyOf", one, other);
}

json_t *schema_object(json_t *properties, const char *const *required)
{
	json_t *names = json_array();

	for (; required && *required; required++)
		json_array_append_new(names, json_string(*required));
	return json_pack("{s:s,s:b,s:o,s:o}", "type", "object", "additionalProperties", 0, "properties",
	                 properties, "required", names);
}

json_t *schema_request(json_t *object, const char *kind, const char *const *methods)
{
	json_t *properties = json_object_get(object, "properties");

	json_object_set_new(object, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
	if (!json_object_get(object, "description"))
		json_object_set_new(object, "description",
		                    json_string("a member that is null counts as left out where it may be"));
	json_object_set_new(properties, "kind", json_pack("{s:s}", "const", kind));
	json_object_set_new(properties, "method", schema_words(methods));
	json_array_insert_new(json_object_get(object, "required"), 0, json_string("kind"));
	return object;
}
