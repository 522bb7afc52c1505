#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/cbc.h"
#include "api/plans/pipeline.h"
#include "planner/pipeline/rows.h"

/* A type of layers by its name or its place in the list. */
static int read_layer(const json_t *term, const struct place *at, const struct pipeline_input *in,
                      int64_t *out, struct sb_error *err)
{
	const char *name = json_string_value(json_object_get(term, "layer"));

	if (!name)
		return parse_integer(term, at, "layer", OPTIONAL, 0, in->problem.body_count - 1, out, err);
	for (int64_t b = 0; b < in->problem.body_count; b++) {
		if (in->names[b] && strcmp(in->names[b], name) == 0) {
			*out = b;
			return SB_OK;
		}
	}
	return parse_fail(err, SB_EIMPOSSIBLE, "unknown_word", at, "layer", "is the name of no layer");
}

static int read_term(const json_t *term, const struct place *at, const struct pipeline_input *in,
                     struct pipeline_term *out, struct sb_error *err)
{
	static const char *const members[] = {"weight", "layer", "recompute", "chunk", "stage", NULL};
	const struct schedule_shape *shape = &in->problem.shape;
	int rc = parse_members(term, at, members, err);

	*out = (struct pipeline_term){1, -1, -1, -1, -1};
	if (rc == SB_OK)
		rc = parse_number(term, at, "weight", OPTIONAL, -1e6, 1e6, &out->weight, err);
	if (rc == SB_OK)
		rc = read_layer(term, at, in, &out->body, err);
	if (rc == SB_OK)
		rc = parse_word(term, at, "recompute", OPTIONAL, pipeline_recompute_words, &out->recompute,
		                err);
	if (rc == SB_OK)
		rc = parse_integer(term, at, "chunk", OPTIONAL, 0,
		                   schedule_stages(shape) / shape->devices - 1, &out->chunk, err);
	return rc == SB_OK
	           ? parse_integer(term, at, "stage", OPTIONAL, 0, shape->devices - 1, &out->device, err)
	           : rc;
}

static int read_row(const json_t *value, const struct place *at, struct pipeline_input *in,
                    struct pipeline_row *row, struct pipeline_term *terms, struct sb_error *err)
{
	static const char *const members[] = {"terms", "at_least", "at_most", NULL};
	struct place here = place_member(at, "terms");
	const json_t *list = json_object_get(value, "terms");
	int rc = parse_members(value, at, members, err);

	row->terms = terms;
	row->count = json_array_size(list);
	row->at_least = -INFINITY;
	row->at_most = INFINITY;
	if (rc == SB_OK && (row->count < 1 || row->count > PIPELINE_TERMS_MAX))
		rc =
		    parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "terms", "must be a list of 1 to 64");
	if (rc == SB_OK)
		rc = parse_number(value, at, "at_least", OPTIONAL, -1e12, 1e12, &row->at_least, err);
	if (rc == SB_OK)
		rc = parse_number(value, at, "at_most", OPTIONAL, -1e12, 1e12, &row->at_most, err);
	if (rc == SB_OK && isinf(row->at_least) && isinf(row->at_most))
		rc = parse_fail(err, SB_EINVAL, "missing_member", at, "at_most",
		                "is missing, and so is at_least");
	for (size_t i = 0; rc == SB_OK && i < row->count; i++) {
		struct place term = place_index(&here, i);

		rc = read_term(json_array_get(list, i), &term, in, &terms[i], err);
	}
	return rc;
}

int pipeline_read_rows(const json_t *request, struct pipeline_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/rows");
	const json_t *list = parse_given(request, "rows");
	size_t count = json_array_size(list);
	int rc = SB_OK;

	in->lp = (struct lp_solver){&in->cbc, cbc_solver.solve};
	in->problem.lp = &in->lp;
	if (!list)
		return SB_OK;
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "rows", "must be a list");
	if (count > PIPELINE_ROWS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "rows", "must be 256 at most");
	in->rows = calloc(count + 1, sizeof(*in->rows));
	in->terms = calloc((count + 1) * PIPELINE_TERMS_MAX, sizeof(*in->terms));
	if (!in->rows || !in->terms)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		struct place row = place_index(&here, i);

		rc = read_row(json_array_get(list, i), &row, in, &in->rows[i],
		              &in->terms[i * PIPELINE_TERMS_MAX], err);
	}
	in->problem.rows = in->rows;
	in->problem.row_count = (int64_t)count;
	return rc;
}
