#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/gradient_fusion.h"
#include "api/plans/schema.h"

static int list_of(const json_t *request, const char *member, const json_t **out, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *v = parse_given(request, member);

	if (!v)
		return parse_missing(err, request, &root, member);
	if (!json_is_array(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, member, "must be a list");
	*out = v;
	return SB_OK;
}

static int read_gradient(const json_t *v, const struct place *at, struct fusion_gradient *out,
                         struct sb_error *err)
{
	static const char *const members[] = {"name", "bytes", "backward_seconds", NULL};
	const char *name;
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(v, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = parse_integer(v, at, "bytes", REQUIRED, 1, FUSION_BYTES_MAX, &out->bytes, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "backward_seconds", REQUIRED, 0, FUSION_SECONDS_MAX,
		                  &out->backward_seconds, err);
	return rc;
}

static int read_gradients(const json_t *request, struct fusion_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/gradients");
	const json_t *list = NULL;
	int rc = list_of(request, "gradients", &list, err);
	size_t n;

	if (rc != SB_OK)
		return rc;
	n = json_array_size(list);
	if (n < 1 || n > FUSION_GRADIENTS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "gradients",
		                  "must have 1 to 100000 entries");
	in->gradients = calloc(n, sizeof(*in->gradients));
	if (!in->gradients)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_gradient(json_array_get(list, i), &p, &in->gradients[i], err);
	}
	in->problem.gradients = in->gradients;
	in->problem.count = n;
	return rc;
}

static int read_row(const json_t *v, const struct place *at, struct curve_row *out, struct sb_error *err)
{
	static const char *const members[] = {"bytes", "seconds", NULL};
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(v, at, "bytes", REQUIRED, 1, CURVE_BYTES_MAX, &out->bytes, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "seconds", REQUIRED, 0, CURVE_SECONDS_MAX, &out->seconds, err);
	return rc;
}

static int read_table(const json_t *list, struct collective_curve *out, struct sb_error *err)
{
	struct place here = place_of("/cost");
	struct curve_row *rows;
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (n < 1 || n > CURVE_ROWS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 1000 rows");
	rows = calloc(n, sizeof(*rows));
	if (!rows)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_row(json_array_get(list, i), &p, &rows[i], err);
	}
	if (rc == SB_OK)
		rc = curve_from_rows(rows, n, out, err);
	free(rows);
	return rc;
}

static int read_cost(const json_t *request, struct collective_curve *out, struct sb_error *err)
{
	static const char *const members[] = {"latency_seconds", "bytes_per_second", NULL};
	struct place root = place_of(""), here = place_of("/cost");
	const json_t *v = json_object_get(request, "cost");
	double latency = 0, rate = 0;
	int rc;

	if (json_is_array(v))
		return read_table(v, out, err);
	rc = parse_object(request, &root, "cost", REQUIRED, &v, err);
	if (rc == SB_OK)
		rc = parse_members(v, &here, members, err);
	if (rc == SB_OK)
		rc = parse_number(v, &here, "latency_seconds", OPTIONAL, 0, CURVE_SECONDS_MAX, &latency, err);
	if (rc == SB_OK)
		rc = parse_number(v, &here, "bytes_per_second", REQUIRED, 1, 1e18, &rate, err);
	return rc == SB_OK ? curve_from_link(latency, rate, out, err) : rc;
}

int fusion_from_json(const json_t *request, struct fusion_input *out, struct sb_error *err)
{
	static const char *const members[] = {"kind", "method", "gradients", "cost", "max_segment_bytes",
	                                      NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	*out = (struct fusion_input){.problem.max_segment_bytes = INT64_MAX};
	if (rc == SB_OK)
		rc = read_gradients(request, out, err);
	if (rc == SB_OK)
		rc = read_cost(request, &out->problem.cost, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "max_segment_bytes", OPTIONAL, 1, INT64_MAX,
		                   &out->problem.max_segment_bytes, err);
	return rc == SB_OK ? fusion_check(&out->problem, err) : rc;
}

void fusion_input_clear(struct fusion_input *in)
{
	free(in->gradients);
	curve_clear(&in->problem.cost);
	*in = (struct fusion_input){0};
}

json_t *fusion_request(const struct fusion_gradient *gradients, size_t count, const struct curve_row *rows,
                       size_t row_count)
{
	json_t *list = json_array(), *cost = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:I,s:f}", "bytes", (json_int_t)gradients[i].bytes,
		                                      "backward_seconds", gradients[i].backward_seconds));
	for (size_t i = 0; i < row_count; i++)
		json_array_append_new(cost, json_pack("{s:I,s:f}", "bytes", (json_int_t)rows[i].bytes,
		                                      "seconds", rows[i].seconds));
	return json_pack("{s:s,s:o,s:o}", "kind", "gradient-fusion", "gradients", list, "cost", cost);
}

static json_t *cost_schema(void)
{
	static const char *const link_needs[] = {"bytes_per_second", NULL};
	static const char *const row_needs[] = {"bytes", "seconds", NULL};
	json_t *link = schema_object(
	    json_pack("{s:o,s:o}", "latency_seconds", schema_number(0, CURVE_SECONDS_MAX, "default 0"),
	              "bytes_per_second",
	              schema_number(1, 1e18, "of the whole collective: its bytes over its time")),
	    link_needs);
	json_t *row =
	    schema_object(json_pack("{s:o,s:o}", "bytes", schema_integer(1, CURVE_BYTES_MAX), "seconds",
	                            schema_number(0, CURVE_SECONDS_MAX, "without the wait for slower ranks")),
	                  row_needs);

	return schema_either(
	    link, schema_list(CURVE_ROWS_MAX, row,
	                      "measured: lines between the sizes; a size given twice counts as the mean; "
	                      "below the smallest its time, beyond the largest as between the last two"));
}

json_t *fusion_schema(void)
{
	static const char *const needs[] = {"gradients", "cost", NULL};
	static const char *const gradient_needs[] = {"bytes", "backward_seconds", NULL};
	json_t *gradient =
	    schema_object(json_pack("{s:{s:s},s:o,s:o}", "name", "type", "string", "bytes",
	                            schema_integer(1, FUSION_BYTES_MAX), "backward_seconds",
	                            schema_number(0, FUSION_SECONDS_MAX,
	                                          "of the backward operators since the gradient before")),
	                  gradient_needs);

	return schema_object(json_pack("{s:o,s:o,s:o}", "gradients",
	                               schema_list(FUSION_GRADIENTS_MAX, gradient,
	                                           "in the order in which backward makes them"),
	                               "cost", cost_schema(), "max_segment_bytes",
	                               schema_integer(1, INT64_MAX)),
	                     needs);
}
