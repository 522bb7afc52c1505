#include <math.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "api/plans/schema.h"

/* Layer files of SAPP, the pipeline balancer of MindFormers and HyperParallel (algorithms.md 1.2; layer.py
 * and recompute.py of sapp_ppb): {name, stage_const_mem?, layers_description: [{type: HEAD | BODY | TAIL,
 * name, nb_layer, time, memory_parameter, ...}]}. */

/* Members of a layer by enum pipeline_recompute. */
static const char *const MEMORIES[PIPELINE_RECOMPUTES] = {"memory_activation", "memory_select_rec",
                                                          "memory_select_comm", "memory_both_comm_select",
                                                          "memory_recompute"};
static const char *const TIMES[PIPELINE_RECOMPUTES] = {"backward_time", "select_rec_time", "select_comm_time",
                                                       "both_comm_select_time", "recompute_time"};
static const char *const COEFFICIENTS[PIPELINE_RECOMPUTES] = {
    "backward_coef", "select_rec_coef", "select_comm_coef", "both_comm_select_coef", "recompute_coef"};

#define MEGABYTE 1e6
#define MEGABYTES_MAX (PIPELINE_BYTES_MAX / MEGABYTE)

/* What the file becomes: members of a request. */
struct sapp_file {
	json_t *layers;
	struct pipeline_end head, tail;
	bool offered[PIPELINE_RECOMPUTES]; /* by the first body: it rules for all */
};

/* `time` is the forward, whatever a comment in SAPP says of it; a backward is twice that. */
static int read_times(const json_t *layer, const struct place *at, double *out_forward, double *out_time,
                      struct sb_error *err)
{
	bool told = json_is_number(json_object_get(layer, "forward_time"));
	int rc = parse_number(layer, at, "forward_time", OPTIONAL, 0, PIPELINE_TIME_MAX, out_forward, err);

	*out_time = *out_forward;
	if (rc == SB_OK)
		rc = parse_number(layer, at, "time", told ? OPTIONAL : REQUIRED, 0, PIPELINE_TIME_MAX,
		                  out_time, err);
	if (!told)
		*out_forward = *out_time;
	return rc;
}

/* Of one way to recompute; NaN = the file says nothing of it. A time of 0 is none. */
static int read_backward(const json_t *layer, const struct place *at, int recompute, double time, double *out,
                         struct sb_error *err)
{
	double coefficient = recompute == KEEP_ALL ? 0 : NAN, told = 0;
	int rc = parse_number(layer, at, COEFFICIENTS[recompute], OPTIONAL, 0, 1e3, &coefficient, err);

	if (rc == SB_OK)
		rc = parse_number(layer, at, TIMES[recompute], OPTIONAL, 0, PIPELINE_TIME_MAX, &told, err);
	*out = told > 0 ? told : 2 * time * (1 + coefficient);
	return rc;
}

static int read_end(const json_t *layer, const struct place *at, int64_t count, struct pipeline_end *io,
                    struct sb_error *err)
{
	double forward = 0, time = 0, backward = 0, memory = 0;
	int rc = read_times(layer, at, &forward, &time, err);

	if (rc == SB_OK)
		rc = read_backward(layer, at, KEEP_ALL, time, &backward, err);
	if (rc == SB_OK)
		rc = parse_number(layer, at, "memory_parameter", REQUIRED, 0, MEGABYTES_MAX, &memory, err);
	io->forward += (double)count * forward;
	io->backward += (double)count * backward;
	io->parameters += (double)count * memory * MEGABYTE;
	return rc;
}

/* A way to recompute is there when its memory is above 0, in this body and in the first one. */
static int read_body(const json_t *layer, const struct place *at, int64_t count, struct sapp_file *f,
                     struct sb_error *err)
{
	bool first = json_array_size(f->layers) == 0;
	json_t *backward = json_object(), *activation = json_object();
	double forward = 0, time = 0, parameters = 0;
	int rc = read_times(layer, at, &forward, &time, err);

	if (rc == SB_OK)
		rc =
		    parse_number(layer, at, "memory_parameter", REQUIRED, 0, MEGABYTES_MAX, &parameters, err);
	for (int r = 0; rc == SB_OK && r < PIPELINE_RECOMPUTES; r++) {
		double memory = 0, seconds = NAN;

		rc = parse_number(layer, at, MEMORIES[r], r == KEEP_ALL ? REQUIRED : OPTIONAL, 0,
		                  MEGABYTES_MAX, &memory, err);
		if (rc == SB_OK)
			rc = read_backward(layer, at, r, time, &seconds, err);
		f->offered[r] = memory > 0 && (first || f->offered[r]);
		if (f->offered[r] || r == KEEP_ALL)
			json_object_set_new(activation, pipeline_recompute_words[r],
			                    json_real(memory * MEGABYTE));
		if (!isnan(seconds))
			json_object_set_new(backward, pipeline_recompute_words[r], json_real(seconds));
	}
	json_array_append_new(f->layers, json_pack("{s:s?,s:I,s:f,s:o,s:f,s:o}", "name",
	                                           json_string_value(json_object_get(layer, "name")), "count",
	                                           (json_int_t)count, "forward", forward, "backward",
	                                           backward, "parameters_bytes", parameters * MEGABYTE,
	                                           "activation_bytes", activation));
	return rc;
}

static int read_layer(const json_t *layer, const struct place *at, struct sapp_file *f, struct sb_error *err)
{
	static const char *const types[] = {"HEAD", "BODY", "TAIL", NULL};
	int type = 0, rc = SB_OK;
	int64_t count = 1;

	if (!json_is_object(layer))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be an object");
	rc = parse_word(layer, at, "type", REQUIRED, types, &type, err);
	if (rc == SB_OK)
		rc = parse_integer(layer, at, "nb_layer", REQUIRED, 1, PIPELINE_LAYERS_MAX, &count, err);
	if (rc != SB_OK)
		return rc;
	if (type == 1)
		return read_body(layer, at, count, f, err);
	return read_end(layer, at, count, type == 0 ? &f->head : &f->tail, err);
}

static json_t *end_to_json(const struct pipeline_end *e)
{
	return json_pack("{s:f,s:f,s:f}", "forward", e->forward, "backward", e->backward, "parameters_bytes",
	                 e->parameters);
}

static int read_file(const json_t *file, struct sapp_file *f, struct sb_error *err)
{
	struct place at = place_of("/layers_file"), here = place_member(&at, "layers_description");
	const json_t *list = json_object_get(file, "layers_description");
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "missing_member", &at, "layers_description",
		                  "must be a list");
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place p = place_index(&here, i);

		rc = read_layer(json_array_get(list, i), &p, f, err);
	}
	return rc;
}

/* The file's layers as those of a request, which may have none of its own beside. */
static int take_over(const json_t *request, const json_t *file, json_t *out, struct sb_error *err)
{
	static const char *const own[] = {"layers", "head", "tail", NULL};
	struct place root = place_of(""), at = place_of("/layers_file");
	struct sapp_file f = {.layers = json_array()};
	double constant = 0;
	int rc = SB_OK;

	for (int i = 0; rc == SB_OK && own[i]; i++)
		if (parse_given(request, own[i]))
			rc = parse_fail(err, SB_EINVAL, "unknown_member", &root, own[i],
			                "comes from the layers_file");
	if (rc == SB_OK)
		rc = read_file(file, &f, err);
	if (rc == SB_OK)
		rc = parse_number(file, &at, "stage_const_mem", OPTIONAL, -MEGABYTES_MAX, MEGABYTES_MAX,
		                  &constant, err);
	json_object_set_new(out, "layers", f.layers);
	json_object_set_new(out, "head", end_to_json(&f.head));
	json_object_set_new(out, "tail", end_to_json(&f.tail));
	if (!parse_given(request, "constant_bytes"))
		json_object_set_new(out, "constant_bytes", json_real(constant * MEGABYTE));
	return rc;
}

int pipeline_sapp_import(const json_t *request, json_t **out, struct sb_error *err)
{
	static const char *const formats[] = {"sapp", NULL};
	struct place root = place_of("");
	const json_t *file = NULL;
	JSON_AUTO copy = json_copy(json_readable(request));
	int format = 0;
	int rc = parse_word(request, &root, "format", OPTIONAL, formats, &format, err);

	if (!copy)
		return sb_no_memory(err);
	if (rc == SB_OK)
		rc = parse_object(request, &root, "layers_file",
		                  parse_given(request, "format") ? REQUIRED : OPTIONAL, &file, err);
	if (rc == SB_OK && file)
		rc = take_over(request, file, copy, err);
	if (rc == SB_OK)
		*out = json_incref(copy);
	return rc;
}

static json_t *layer_to_json(const char *type, const char *name, int64_t count, double forward,
                             double backward, double parameters)
{
	return json_pack("{s:s,s:s,s:I,s:f,s:f,s:f,s:f}", "name", name ? name : type, "type", type,
	                 "nb_layer", (json_int_t)count, "time", forward, "forward_time", forward,
	                 "backward_time", backward, "memory_parameter", parameters / MEGABYTE);
}

json_t *pipeline_sapp_export(const struct pipeline_input *in)
{
	const struct pipeline_problem *p = &in->problem;
	json_t *list = json_array();

	json_array_append_new(
	    list, layer_to_json("HEAD", NULL, 1, p->head.forward, p->head.backward, p->head.parameters));
	for (int64_t i = 0; i < p->body_count; i++) {
		const struct pipeline_body *b = &p->bodies[i];
		json_t *o = layer_to_json("BODY", in->names[i], b->count, b->forward, b->backward[KEEP_ALL],
		                          b->parameters);

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			if (isnan(b->activation[r]))
				continue;
			json_object_set_new(o, TIMES[r], json_real(b->backward[r]));
			json_object_set_new(o, MEMORIES[r], json_real(b->activation[r] / MEGABYTE));
		}
		json_array_append_new(list, o);
	}
	json_array_append_new(
	    list, layer_to_json("TAIL", NULL, 1, p->tail.forward, p->tail.backward, p->tail.parameters));
	return json_pack("{s:s,s:f,s:o}", "name", "signalbox", "stage_const_mem", p->constant / MEGABYTE,
	                 "layers_description", list);
}

static json_t *megabytes(void)
{
	return schema_number(0, MEGABYTES_MAX, NULL);
}

/* SAPP's files have members that mean nothing here: others are let pass. */
static json_t *open_object(json_t *properties, json_t *required)
{
	return json_pack("{s:s,s:o,s:o}", "type", "object", "properties", properties, "required", required);
}

json_t *pipeline_sapp_schema(void)
{
	json_t *p = json_object(), *file = json_object(), *layer;

	json_object_set_new(p, "type", json_pack("{s:[s,s,s]}", "enum", "HEAD", "BODY", "TAIL"));
	json_object_set_new(p, "nb_layer", schema_integer(1, PIPELINE_LAYERS_MAX));
	json_object_set_new(p, "time", schema_number(0, PIPELINE_TIME_MAX, "of a forward"));
	json_object_set_new(p, "forward_time", schema_number(0, PIPELINE_TIME_MAX, NULL));
	json_object_set_new(p, "memory_parameter", megabytes());
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		json_object_set_new(p, MEMORIES[r], megabytes());
		json_object_set_new(p, TIMES[r], schema_number(0, PIPELINE_TIME_MAX, NULL));
		json_object_set_new(p, COEFFICIENTS[r], schema_number(0, 1e3, NULL));
	}
	layer = open_object(p, json_pack("[s,s,s]", "type", "nb_layer", "memory_parameter"));
	json_object_set_new(layer, "anyOf",
	                    json_pack("[{s:[s]},{s:[s]}]", "required", "time", "required", "forward_time"));
	json_object_set_new(layer, "if", json_pack("{s:{s:{s:s}}}", "properties", "type", "const", "BODY"));
	json_object_set_new(layer, "then", json_pack("{s:[s]}", "required", MEMORIES[KEEP_ALL]));
	json_object_set_new(file, "stage_const_mem", schema_number(-MEGABYTES_MAX, MEGABYTES_MAX, NULL));
	json_object_set_new(file, "layers_description", schema_list(PIPELINE_TYPES_MAX, layer, NULL));
	file = open_object(file, json_pack("[s]", "layers_description"));
	json_object_set_new(file, "description",
	                    json_string("a layer file of SAPP; a megabyte counts as 1e6 bytes"));
	return file;
}
