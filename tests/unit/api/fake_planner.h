#ifndef SB_TESTS_UNIT_API_FAKE_PLANNER_H
#define SB_TESTS_UNIT_API_FAKE_PLANNER_H
/* A planner that answers at once, so that the calls around it can be tested alone. Weak: the real one is not
 * taken from the archive then, and would win if it were. */
#include "api/named.h"
#include "api/plans/plans.h"
#include "tests/unit/api/helper.h"

#define FAKE __attribute__((weak))

FAKE int plan_solve(const struct plan_lookup *lookup, const json_t *request, json_t **out, json_t **out_extra,
                    struct sb_error *err)
{
	const char *method = json_string_value(json_object_get(request, "method"));

	(void)lookup;
	if (method && strcmp(method, "never") == 0) {
		*out_extra = json_pack("{s:i,s:{s:i}}", "least_memory_bytes", 99, "nearest", "nodes", 2);
		return sb_fail(err, SB_EINFEASIBLE, "infeasible", "Nothing fits.");
	}
	if (json_object_get(request, "colour"))
		return sb_fail_field(err, SB_EINVAL, "unknown_member", "/colour", "There is no such member.");
	*out = json_pack("{s:s,s:s,s:o,s:{s:i}}", "kind", "strategy", "method", "exact", "problem",
	                 json_deep_copy(request), "solution", "dp", 4);
	*out_extra = NULL;
	return SB_OK;
}

FAKE int plan_canonical(const struct plan_lookup *lookup, const json_t *request, json_t **out_resolved,
                        char **out_text, struct sb_error *err)
{
	const char *model = json_string_value(json_object_get(request, "model"));
	char *stored = NULL;

	if (model && lookup->named(lookup->self, "models", model, &stored) != SB_OK)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "unknown_name", "/model", "No such model.");
	free(stored);
	*out_resolved = json_deep_copy(request);
	*out_text = json_dumps(request, JSON_SORT_KEYS | JSON_COMPACT);
	return SB_OK;
}

FAKE json_t *plan_kinds(void)
{
	return json_pack("{s:[]}", "items");
}

FAKE int plan_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                     struct sb_error *err)
{
	if (strcmp(format, "megatron") != 0)
		return sb_fail(err, SB_ENOENT, "no_format", "No such format.");
	assert_string_equal(text_at(plan, "kind"), "strategy");
	*out_text = strdup("--dp 4\n");
	*out_type = "text/plain; charset=utf-8";
	return SB_OK;
}

FAKE int plan_schedule(const json_t *plan, const struct plan_view *view, struct sb_buf *out,
                       struct sb_error *err)
{
	if (view->first_device > 7)
		return sb_fail_field(err, SB_EINVAL, "bad_view", "devices", "No such devices.");
	if (!isnan(view->to))
		return sb_fail(err, SB_ENOENT, "no_schedule", "No schedule.");
	assert_string_equal(text_at(plan, "kind"), "strategy");
	return sb_buf_adds(out, "{\"devices\":[]}");
}

FAKE const char *preset_name(const char *family, size_t i)
{
	static const char *const models[] = {"big", "small"};

	if (strcmp(family, "models") == 0)
		return i < 2 ? models[i] : NULL;
	return i == 0 ? "one" : NULL;
}

FAKE json_t *preset_document(const char *family, const char *name)
{
	const char *preset;

	for (size_t i = 0; (preset = preset_name(family, i)); i++) {
		if (strcmp(preset, name) == 0)
			return json_pack("{s:s,s:b,s:s}", "name", name, "preset", 1, "source", "test");
	}
	return NULL;
}

FAKE int named_check(const char *family, const json_t *document, struct sb_error *err)
{
	(void)family;
	if (!json_is_integer(json_object_get(document, "layers")))
		return sb_fail_field(err, SB_EINVAL, "missing_member", "/layers", "A number is needed here.");
	return SB_OK;
}
#endif
