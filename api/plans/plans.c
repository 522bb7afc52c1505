#include "api/plans/plans.h"

#include <string.h>

#include "api/json.h"
#include "api/plans/canonical.h"
#include "api/plans/kinds.h"
#include "api/plans/problem.h"
#include "api/plans/schema.h"
#include "base/version.h"

static const struct plan_kind *const kinds[] = {
    &strategy_kind,         &estimate_kind,     &schedule_kind,        &gradient_fusion_kind,
    &pipeline_kind,         &resharding_kind,   &weight_pipeline_kind, &embedding_placement_kind,
    &swap_or_pipeline_kind, &layer_memory_kind, &scaling_kind,         &intra_operator_kind,
    &batch_schedule_kind};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define CANONICAL_MAX ((size_t)16 << 20)

/* The kind that a request or a stored plan names; NULL with the reason in *out_rc. */
static const struct plan_kind *find_kind(const json_t *document, int *out_rc, struct sb_error *err)
{
	struct place root = place_of("");
	const char *name = "";

	if (!json_is_object(document))
		*out_rc =
		    parse_fail(err, SB_EINVAL, "wrong_type", &root, NULL, "the request must be an object");
	else
		*out_rc = parse_text(document, &root, "kind", REQUIRED, &name, err);
	if (*out_rc != SB_OK)
		return NULL;
	for (size_t i = 0; i < KINDS; i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	}
	*out_rc = parse_fail(err, SB_EINVAL, "unknown_kind", &root, "kind",
	                     "is no kind of plan (GET /v1/plan-kinds lists them)");
	return NULL;
}

static int check_method(const struct plan_kind *kind, const json_t *request, const char **out,
                        struct sb_error *err)
{
	struct place root = place_of("");
	const char *name = kind->methods[0];
	int rc = parse_text(request, &root, "method", OPTIONAL, &name, err);

	if (rc != SB_OK)
		return rc;
	for (int i = 0; kind->methods[i]; i++) {
		if (strcmp(kind->methods[i], name) == 0) {
			*out = kind->methods[i];
			return SB_OK;
		}
	}
	return parse_unknown(err, SB_EINVAL, "unknown_method", &root, "method", kind->methods);
}

/* The problem as it was understood: names resolved, without what only selects the solver. */
static int add_frame(json_t *answer, const struct plan_kind *kind, const char *method, json_t *request)
{
	if (json_object_del(request, "kind") != 0)
		return SB_ENOMEM;
	json_object_del(request, "method");
	if (json_object_set_new(answer, "kind", json_string(kind->name)) != 0 ||
	    json_object_set_new(answer, "method", json_string(method)) != 0 ||
	    json_object_set(answer, "problem", request) != 0)
		return SB_ENOMEM;
	return SB_OK;
}

static int solve(const struct plan_kind *kind, const json_t *request, const struct sb_watch *watch,
                 json_t **out, json_t **out_extra, struct sb_error *err)
{
	int rc = kind->search ? kind->search(request, watch, out, out_extra, err)
	                      : kind->solve(request, out, out_extra, err);

	if (!sb_stopped(watch))
		return rc;
	/* what was found up to then may be anything */
	json_release(out);
	json_release(out_extra);
	return sb_fail(err, SB_ECANCELED, "canceled", "The search was canceled.");
}

int plan_solve(const struct plan_lookup *lookup, const json_t *request, json_t **out, json_t **out_extra,
               struct sb_error *err)
{
	const char *method = NULL;
	JSON_AUTO resolved = NULL;
	JSON_AUTO answer = NULL;
	json_t *extra = NULL;
	int rc = SB_OK;
	const struct plan_kind *kind = find_kind(request, &rc, err);

	if (!kind)
		return rc;
	rc = check_method(kind, request, &method, err);
	if (rc == SB_OK)
		rc = problem_resolve(lookup, request, &resolved, err);
	if (rc != SB_OK)
		return rc;
	rc = solve(kind, resolved, lookup ? lookup->watch : NULL, &answer, &extra, err);
	if (out_extra)
		*out_extra = extra;
	else
		json_decref(extra);
	if (rc != SB_OK)
		return rc;
	warn_network_assumed(resolved, answer);
	if (add_frame(answer, kind, method, resolved) != SB_OK)
		return sb_no_memory(err);
	*out = json_incref(answer);
	return SB_OK;
}

int plan_canonical(const struct plan_lookup *lookup, const json_t *request, json_t **out_resolved,
                   char **out_text, struct sb_error *err)
{
	SB_BUF_AUTO text;
	JSON_AUTO resolved = NULL;
	const char *method;
	int rc = SB_OK;
	const struct plan_kind *kind = find_kind(request, &rc, err);

	sb_buf_init(&text, CANONICAL_MAX);
	if (kind)
		rc = check_method(kind, request, &method, err);
	if (rc == SB_OK)
		rc = problem_resolve(lookup, request, &resolved, err);
	if (rc != SB_OK)
		return rc;
	rc = sb_buf_addf(&text, "signalbox %s\n", SB_VERSION);
	if (rc == SB_OK)
		rc = canonical_write(resolved, &text);
	if (rc == SB_EINVAL)
		return sb_fail(err, rc, "too_deep", "the request is nested too deeply");
	if (rc != SB_OK)
		return sb_fail(err, rc, "too_large", "the request is too large");
	if (out_resolved)
		*out_resolved = json_incref(resolved);
	*out_text = sb_buf_take(&text);
	return SB_OK;
}

json_t *plan_kinds(void)
{
	json_t *items = json_array();

	for (size_t i = 0; i < KINDS; i++) {
		json_t *row = json_object(), *methods = json_array();

		for (int k = 0; kinds[i]->methods[k]; k++)
			json_array_append_new(methods, json_string(kinds[i]->methods[k]));
		json_object_set_new(row, "kind", json_string(kinds[i]->name));
		json_object_set_new(row, "methods", methods);
		json_object_set_new(row, "limits", kinds[i]->limits());
		json_object_set_new(row, "schema",
		                    schema_request(kinds[i]->schema(), kinds[i]->name, kinds[i]->methods));
		json_array_append_new(items, row);
	}
	return json_pack("{s:o}", "items", items);
}

int plan_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                struct sb_error *err)
{
	int rc = SB_OK;
	const struct plan_kind *kind = find_kind(plan, &rc, err);

	if (!kind)
		return rc;
	if (!kind->export)
		return sb_fail(err, SB_ENOENT, "unknown_format", "this kind of plan has no export");
	return kind->export(plan, format, out_text, out_type, err);
}

int plan_schedule(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	int rc = SB_OK;
	const struct plan_kind *kind = find_kind(plan, &rc, err);

	if (!kind)
		return rc;
	if (!kind->schedule)
		return sb_fail(err, SB_ENOENT, "no_schedule", "a plan of the kind %s has no schedule",
		               kind->name);
	return kind->schedule(plan, view, out, err);
}
