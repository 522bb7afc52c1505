#include "api/plans/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/named.h"
#include "api/plans/intra_operator_cfp.h"

/* The document behind a name: a preset, or what the user stored. New reference. */
static int document_of(const struct plan_lookup *lookup, const char *family, const char *member,
                       const char *name, json_t **out, struct sb_error *err)
{
	struct place root = place_of("");
	char *text = NULL;
	json_t *found = preset_document(family, name);
	int rc = SB_ENOENT;

	if (!found && lookup && lookup->named)
		rc = lookup->named(lookup->self, family, name, &text);
	if (!found && rc == SB_OK)
		found = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (!found && (rc == SB_OK || rc == SB_ENOENT)) {
		char why[120];

		snprintf(why, sizeof(why), "%s: GET /v1/%s lists them",
		         strcmp(family, "profiles") == 0 ? "is no stored profile that is ready"
		                                         : "is neither a preset nor a stored name",
		         family);
		return parse_fail(err, SB_EINVAL, "unknown_name", &root, member, why);
	}
	if (!found)
		return sb_fail(err, rc, "storage", "the stored document cannot be read");
	json_object_del(found, "preset"); /* the name says it; a changed copy is no preset any more */
	*out = found;
	return SB_OK;
}

/* {preset:"dgx-h100", nodes:16}: the preset with the other members laid over it; what is null is left out. */
static int overlay(const struct plan_lookup *lookup, const char *family, json_t *value, json_t **out,
                   struct sb_error *err)
{
	const json_t *preset = json_object_get(value, "preset");
	JSON_AUTO base = NULL;
	const char *member;
	json_t *given;
	int rc;

	if (!json_is_string(preset)) {
		*out = json_incref(value);
		return SB_OK;
	}
	rc = document_of(lookup, family, "cluster/preset", json_string_value(preset), &base, err);
	if (rc != SB_OK)
		return rc;
	json_object_foreach(value, member, given)
	{
		if (strcmp(member, "preset") != 0 && !json_is_null(given) &&
		    json_object_set(base, member, given) != 0)
			return sb_no_memory(err);
	}
	*out = json_incref(base);
	return SB_OK;
}

static int resolve_member(const struct plan_lookup *lookup, json_t *request, const char *member,
                          const char *family, struct sb_error *err)
{
	json_t *value = json_object_get(request, member), *resolved = NULL;
	int rc;

	if (!value)
		return SB_OK;
	if (json_is_string(value))
		rc = document_of(lookup, family, member, json_string_value(value), &resolved, err);
	else if (json_is_object(value))
		rc = overlay(lookup, family, value, &resolved, err);
	else
		return SB_OK;
	if (rc == SB_OK && json_object_set_new(request, member, resolved) != 0)
		rc = sb_no_memory(err);
	return rc;
}

/* A calibration given by its name: the constants of it. */
static int resolve_calibration(const struct plan_lookup *lookup, json_t *request, struct sb_error *err)
{
	const char *name = json_string_value(json_object_get(request, "calibration"));
	JSON_AUTO found = NULL;
	int rc;

	if (!name)
		return SB_OK;
	rc = document_of(lookup, "calibrations", "calibration", name, &found, err);
	if (rc == SB_OK && json_object_set(request, "calibration", json_object_get(found, "constants")) != 0)
		rc = sb_no_memory(err);
	return rc;
}

/* A pipeline of the layers of a stored profile: what the request gives itself stays. */
static int resolve_profile(const struct plan_lookup *lookup, json_t *request, struct sb_error *err)
{
	static const char *const members[] = {"layers", "head", "tail"};
	const char *kind = json_string_value(json_object_get(request, "kind"));
	const char *id = json_string_value(json_object_get(request, "profile"));
	struct place root = place_of("");
	JSON_AUTO found = NULL;
	int rc;

	if (!kind || strcmp(kind, "pipeline") != 0 || !id)
		return SB_OK;
	rc = document_of(lookup, "profiles", "profile", id, &found, err);
	if (rc != SB_OK)
		return rc;
	if (json_array_size(json_object_get(found, "layers")) == 0)
		return parse_fail(err, SB_EIMPOSSIBLE, "no_layers", &root, "profile",
		                  "is of a profile in which no layers were found");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (!parse_given(request, members[i]) &&
		    json_object_set(request, members[i], json_object_get(found, members[i])) != 0)
			return sb_no_memory(err);
	json_object_del(request, "profile");
	return SB_OK;
}

/* Several profiles of one model, each by its layers. More than the kind takes are left for it to refuse: a
 * name is short, and the layers that would be copied for it are not. */
static int resolve_profiles(const struct plan_lookup *lookup, json_t *request, struct sb_error *err)
{
	static const char *const members[] = {"layers", "head", "tail"};
	const char *kind = json_string_value(json_object_get(request, "kind"));
	json_t *list = json_object_get(request, "profiles");

	if (!kind || strcmp(kind, "intra-operator") != 0 || json_array_size(list) > CFP_OPTIONS_MAX)
		return SB_OK;
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);
		const char *id = json_string_value(json_object_get(item, "profile"));
		JSON_AUTO found = NULL;
		int rc = id ? document_of(lookup, "profiles", "profiles", id, &found, err) : SB_OK;

		if (rc != SB_OK)
			return rc;
		for (size_t k = 0; id && k < sizeof(members) / sizeof(members[0]); k++)
			if (json_object_set_new(item, members[k],
			                        json_deep_copy(json_object_get(found, members[k]))) != 0)
				return sb_no_memory(err);
		json_object_del(item, "profile");
	}
	return SB_OK;
}

int problem_resolve(const struct plan_lookup *lookup, const json_t *request, json_t **out,
                    struct sb_error *err)
{
	JSON_AUTO copy = json_deep_copy(request);
	int rc;

	if (!copy)
		return sb_no_memory(err);
	rc = resolve_member(lookup, copy, "model", "models", err);
	if (rc == SB_OK)
		rc = resolve_member(lookup, copy, "cluster", "clusters", err);
	if (rc == SB_OK)
		rc = resolve_calibration(lookup, copy, err);
	if (rc == SB_OK)
		rc = resolve_profile(lookup, copy, err);
	if (rc == SB_OK)
		rc = resolve_profiles(lookup, copy, err);
	if (rc == SB_OK)
		*out = json_incref(copy);
	return rc;
}

const char *const calibration_members[] = {"gemm_share",       "gemm_half_flop",   "launch_seconds",
                                           "memory_share",     "element_passes",   "score_share",
                                           "score_bytes",      "flash_share",      "node_share",
                                           "supernode_share",  "network_share",    "node_latency",
                                           "network_latency",  "adapter_conflict", "collective_seconds",
                                           "overlap_slowdown", "straggler",        "step_seconds",
                                           "fragmentation",    "context_bytes",    NULL};

int calibration_from_json(const json_t *value, const struct place *at, struct constants *io,
                          struct sb_error *err)
{
	struct constants k = *io;
	double *const slots[] = {
	    &k.gemm_share,      &k.gemm_half_flop,   &k.launch_seconds,     &k.memory_share,
	    &k.element_passes,  &k.score_share,      &k.score_bytes,        &k.flash_share,
	    &k.node_share,      &k.supernode_share,  &k.network_share,      &k.node_latency,
	    &k.network_latency, &k.adapter_conflict, &k.collective_seconds, &k.overlap_slowdown,
	    &k.straggler,       &k.step_seconds,     &k.fragmentation,      &k.context_bytes};
	struct sb_error why = {0};
	int rc = parse_members(value, at, calibration_members, err);

	for (size_t i = 0; rc == SB_OK && calibration_members[i]; i++)
		rc = parse_number(value, at, calibration_members[i], OPTIONAL, -1e300, 1e300, slots[i], err);
	if (rc != SB_OK)
		return rc;
	rc = constants_check(&k, &why);
	if (rc != SB_OK)
		return parse_fail(err, rc, why.word, at, why.field, why.text);
	k.model_error = NAN; /* the user's own constants: nobody has measured how good they are */
	*io = k;
	return SB_OK;
}
