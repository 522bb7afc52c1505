#include "api/plans/batch_schedule.h"

#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"

static const struct {
	const char *name;
	int (*search)(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
	              struct sb_error *err);
	json_t *(*schema)(void);
	const char *const *needs;  /* members of every request, NULL-terminated */
	const char *const *either; /* one of these too */
} rows[] = {
    {"copus", batch_copus, batch_copus_schema, (const char *const[]){NULL},
     (const char *const[]){"table", "batches", NULL}},
    {"variable-batch", batch_variable, batch_variable_schema,
     (const char *const[]){"samples", "devices", "samples_per_second", NULL},
     (const char *const[]){"stages", "epochs", NULL}},
    {"joint", batch_joint, batch_joint_schema, (const char *const[]){NULL},
     (const char *const[]){"fixed_seconds", "plans", "batches", NULL}},
};
#define METHODS (sizeof(rows) / sizeof(rows[0]))
static const char *const methods[] = {"copus", "variable-batch", "joint", NULL};

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	const char *name = json_string_value(json_object_get(request, "method"));

	for (size_t i = 1; name && i < METHODS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].search(request, watch, out, out_extra, err);
	return rows[0].search(request, watch, out, out_extra, err);
}

/* Each member may stand beside the methods that know it; the default method is also meant when none is named.
 */
static json_t *method_rule(const char *member, json_t *const *own)
{
	json_t *names = json_array(), *rule;

	for (size_t i = 0; i < METHODS; i++)
		if (json_object_get(own[i], member))
			json_array_append_new(names, json_string(rows[i].name));
	rule = json_pack("{s:{s:{s:o}}}", "properties", "method", "enum", names);
	if (!json_object_get(own[0], member))
		json_object_set_new(rule, "required", json_pack("[s]", "method"));
	return rule;
}

/* What a request for one method must have. */
static json_t *method_needs(size_t row)
{
	json_t *needs = json_array(), *either = json_array(), *is;

	for (const char *const *m = rows[row].needs; *m; m++)
		json_array_append_new(needs, json_string(*m));
	for (const char *const *m = rows[row].either; *m; m++)
		json_array_append_new(either, json_pack("{s:[s]}", "required", *m));
	is = json_pack("{s:{s:{s:s}}}", "properties", "method", "const", rows[row].name);
	if (row > 0)
		json_object_set_new(is, "required", json_pack("[s]", "method"));
	return json_pack("{s:o,s:{s:o,s:o}}", "if", is, "then", "required", needs, "anyOf", either);
}

static json_t *schema(void)
{
	json_t *conditions = json_array();

	json_t *own[METHODS], *all = json_object(), *depend = json_object(), *request, *value;
	const char *member;

	for (size_t i = 0; i < METHODS; i++) {
		own[i] = rows[i].schema();
		json_object_update_missing(all, own[i]);
	}
	json_object_foreach(all, member, value)
	{
		json_object_set_new(depend, member, method_rule(member, own));
	}
	for (size_t i = 0; i < METHODS; i++) {
		json_array_append_new(conditions, method_needs(i));
		json_decref(own[i]);
	}
	request = schema_object(all, NULL);
	json_object_set_new(request, "allOf", conditions);
	json_object_set_new(request, "dependentSchemas", depend);
	return request;
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:i,s:I}", "table", TABLE_ROWS_MAX, "noise_scale", NOISE_POINTS_MAX,
	                 "batches", SCALING_COUNTS_MAX, "search_effort", (json_int_t)POINTS_EFFORT);
}

const struct plan_kind batch_schedule_kind = {
    .name = "batch-schedule", .methods = methods, .search = search, .schema = schema, .limits = limits_of};
