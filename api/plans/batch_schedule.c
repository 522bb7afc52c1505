#include "api/plans/batch_schedule.h"

#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"

/* A way to put the request for a method: what it needs, and what else only it may have. */
struct form {
	const char *needs[4], *may[6]; /* NULL behind the last */
	bool noise;                    /* and one of noise_scale and gradient_norms */
};
#define SEARCHED                                                                                             \
	{                                                                                                    \
		{"model", "cluster", "batches"}, {"constraints", "calibration"}, true                        \
	}

static const struct {
	const char *name;
	int (*search)(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
	              struct sb_error *err);
	json_t *(*schema)(void);
	const char *needs[4]; /* of every request, NULL behind the last */
	struct form forms[3]; /* one of them; those without needs are none */
} rows[] = {
    {"copus", batch_copus, batch_copus_schema, {NULL}, {{{"table"}, {NULL}, true}, SEARCHED}},
    {"variable-batch",
     batch_variable,
     batch_variable_schema,
     {"samples", "devices", "samples_per_second"},
     {{{"stages"}, {NULL}, false},
      {{"batch", "epochs"}, {"max_batch", "learning_rate", "linear_batch", "smoothing"}, true}}},
    {"joint",
     batch_joint,
     batch_joint_schema,
     {NULL},
     {{{"fixed_seconds", "seconds_per_sample"}, {"multiple"}, true}, {{"plans"}, {NULL}, true}, SEARCHED}},
};
#define FORMS (sizeof(rows[0].forms) / sizeof(rows[0].forms[0]))
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

static bool is_of(const struct form *f, const char *member)
{
	for (size_t i = 0; i < 4 && f->needs[i]; i++)
		if (strcmp(f->needs[i], member) == 0)
			return true;
	for (size_t i = 0; i < 6 && f->may[i]; i++)
		if (strcmp(f->may[i], member) == 0)
			return true;
	return false;
}

static void add_foreign(json_t *list, const struct form *own, const char *const *members, size_t most)
{
	for (size_t i = 0; i < most && members[i]; i++)
		if (!is_of(own, members[i]))
			json_array_append_new(list, json_pack("{s:[s]}", "required", members[i]));
}

static json_t *form_schema(size_t row, size_t form)
{
	const struct form *forms = rows[row].forms, *own = &forms[form];
	json_t *needs = json_array(), *foreign = json_array(), *o;

	for (size_t i = 0; i < 4 && own->needs[i]; i++)
		json_array_append_new(needs, json_string(own->needs[i]));
	for (size_t i = 0; i < FORMS; i++) {
		add_foreign(foreign, own, forms[i].needs, 4);
		add_foreign(foreign, own, forms[i].may, 6);
	}
	o = json_pack("{s:o,s:{s:o}}", "required", needs, "not", "anyOf", foreign);
	if (own->noise)
		json_object_set_new(
		    o, "anyOf",
		    json_pack("[{s:[s]},{s:[s]}]", "required", "noise_scale", "required", "gradient_norms"));
	return o;
}

/* What a request for one method must have. */
static json_t *method_needs(size_t row)
{
	json_t *needs = json_array(), *either = json_array(), *is;

	for (size_t i = 0; i < 4 && rows[row].needs[i]; i++)
		json_array_append_new(needs, json_string(rows[row].needs[i]));
	for (size_t i = 0; i < FORMS && rows[row].forms[i].needs[0]; i++)
		json_array_append_new(either, form_schema(row, i));
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
