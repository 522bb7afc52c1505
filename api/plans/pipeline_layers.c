#include <math.h>
#include <stdlib.h>

#include "api/plans/pipeline.h"

/* What recomputing adds to a backward, as a share of it; public defaults of SAPP (algorithms.md 1.2). */
static const double COSTS[PIPELINE_RECOMPUTES] = {0, 0.04, 0.125, 0.165, 0.5};

const char *const pipeline_recompute_words[] = {"none", "select", "comm", "both", "full", NULL};

/* One number for each way to recompute; those left out keep their value. */
static int read_by_recompute(const json_t *object, const struct place *at, const char *member, enum need need,
                             double high, double out[PIPELINE_RECOMPUTES], struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *value;
	int rc = parse_object(object, at, member, need, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, pipeline_recompute_words, err);
	for (int r = 0; rc == SB_OK && r < PIPELINE_RECOMPUTES; r++)
		rc = parse_number(value, &here, pipeline_recompute_words[r], OPTIONAL, 0, high, &out[r], err);
	return rc;
}

static int read_costs(const json_t *request, double costs[PIPELINE_RECOMPUTES], struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, "recompute_cost");
	const json_t *value;
	int rc = parse_object(request, &root, "recompute_cost", OPTIONAL, &value, err);

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		costs[r] = COSTS[r];
	if (rc != SB_OK || !value)
		return rc;
	/* keeping all costs nothing */
	rc = parse_members(value, &here, pipeline_recompute_words + 1, err);
	for (int r = 1; rc == SB_OK && r < PIPELINE_RECOMPUTES; r++)
		rc =
		    parse_number(value, &here, pipeline_recompute_words[r], OPTIONAL, 0, 1e3, &costs[r], err);
	return rc;
}

/* A layer that takes no time is a slip of the request: nothing is to be planned with it. */
static int read_time(const json_t *layer, const struct place *at, const char *member, enum need need,
                     double *out, struct sb_error *err)
{
	int rc = parse_number(layer, at, member, need, 0, PIPELINE_TIME_MAX, out, err);

	if (rc == SB_OK && *out == 0 && json_is_number(json_object_get(layer, member)))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member, "must be above 0");
	return rc;
}

static int read_backward(const json_t *layer, const struct place *at, const double costs[PIPELINE_RECOMPUTES],
                         struct pipeline_body *b, struct sb_error *err)
{
	double given[PIPELINE_RECOMPUTES] = {2 * b->forward, NAN, NAN, NAN, NAN};
	int rc;

	if (json_is_object(json_object_get(layer, "backward")))
		rc = read_by_recompute(layer, at, "backward", REQUIRED, PIPELINE_BACKWARD_MAX, given, err);
	else
		rc = read_time(layer, at, "backward", OPTIONAL, &given[KEEP_ALL], err);
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		double time = isnan(given[r]) ? given[KEEP_ALL] * (1 + costs[r]) : given[r];

		b->backward[r] = isnan(b->activation[r]) ? NAN : time;
	}
	return rc;
}

/* What schedules that split the backward, or run it beside a forward, need to know. */
static int read_parts(const json_t *layer, const struct place *at, struct pipeline_body *b,
                      struct sb_error *err)
{
	int rc = parse_number(layer, at, "weight_gradient", OPTIONAL, 0, PIPELINE_TIME_MAX, &b->weight, err);

	if (rc == SB_OK && b->weight > b->backward[KEEP_ALL])
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "weight_gradient",
		                  "is a part of the backward, and cannot take longer");
	if (rc == SB_OK)
		rc = parse_number(layer, at, "overlapped", OPTIONAL, 0, 2 * PIPELINE_TIME_MAX, &b->overlapped,
		                  err);
	if (rc == SB_OK && b->overlapped < fmax(b->forward, b->backward[KEEP_ALL]))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "overlapped",
		                  "is the time of a forward beside a backward, and cannot be shorter than "
		                  "either");
	return rc;
}

/* Without a bound the sizes may be unknown: they count as 0 then, and no memory is told. */
static int read_sizes(const json_t *layer, const struct place *at, enum need need, struct pipeline_body *b,
                      bool *io_unsized, struct sb_error *err)
{
	struct place activation = place_member(at, "activation_bytes");
	int rc =
	    parse_number(layer, at, "parameters_bytes", need, 0, PIPELINE_BYTES_MAX, &b->parameters, err);

	if (rc == SB_OK)
		rc = read_by_recompute(layer, at, "activation_bytes", need, PIPELINE_BYTES_MAX, b->activation,
		                       err);
	if (rc == SB_OK && parse_given(layer, "activation_bytes") && isnan(b->activation[KEEP_ALL]))
		rc = parse_missing(err, json_object_get(layer, "activation_bytes"), &activation, "none");
	*io_unsized |= isnan(b->parameters) || isnan(b->activation[KEEP_ALL]);
	b->parameters = isnan(b->parameters) ? 0 : b->parameters;
	b->activation[KEEP_ALL] = isnan(b->activation[KEEP_ALL]) ? 0 : b->activation[KEEP_ALL];
	return rc;
}

static int read_layer(const json_t *layer, const struct place *at, const double costs[PIPELINE_RECOMPUTES],
                      enum need need, struct pipeline_body *b, const char **out_name, bool *io_unsized,
                      struct sb_error *err)
{
	static const char *const members[] = {"name",
	                                      "count",
	                                      "forward",
	                                      "backward",
	                                      "weight_gradient",
	                                      "parameters_bytes",
	                                      "overlapped",
	                                      "activation_bytes",
	                                      NULL};
	int rc = parse_members(layer, at, members, err);

	*b = (struct pipeline_body){.parameters = NAN, .weight = NAN, .overlapped = NAN};
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		b->activation[r] = NAN;
	if (rc == SB_OK)
		rc = parse_text(layer, at, "name", OPTIONAL, out_name, err);
	if (rc == SB_OK)
		rc = parse_integer(layer, at, "count", REQUIRED, 1, PIPELINE_LAYERS_MAX, &b->count, err);
	if (rc == SB_OK)
		rc = read_time(layer, at, "forward", REQUIRED, &b->forward, err);
	if (rc == SB_OK)
		rc = read_sizes(layer, at, need, b, io_unsized, err);
	if (rc == SB_OK)
		rc = read_backward(layer, at, costs, b, err);
	return rc == SB_OK ? read_parts(layer, at, b, err) : rc;
}

static int read_end(const json_t *request, const char *member, struct pipeline_end *out, struct sb_error *err)
{
	static const char *const members[] = {"name", "forward", "backward", "parameters_bytes", NULL};
	struct place root = place_of(""), here = place_member(&root, member);
	const char *name;
	const json_t *value;
	int rc = parse_object(request, &root, member, OPTIONAL, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, members, err);
	if (rc == SB_OK)
		rc = parse_text(value, &here, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc =
		    parse_number(value, &here, "forward", OPTIONAL, 0, PIPELINE_TIME_MAX, &out->forward, err);
	out->backward = 2 * out->forward;
	if (rc == SB_OK)
		rc = parse_number(value, &here, "backward", OPTIONAL, 0, PIPELINE_TIME_MAX, &out->backward,
		                  err);
	if (rc == SB_OK)
		rc = parse_number(value, &here, "parameters_bytes", OPTIONAL, 0, PIPELINE_BYTES_MAX,
		                  &out->parameters, err);
	return rc;
}

static int read_bodies(const json_t *list, const double costs[PIPELINE_RECOMPUTES], enum need need,
                       struct pipeline_input *out, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/layers");
	size_t n = json_array_size(list);
	int64_t layers = 0;
	int rc = SB_OK;

	if (n < 1 || n > PIPELINE_TYPES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
		                  "must list 1 to 64 types of layers");
	out->bodies = calloc(n, sizeof(*out->bodies));
	out->names = calloc(n, sizeof(*out->names));
	if (!out->bodies || !out->names)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);

		rc = read_layer(json_array_get(list, i), &at, costs, need, &out->bodies[i], &out->names[i],
		                &out->unsized, err);
		layers += out->bodies[i].count;
	}
	if (rc == SB_OK && layers > PIPELINE_LAYERS_MAX)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
		                "must be 1024 layers at most, all counts together");
	out->problem.bodies = out->bodies;
	out->problem.body_count = (int64_t)n;
	return rc;
}

int pipeline_read_layers(const json_t *request, struct pipeline_input *out, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *list = json_object_get(request, "layers");
	double costs[PIPELINE_RECOMPUTES];
	int rc = read_costs(request, costs, err);

	if (rc == SB_OK && !parse_given(request, "layers"))
		rc = parse_missing(err, request, &root, "layers");
	if (rc == SB_OK && !json_is_array(list))
		rc = parse_fail(err, SB_EINVAL, "wrong_type", &root, "layers", "must be a list");
	if (rc == SB_OK)
		rc = read_bodies(list, costs, parse_given(request, "memory_bytes") ? REQUIRED : OPTIONAL, out,
		                 err);
	if (rc == SB_OK)
		rc = read_end(request, "head", &out->problem.head, err);
	return rc == SB_OK ? read_end(request, "tail", &out->problem.tail, err) : rc;
}
