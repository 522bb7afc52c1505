#include <stdio.h>
#include <stdlib.h>

#include "api/calibration.h"
#include "api/internal.h"
#include "api/plans/parse.h"
#include "api/plans/plans.h"

/* POST /v1/calibrations. Their list and each of them: named.c. */

static int load_documents(struct call *c, const json_t *profiles, json_t **documents, struct sb_error *err)
{
	struct place list = place_of("/profiles");
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < json_array_size(profiles); i++) {
		const char *id = json_string_value(json_array_get(profiles, i));
		struct place here = place_index(&list, i);
		char *text = NULL;
		size_t len;

		if (!id)
			return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL,
			                  "must be a profile's id");
		rc = store_document_get(c->s->config.store, id, "efficiency", &text, &len, err);
		if (rc == SB_ENOENT)
			return results_lacking(c, id, &here, err);
		documents[i] = rc == SB_OK ? json_loads(text, 0, NULL) : NULL;
		if (rc == SB_OK && !documents[i])
			rc = sb_fail(err, SB_EFORMAT, "damaged", "the stored document is damaged");
		free(text);
	}
	return rc;
}

static int measure(struct call *c, const struct calibration_request *w, json_t **out, struct sb_error *err)
{
	json_t *documents[CALIBRATION_PROFILES_MAX] = {0};
	size_t count = json_array_size(w->profiles);
	int rc = load_documents(c, w->profiles, documents, err);

	if (rc == SB_OK)
		rc = calibration_measure(w->resolved, documents, count, out, err);
	for (size_t i = 0; i < count; i++)
		json_decref(documents[i]);
	if (rc == SB_OK && (json_object_set(*out, "profiles", json_readable(w->profiles)) != 0 ||
	                    json_object_set(*out, "cluster", json_readable(w->cluster)) != 0))
		rc = sb_no_memory(err);
	return rc;
}

void calibrations_create(struct call *c)
{
	const struct plan_lookup lookup = plans_lookup(c->s);
	JSON_AUTO request = body_object(c);
	JSON_AUTO made = NULL;
	struct calibration_request w = {0};
	struct sb_error err = {0};
	bool created = false;
	char *text = NULL, path[100];
	int rc;

	if (!request)
		return;
	rc = calibration_read(&lookup, request, &w, &err);
	if (rc == SB_OK && !name_is_valid(w.name))
		rc = sb_fail_field(&err, SB_EIMPOSSIBLE, "bad_name", "/name",
		                   "must be 1 to 64 letters, digits, '.', '_' or '-'");
	if (rc == SB_OK)
		rc = measure(c, &w, &made, &err);
	text = rc == SB_OK ? json_write(made, NULL) : NULL;
	if (rc == SB_OK && !text)
		rc = sb_no_memory(&err);
	if (rc == SB_OK)
		rc = store_named_put(c->s->config.store, "calibrations", w.name, text, &created, &err);
	json_decref(w.resolved);
	if (rc == SB_OK)
		reply_json(c, created ? 201 : 200, named_document(w.name, text));
	else if (c->res->status == 0)
		api_problem_from(c->res, &err);
	free(text);
	if (rc != SB_OK)
		return;
	snprintf(path, sizeof(path), "/v1/calibrations/%s", w.name);
	api_res_header(c->res, "Location", path);
}
