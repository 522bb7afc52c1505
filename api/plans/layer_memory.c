#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "api/plans/pipeline.h"
#include "api/plans/schema.h"
#include "planner/pipeline/decompose.h"

/* The kind `layer-memory`: what one layer takes of the memory, from the peaks of dry runs. The answer is what
 * a request of kind `pipeline` needs. Bytes are in any one unit: the answer is in the same. */

static const char *const methods[] = {"decompose", NULL};
#define RUNS_MAX 1024
/* Of a peak: what the sums that make it up and its fit may be off by in doubles. */
#define ROUNDING 1e-12

struct memory_input {
	struct schedule_shape shape;
	struct dry_run *runs; /* its own */
	size_t count;
	enum fit_constant constant;
};

static void input_clear(struct memory_input *in)
{
	free(in->runs);
	*in = (struct memory_input){0};
}

/* A number, or one a chunk. */
static int read_by_chunk(const json_t *object, const struct place *at, const char *member, enum need need,
                         int64_t chunks, int64_t out[SCHEDULE_CHUNKS_MAX], struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *v = parse_given(object, member);
	int rc = SB_OK;

	if (!json_is_array(v) && (chunks == 1 || !v))
		return parse_integer(object, at, member, need, 0, PIPELINE_LAYERS_MAX, &out[0], err);
	if (!json_is_array(v) || json_array_size(v) != (size_t)chunks)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member,
		                  "must have one number a chunk");
	for (size_t k = 0; k < (size_t)chunks && rc == SB_OK; k++) {
		struct place p = place_index(&here, k);

		rc = parse_integer_value(json_array_get(v, k), &p, 0, PIPELINE_LAYERS_MAX, &out[k], err);
	}
	return rc;
}

/* What is not recomputed in some way keeps all. */
static int read_recompute(const json_t *run, const struct place *at, int64_t chunks, struct dry_run *out,
                          struct sb_error *err)
{
	struct place here = place_member(at, "recompute");
	const json_t *value = NULL;
	int rc = parse_object(run, at, "recompute", OPTIONAL, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, pipeline_recompute_words + 1, err);
	for (int r = 1; rc == SB_OK && r < PIPELINE_RECOMPUTES; r++) {
		int64_t n[SCHEDULE_CHUNKS_MAX] = {0};

		rc = read_by_chunk(value, &here, pipeline_recompute_words[r], OPTIONAL, chunks, n, err);
		for (int64_t k = 0; rc == SB_OK && k < chunks; k++) {
			out->layers[k][r] = n[k];
			out->layers[k][KEEP_ALL] -= n[k];
		}
	}
	for (int64_t k = 0; rc == SB_OK && k < chunks; k++)
		if (out->layers[k][KEEP_ALL] < 0)
			rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "recompute",
			                "has more layers than the stage");
	return rc;
}

static int read_run(const json_t *run, const struct place *at, const struct schedule_shape *s,
                    struct dry_run *out, struct sb_error *err)
{
	static const char *const members[] = {"stage", "layers", "recompute", "peak_bytes", NULL};
	int64_t n[SCHEDULE_CHUNKS_MAX] = {0};
	int rc = parse_members(run, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(run, at, "stage", REQUIRED, 0, s->devices - 1, &out->device, err);
	if (rc == SB_OK)
		rc = read_by_chunk(run, at, "layers", REQUIRED, s->chunks, n, err);
	for (int64_t k = 0; rc == SB_OK && k < s->chunks; k++)
		out->layers[k][KEEP_ALL] = n[k];
	if (rc == SB_OK)
		rc = read_recompute(run, at, s->chunks, out, err);
	if (rc == SB_OK)
		rc = parse_number(run, at, "peak_bytes", REQUIRED, 1e-9, PIPELINE_BYTES_MAX, &out->peak, err);
	return rc;
}

static int read_runs(const json_t *request, struct memory_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/runs");
	const json_t *list = parse_given(request, "runs");
	int rc = SB_OK;

	if (!list)
		return parse_missing(err, request, &root, "runs");
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "runs", "must be a list");
	if (json_array_size(list) < 1 || json_array_size(list) > RUNS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "runs",
		                  "must have 1 to 1024 entries");
	in->runs = calloc(json_array_size(list), sizeof(*in->runs));
	if (!in->runs)
		return sb_no_memory(err);
	for (; rc == SB_OK && in->count < json_array_size(list); in->count++) {
		struct place at = place_index(&here, in->count);

		rc = read_run(json_array_get(list, in->count), &at, &in->shape, &in->runs[in->count], err);
	}
	return rc;
}

static int read_input(const json_t *request, struct memory_input *in, struct sb_error *err)
{
	static const char *const members[] = {
	    "kind",          "method",       "schedule", "stages", "interleave",
	    "micro_batches", "fit_constant", "slices",   "runs",   NULL};
	struct place root = place_of("");
	const json_t *constant = parse_given(request, "fit_constant");
	bool fit = false;
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = pipeline_read_shape(request, &in->shape, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "fit_constant", &fit, err);
	in->constant = !constant ? CONSTANT_WHERE_RUNS_ALLOW : fit ? CONSTANT_FITTED : CONSTANT_LEFT_OUT;
	return rc == SB_OK ? read_runs(request, in, err) : rc;
}

static json_t *end_json(double bytes)
{
	return json_pack("{s:o}", "parameters_bytes", json_real_or_null(bytes));
}

static json_t *solution_of(const struct layer_memory *m)
{
	json_t *activation = json_object();

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (!isnan(m->activation[r]))
			json_object_set_new(activation, pipeline_recompute_words[r],
			                    json_real(m->activation[r]));
	return json_pack("{s:f,s:o,s:o,s:o,s:o}", "parameters_bytes", m->parameters, "activation_bytes",
	                 activation, "head", end_json(m->head), "tail", end_json(m->tail), "constant_bytes",
	                 json_real_or_null(m->constant));
}

static json_t *predicted_of(const struct memory_input *in, const double *predicted)
{
	json_t *runs = json_array();

	for (size_t i = 0; i < in->count; i++) {
		double peak = in->runs[i].peak;
		bool met = fabs(peak - predicted[i]) <= ROUNDING * peak;

		json_array_append_new(runs,
		                      json_pack("{s:I,s:f,s:f}", "stage", (json_int_t)in->runs[i].device,
		                                "peak_bytes", met ? peak : predicted[i], "residual_bytes",
		                                met ? 0.0 : peak - predicted[i]));
	}
	return json_pack("{s:o}", "runs", runs);
}

static json_t *warnings_of(const struct layer_memory *m)
{
	json_t *list = json_array();
	bool negative = m->parameters < 0;
	char text[160];

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		negative |= m->activation[r] < 0;
	if (negative)
		json_warn(
		    list, "negative_bytes",
		    "A layer that takes less than nothing: the runs contradict the schedule or one another.");
	if (!m->settled)
		json_warn(list, "peak_unsettled",
		          "Which moment is the peak of a stage changes with every fit: see the residuals.");
	if (!isnan(m->ends)) {
		(void)snprintf(text, sizeof(text),
		               "One stage holds head and tail: together they take %.15g, and no run tells "
		               "them apart.",
		               m->ends);
		json_warn(list, "head_and_tail_together", text);
	} else if (isnan(m->head) || isnan(m->tail)) {
		json_warn(list, "no_run_of_an_end",
		          "head and tail are told by runs of the stages that hold them: one is missing.");
	}
	return list;
}

static json_t *answer_of(const struct memory_input *in, const struct layer_memory *m, const double *predicted,
                         double seconds)
{
	json_t *quality =
	    json_pack("{s:b,s:n,s:n,s:i,s:f,s:f}", "optimal", m->closest, "lower_bound", "gap", "candidates",
	              1, "search_seconds", seconds, "model_error", m->worst_share);

	return json_pack("{s:o,s:o,s:o,s:[],s:[],s:[],s:o}", "solution", solution_of(m), "predicted",
	                 predicted_of(in, predicted), "quality", quality, "alternatives", "frontier",
	                 "rejected", "warnings", warnings_of(m));
}

static int decompose(const struct memory_input *in, struct layer_memory *out, double *predicted,
                     struct sb_error *err)
{
	struct place here = place_of("/runs");
	struct sb_error why = {0};
	int rc = layer_memory_decompose(&in->shape, in->runs, in->count, in->constant, out, predicted, &why);

	return rc == SB_OK
	           ? SB_OK
	           : parse_fail(err, why.code, why.word, &here, why.field[0] ? why.field : NULL, why.text);
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct memory_input in = {0};
	struct layer_memory m;
	double start = plan_clock(), *predicted;
	int rc = read_input(request, &in, err);

	(void)out_extra;
	if (rc != SB_OK)
		return rc;
	predicted = malloc(in.count * sizeof(*predicted));
	if (!predicted)
		return sb_no_memory(err);
	rc = decompose(&in, &m, predicted, err);
	if (rc == SB_OK)
		*out = answer_of(&in, &m, predicted, plan_clock() - start);
	free(predicted);
	return rc != SB_OK || *out ? rc : sb_no_memory(err);
}

static json_t *layers_schema(const char *description)
{
	return schema_either(
	    schema_integer(0, PIPELINE_LAYERS_MAX),
	    schema_list(SCHEDULE_CHUNKS_MAX, schema_integer(0, PIPELINE_LAYERS_MAX), description));
}

static json_t *run_schema(void)
{
	static const char *const needs[] = {"stage", "layers", "peak_bytes", NULL};
	json_t *p = json_object(), *recompute = json_object();

	for (int r = 1; r < PIPELINE_RECOMPUTES; r++)
		json_object_set_new(recompute, pipeline_recompute_words[r], layers_schema("one a chunk"));
	json_object_set_new(p, "stage", schema_integer(0, PIPELINE_DEVICES_MAX - 1));
	json_object_set_new(p, "layers", layers_schema("one a chunk"));
	json_object_set_new(p, "recompute", schema_object(recompute, NULL));
	json_object_set_new(p, "peak_bytes",
	                    schema_number(1e-9, PIPELINE_BYTES_MAX, "of the device, in any one unit"));
	return schema_object(p, needs);
}

static json_t *schema(void)
{
	static const char *const needs[] = {"stages", "micro_batches", "runs", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "schedule", pipeline_schedule_names());
	json_object_set_new(p, "stages", schema_integer(1, PIPELINE_DEVICES_MAX));
	json_object_set_new(p, "micro_batches", schema_integer(1, UINT32_MAX));
	json_object_set_new(p, "interleave", schema_integer(1, SCHEDULE_CHUNKS_MAX));
	json_object_set_new(p, "slices", schema_integer(1, UINT16_MAX));
	json_object_set_new(p, "fit_constant",
	                    schema_boolean("bytes that every stage needs besides; default: where there are "
	                                   "more runs than other figures"));
	json_object_set_new(p, "runs",
	                    schema_list(RUNS_MAX, run_schema(),
	                                "one a stage and dry run; stages without head and tail tell the "
	                                "layers"));
	return schema_object(p, needs);
}

static json_t *limits(void)
{
	return json_pack("{s:i,s:i}", "runs", RUNS_MAX, "operations", SCHEDULE_OPERATIONS_MAX);
}

const struct plan_kind layer_memory_kind = {
    .name = "layer-memory", .methods = methods, .solve = solve, .schema = schema, .limits = limits};
