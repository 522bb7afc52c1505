#include <math.h>
#include <stdlib.h>

#include "api/plans/batch_schedule.h"
#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "planner/batch/noise.h"

#define NORM_MAX 1e12

void noise_series_clear(struct noise_series *n)
{
	free(n->phi);
	*n = (struct noise_series){0};
}

/* The list of a member, 1 to most entries; *out NULL when it is missing. */
static int list_of(const json_t *request, const char *member, size_t most, const json_t **out,
                   struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *list = parse_given(request, member);
	size_t n = json_array_size(list);

	*out = NULL;
	if (!list)
		return SB_OK;
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, member, "must be a list");
	if (n < 1 || n > most)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, member,
		                  "must have 1 to 4096 entries");
	*out = list;
	return SB_OK;
}

static int read_pair(const json_t *v, const struct place *at, struct noise_norms *out, struct sb_error *err)
{
	static const char *const members[] = {"small_batch", "large_batch", "small_norm", "large_norm", NULL};
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_number(v, at, "small_batch", REQUIRED, 1, (double)BATCH_MAX, &out->small_batch,
		                  err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "large_batch", REQUIRED, 1, (double)BATCH_MAX, &out->large_batch,
		                  err);
	if (rc == SB_OK && !(out->large_batch > out->small_batch))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "large_batch",
		                  "must be larger than small_batch");
	if (rc == SB_OK)
		rc = parse_number(v, at, "small_norm", REQUIRED, 0, NORM_MAX, &out->small_norm, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "large_norm", REQUIRED, 0, NORM_MAX, &out->large_norm, err);
	return rc;
}

static int read_norms(const json_t *request, const json_t *list, struct noise_series *out,
                      struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/gradient_norms");
	double smoothing = SMOOTHING;
	size_t n = json_array_size(list);
	struct noise_norms *pairs = calloc(n, sizeof(*pairs));
	int rc = pairs ? SB_OK : sb_no_memory(err);

	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_pair(json_array_get(list, i), &p, &pairs[i], err);
	}
	if (rc == SB_OK)
		rc = parse_number(request, &root, "smoothing", OPTIONAL, 0, 0.999999, &smoothing, err);
	if (rc == SB_OK) {
		noise_scales(pairs, n, smoothing, out->phi);
		/* noise beyond any batch is no other than the largest that may be said */
		for (size_t i = 0; i < n; i++)
			out->phi[i] = isnan(out->phi[i]) ? NAN : fmin(out->phi[i], NOISE_MAX);
	}
	free(pairs);
	return rc;
}

int noise_from_json(const json_t *request, struct noise_series *out, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/noise_scale");
	const json_t *list = NULL, *norms = NULL, *one = parse_given(request, "noise_scale");
	bool single = one && !json_is_array(one);
	int rc = list_of(request, "gradient_norms", NOISE_POINTS_MAX, &norms, err);

	if (rc == SB_OK && !single)
		rc = list_of(request, "noise_scale", NOISE_POINTS_MAX, &list, err);
	if (rc != SB_OK)
		return rc;
	if (norms && (single || list))
		return parse_fail(err, SB_EIMPOSSIBLE, "twice", &root, "gradient_norms",
		                  "say the noise scale too: give one of the two");
	if (!norms && !single && !list)
		return parse_fail(err, SB_EINVAL, "missing_member", &root, "noise_scale",
		                  "or gradient_norms is missing");
	out->count = single ? 1 : json_array_size(norms ? norms : list);
	out->phi = calloc(out->count, sizeof(*out->phi));
	if (!out->phi)
		return sb_no_memory(err);
	if (norms)
		return read_norms(request, norms, out, err);
	if (single)
		return parse_number(request, &root, "noise_scale", REQUIRED, 0, NOISE_MAX, out->phi, err);
	return parse_numbers(list, &here, 0, NOISE_MAX, out->phi, err);
}

void noise_warn(json_t *warnings, const struct noise_series *n)
{
	for (size_t i = 0; i < n->count; i++) {
		if (isnan(n->phi[i])) {
			json_warn(warnings, "noise_unknown",
			          "at some points the two norms say nothing about the noise: nothing changes "
			          "there");
			return;
		}
	}
}

int series_from_json(const json_t *request, const char *member, enum need need, double low, double high,
                     double *out, size_t count, struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, member);
	const json_t *v = json_object_get(request, member);
	double all = NAN;
	int rc;

	if (json_is_array(v)) {
		if (json_array_size(v) != count)
			return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
			                  "must have one entry for each noise scale");
		return parse_numbers(v, &here, low, high, out, err);
	}
	rc = parse_number(request, &root, member, need, low, high, &all, err);
	for (size_t i = 0; rc == SB_OK && !isnan(all) && i < count; i++)
		out[i] = all;
	return rc;
}

json_t *series_schema(double low, double high, const char *description)
{
	return schema_either(schema_number(low, high, description),
	                     schema_list(NOISE_POINTS_MAX, schema_number(low, high, NULL), "one each"));
}

void noise_schema(json_t *properties)
{
	static const char *const needs[] = {"small_batch", "large_batch", "small_norm", "large_norm", NULL};
	json_t *pair = json_object();

	json_object_set_new(pair, "small_batch",
	                    schema_number(1, (double)BATCH_MAX, "that of one rank, in samples"));
	json_object_set_new(pair, "large_batch",
	                    schema_number(1, (double)BATCH_MAX, "that of all ranks; larger"));
	json_object_set_new(pair, "small_norm",
	                    schema_number(0, NORM_MAX, "of the gradient of the small batch, not squared"));
	json_object_set_new(pair, "large_norm", schema_number(0, NORM_MAX, "of that of the large batch"));
	json_object_set_new(properties, "noise_scale",
	                    series_schema(0, NOISE_MAX,
	                                  "the gradient noise scale, in the unit of the batch (with a model: "
	                                  "sequences); one number, or those along the run"));
	json_object_set_new(properties, "gradient_norms",
	                    schema_list(NOISE_POINTS_MAX, schema_object(pair, needs),
	                                "instead of noise_scale: it is estimated from them"));
	json_object_set_new(
	    properties, "smoothing",
	    schema_number(0, 0.999999,
	                  "weight of the past in the averages over gradient_norms; default 0.9"));
}
