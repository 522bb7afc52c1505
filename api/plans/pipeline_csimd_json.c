#include <math.h>
#include <stdlib.h>

#include "api/plans/pipeline_csimd.h"

const char *const csimd_sizes_words[] = {"equal", "free", NULL};
const char *const csimd_search_words[] = {"exact", "cross", NULL};
const char *const csimd_schedule_words[] = {"gpipe", "terapipe", NULL};
enum form { POLYNOMIAL, ATTENTION };
static const char *const form_words[] = {"polynomial", "attention", NULL};

void csimd_input_clear(struct csimd_input *in)
{
	for (size_t r = 0; in->tables && r < in->problem.row_count; r++) {
		free(in->tables[r].samples);
		free(in->tables[r].seconds);
	}
	free(in->tables);
	free(in->rows);
	free(in->memory);
	free(in->speeds);
	free(in->send);
	*in = (struct csimd_input){0};
}

static int read_form(const json_t *time, const struct place *at, bool slices, struct csimd_time *out,
                     struct sb_error *err)
{
	static const char *const members[] = {"form", "coefficients", NULL};
	static const char *const names[] = {"a", "k", "b0", "q", "rho", NULL};
	struct place here = place_member(at, "coefficients");
	const json_t *c = NULL;
	int form = POLYNOMIAL, rc = parse_members(time, at, members, err);

	out->rho = 2;
	if (rc == SB_OK)
		rc = parse_word(time, at, "form", REQUIRED, form_words, &form, err);
	if (rc == SB_OK && form == ATTENTION && !slices)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "form",
		                "attention is of slices of a sequence: schedule terapipe");
	if (rc == SB_OK)
		rc = parse_object(time, at, "coefficients", REQUIRED, &c, err);
	if (rc == SB_OK)
		rc = parse_members(c, &here, names, err);
	double *const values[] = {&out->a, &out->k, &out->b0, &out->q, &out->rho};
	for (int i = 0; rc == SB_OK && names[i]; i++)
		rc = parse_number(c, &here, names[i], OPTIONAL, 0, CSIMD_TIME_MAX, values[i], err);
	out->attention = form == ATTENTION;
	return rc;
}

/* Rising counts of samples. */
static int read_counts(const json_t *time, const struct place *at, struct csimd_table *out, size_t *out_count,
                       struct sb_error *err)
{
	struct place here = place_member(at, "samples");
	const json_t *list = parse_given(time, "samples");
	size_t n = json_array_size(list);

	if (!list)
		return parse_missing(err, time, at, "samples");
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if (n < 1 || n > CSIMD_POINTS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 1000 entries");
	out->samples = calloc(n, sizeof(*out->samples));
	out->seconds = calloc(CSIMD_PASSES * n, sizeof(*out->seconds));
	if (!out->samples || !out->seconds)
		return sb_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		struct place each = place_index(&here, i);
		int rc = parse_integer_value(json_array_get(list, i), &each, 1, CSIMD_SAMPLES_MAX,
		                             &out->samples[i], err);

		if (rc == SB_OK && i > 0 && out->samples[i] <= out->samples[i - 1])
			rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &each, NULL,
			                "must be more than the one before");
		if (rc != SB_OK)
			return rc;
	}
	*out_count = n;
	return SB_OK;
}

static int read_list(const json_t *object, const struct place *at, const char *member, size_t n, double low,
                     double high, double *out, struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *list = json_object_get(object, member);

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, list ? "wrong_type" : "missing_member", &here, NULL,
		                  list ? "must be a list" : "is missing");
	if (json_array_size(list) != n)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", here.pointer,
		                     "must have %zu entries", n);
	return parse_numbers(list, &here, low, high, out, err);
}

static int read_table(const json_t *time, const struct place *at, struct csimd_table *table,
                      struct csimd_time *out, struct sb_error *err)
{
	static const char *const members[] = {"samples", "forward", "backward", NULL};
	const json_t *backward = parse_given(time, "backward");
	size_t n = 0;
	int rc = parse_members(time, at, members, err);

	if (rc == SB_OK)
		rc = read_counts(time, at, table, &n, err);
	if (rc == SB_OK)
		rc = read_list(time, at, "forward", n, 0, CSIMD_TIME_MAX, table->seconds, err);
	if (rc != SB_OK)
		return rc;
	if (backward)
		rc = read_list(time, at, "backward", n, 0, CSIMD_TIME_MAX, table->seconds + n, err);
	else
		for (size_t i = 0; i < n; i++)
			table->seconds[n + i] = 2 * table->seconds[i];
	*out = (struct csimd_time){
	    .points = n, .samples = table->samples, .seconds = {table->seconds, table->seconds + n}};
	return rc;
}

/* A number, or {none: number} as other methods have it: csimd recomputes nothing. */
static int read_activation(const json_t *layer, const struct place *at, double *out, struct sb_error *err)
{
	static const char *const members[] = {"none", NULL};
	struct place here = place_member(at, "activation_bytes");
	const json_t *v = json_object_get(layer, "activation_bytes");
	int rc;

	if (!json_is_object(v))
		return parse_number(layer, at, "activation_bytes", OPTIONAL, 0, CSIMD_BYTES_MAX, out, err);
	rc = parse_members(v, &here, members, err);
	return rc == SB_OK ? parse_number(v, &here, "none", REQUIRED, 0, CSIMD_BYTES_MAX, out, err) : rc;
}

static int read_row(const json_t *layer, const struct place *at, struct csimd_input *in, size_t r,
                    struct sb_error *err)
{
	static const char *const members[] = {"name", "count", "time", "parameters_bytes", "activation_bytes",
	                                      NULL};
	struct csimd_layers *row = &in->rows[r];
	struct place here = place_member(at, "time");
	const json_t *time = NULL;
	const char *name;
	int rc = parse_members(layer, at, members, err);

	row->count = 1;
	if (rc == SB_OK)
		rc = parse_text(layer, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = parse_integer(layer, at, "count", OPTIONAL, 1, CSIMD_LAYERS_MAX, &row->count, err);
	if (rc == SB_OK)
		rc = parse_number(layer, at, "parameters_bytes", OPTIONAL, 0, CSIMD_BYTES_MAX,
		                  &row->parameters, err);
	if (rc == SB_OK)
		rc = read_activation(layer, at, &row->activation, err);
	in->weighed =
	    in->weighed || parse_given(layer, "parameters_bytes") || parse_given(layer, "activation_bytes");
	if (rc == SB_OK)
		rc = parse_object(layer, at, "time", REQUIRED, &time, err);
	if (rc != SB_OK)
		return rc;
	if (parse_given(time, "form"))
		return read_form(time, &here, in->slices, &row->time, err);
	return read_table(time, &here, &in->tables[r], &row->time, err);
}

static int read_layers(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/layers");
	const json_t *list = json_object_get(request, "layers");
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, list ? "wrong_type" : "missing_member", &root, "layers",
		                  list ? "must be a list" : "is missing");
	if (n < 1)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers", "has no layer");
	in->rows = calloc(n, sizeof(*in->rows));
	in->tables = calloc(n, sizeof(*in->tables));
	if (!in->rows || !in->tables)
		return sb_no_memory(err);
	in->problem.rows = in->rows;
	in->problem.row_count = n;
	for (size_t r = 0; rc == SB_OK && r < n; r++) {
		struct place each = place_index(&here, r);

		rc = read_row(json_array_get(list, r), &each, in, r, err);
		in->problem.layers += in->rows[r].count;
	}
	if (rc == SB_OK && in->problem.layers > CSIMD_LAYERS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
		                  "must be at most 100000 layers");
	return rc;
}

static int read_memory(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *v = parse_given(request, "memory_bytes");
	size_t n = (size_t)in->problem.stages;
	int rc = parse_number(request, &root, "constant_bytes", OPTIONAL, -CSIMD_BYTES_MAX, CSIMD_BYTES_MAX,
	                      &in->constant, err);

	if (rc != SB_OK || !v)
		return rc;
	in->memory = calloc(n, sizeof(*in->memory));
	if (!in->memory)
		return sb_no_memory(err);
	in->problem.memory = in->memory;
	if (json_is_array(v))
		rc = read_list(request, &root, "memory_bytes", n, 0, CSIMD_BYTES_MAX, in->memory, err);
	else
		rc = parse_number(request, &root, "memory_bytes", REQUIRED, 0, CSIMD_BYTES_MAX, in->memory,
		                  err);
	for (size_t s = n; rc == SB_OK && s-- > 0;)
		in->memory[s] = (json_is_array(v) ? in->memory[s] : in->memory[0]) - in->constant;
	return rc;
}

static int read_speeds(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *v = parse_given(request, "speeds");
	size_t n = (size_t)in->problem.stages;

	if (!v)
		return SB_OK;
	in->speeds = calloc(n, sizeof(*in->speeds));
	if (!in->speeds)
		return sb_no_memory(err);
	in->problem.speeds = in->speeds;
	return read_list(request, &root, "speeds", n, CSIMD_SPEED_LEAST, CSIMD_SPEED_MAX, in->speeds, err);
}

/* A number for all links, or one each: a cut between two layers, or a link between two stages. *count: how
 * many there are; 0 while none was given as a list. */
static int read_links(const json_t *object, const struct place *at, const char *member,
                      struct csimd_input *in, size_t *count, double *out, struct sb_error *err)
{
	size_t cuts = (size_t)in->problem.layers - 1, links = (size_t)in->problem.stages - 1;
	const json_t *v = json_object_get(object, member);
	size_t n = json_array_size(v);
	int rc;

	if (!json_is_array(v)) {
		rc = parse_number(object, at, member, OPTIONAL, 0, CSIMD_TIME_MAX, out, err);
		for (size_t i = 1; i < cuts; i++)
			out[i] = out[0];
		return rc;
	}
	if ((n != cuts && n != links) || (*count > 0 && n != *count))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member,
		                  "must be one number, one for each cut between two layers (layers - 1), or "
		                  "one for each link between two stages (stages - 1)");
	*count = n;
	in->problem.send_by_link = n == links;
	return read_list(object, at, member, n, 0, CSIMD_TIME_MAX, out, err);
}

static int read_send(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	static const char *const members[] = {"alpha", "beta", NULL};
	struct place root = place_of(""), here = place_of("/send_seconds");
	const json_t *v = parse_given(request, "send_seconds");
	size_t layers = (size_t)in->problem.layers, count = 0;
	int rc;

	if (!v)
		return SB_OK;
	in->send = calloc(2 * layers, sizeof(*in->send));
	if (!in->send)
		return sb_no_memory(err);
	if (json_is_object(v)) {
		rc = parse_members(v, &here, members, err);
		if (rc == SB_OK)
			rc = read_links(v, &here, "alpha", in, &count, in->send, err);
		if (rc == SB_OK)
			rc = read_links(v, &here, "beta", in, &count, in->send + layers, err);
	} else {
		rc = read_links(request, &root, "send_seconds", in, &count, in->send, err);
	}
	in->problem.send_fixed = in->send;
	in->problem.send_per_sample = in->send + layers;
	return rc;
}

static int read_sizes(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	struct csimd_problem *p = &in->problem;
	struct place root = place_of("");
	int schedule = 0;
	int rc = parse_word(request, &root, "schedule", OPTIONAL, csimd_schedule_words, &schedule, err);
	const char *only_gpipe[] = {"samples_max", "sizes", "search", NULL};

	in->slices = schedule == 1;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "samples", REQUIRED, 1, CSIMD_SAMPLES_MAX, &p->samples,
		                   err);
	p->samples_max = p->samples;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "stages", REQUIRED, 1, CSIMD_STAGES_MAX, &p->stages, err);
	for (int i = 0; rc == SB_OK && in->slices && only_gpipe[i]; i++)
		if (parse_given(request, only_gpipe[i]))
			rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, only_gpipe[i],
			                "is of schedule gpipe");
	if (rc == SB_OK && !in->slices && parse_given(request, "slice_unit"))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "slice_unit",
		                "is of schedule terapipe");
	p->sequences = 1;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "micro_batches", OPTIONAL, 1, CSIMD_SAMPLES_MAX,
		                   in->slices ? &p->sequences : &p->micro_batches, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "samples_max", OPTIONAL, 1, CSIMD_SAMPLES_MAX,
		                   &p->samples_max, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "slice_unit", OPTIONAL, 1, CSIMD_SAMPLES_MAX,
		                   &in->slice_unit, err);
	p->samples_max = p->samples_max < p->samples ? p->samples_max : p->samples;
	return rc;
}

static int read_options(const json_t *request, struct csimd_input *in, struct sb_error *err)
{
	static const char *const objectives[] = {"makespan", NULL};
	struct place root = place_of("");
	int objective = 0,
	    rc = parse_word(request, &root, "sizes", OPTIONAL, csimd_sizes_words, &in->sizes, err);

	if (rc == SB_OK)
		rc = parse_word(request, &root, "search", OPTIONAL, csimd_search_words, &in->search, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "objective", OPTIONAL, objectives, &objective, err);
	return rc;
}

int csimd_from_json(const json_t *request, struct csimd_input *out, struct sb_error *err)
{
	static const char *const members[] = {
	    "kind",          "method",       "schedule",       "samples",   "samples_max", "stages",
	    "micro_batches", "memory_bytes", "constant_bytes", "speeds",    "layers",      "send_seconds",
	    "sizes",         "search",       "slice_unit",     "objective", NULL};
	struct place root = place_of("");
	struct sb_error why = {0};
	int rc = parse_members(request, &root, members, err);

	*out = (struct csimd_input){0};
	if (rc == SB_OK)
		rc = read_sizes(request, out, err);
	if (rc == SB_OK)
		rc = read_layers(request, out, err);
	if (rc == SB_OK && out->problem.stages > out->problem.layers)
		rc = csimd_check(&out->problem, &why);
	if (rc == SB_OK)
		rc = read_memory(request, out, err);
	if (rc == SB_OK)
		rc = read_speeds(request, out, err);
	if (rc == SB_OK)
		rc = read_send(request, out, err);
	if (rc == SB_OK)
		rc = read_options(request, out, err);
	if (rc == SB_OK)
		rc = csimd_check(&out->problem, &why);
	return why.code == SB_OK ? rc : parse_fail(err, why.code, why.word, &root, why.field, why.text);
}
