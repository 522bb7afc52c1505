#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "planner/pipeline/methods.h"

const char *const pipeline_objective_words[] = {"makespan", "bottleneck", "whole", NULL};
const char *const pipeline_communication_words[] = {"overlapped", "serial", NULL};

void pipeline_input_clear(struct pipeline_input *in)
{
	free(in->bodies);
	free(in->names);
	json_decref(in->request);
	free(in->memory);
	free(in->cut_send);
	free(in->link_send);
	free(in->rows);
	free(in->terms);
	*in = (struct pipeline_input){0};
}

static int read_schedule(const json_t *request, struct schedule_shape *s, struct sb_error *err)
{
	struct place root = place_of("");
	const struct schedule_facts *facts;
	const struct pipeline_method *method;
	const char *name = NULL;
	int64_t chunks = 0;
	int rc = parse_integer(request, &root, "interleave", OPTIONAL, 1, SCHEDULE_CHUNKS_MAX, &chunks, err);

	if (rc == SB_OK)
		rc = parse_text(request, &root, "schedule", OPTIONAL, &name, err);
	if (rc != SB_OK)
		return rc;
	method = pipeline_method_of(json_string_value(json_object_get(request, "method")));
	s->kind = chunks > 1 ? SCHEDULE_INTERLEAVED : method ? method->schedule : SCHEDULE_1F1B;
	if (name && schedule_kind_of(name, &s->kind) != SB_OK)
		return parse_fail(err, SB_EINVAL, "unknown_word", &root, "schedule",
		                  "is no schedule (GET /v1/plan-kinds lists them)");
	facts = schedule_facts(s->kind);
	/* the two directions hold the same stages: one chunk of layers a device is two to the simulator */
	if (chunks == 0 || (facts->two_way && chunks == 1))
		chunks = facts->chunks > 0 ? facts->chunks : 2;
	s->chunks = chunks;
	return SB_OK;
}

/* The schedule's reasons, with this kind's names. */
static int check_shape(const struct schedule_shape *s, struct sb_error *err)
{
	struct place root = place_of("");
	struct sb_error why = {0};
	int rc = schedule_check(s, &why);

	if (rc == SB_OK)
		return SB_OK;
	return parse_fail(err, why.code, why.word, &root,
	                  strcmp(why.field, "chunks") == 0 ? "interleave" : why.field, why.text);
}

int pipeline_read_shape(const json_t *request, struct schedule_shape *s, struct sb_error *err)
{
	struct place root = place_of("");
	int rc = read_schedule(request, s, err);

	s->slices = 1;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "stages", REQUIRED, 1, PIPELINE_DEVICES_MAX, &s->devices,
		                   err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "micro_batches", REQUIRED, 1, UINT32_MAX,
		                   &s->micro_batches, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "slices", OPTIONAL, 1, UINT16_MAX, &s->slices, err);
	return rc == SB_OK ? check_shape(s, err) : rc;
}

static int read_memory(const json_t *request, struct pipeline_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/memory_bytes");
	const json_t *v = json_object_get(request, "memory_bytes");
	int64_t devices = in->problem.shape.devices;
	double all = INFINITY;
	int rc = SB_OK;

	in->memory = malloc((size_t)devices * sizeof(*in->memory));
	if (!in->memory)
		return sb_no_memory(err);
	in->problem.memory = in->memory;
	if (json_is_array(v)) {
		if (json_array_size(v) != (size_t)devices)
			return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "memory_bytes",
			                  "must be one number, or one a stage");
		return parse_numbers(v, &here, 0, PIPELINE_BYTES_MAX, in->memory, err);
	}
	rc = parse_number(request, &root, "memory_bytes", OPTIONAL, 0, PIPELINE_BYTES_MAX, &all, err);
	for (int64_t d = 0; d < devices; d++)
		in->memory[d] = all;
	return rc;
}

/* One number; or one for each cut between two layers; or one for each link between two devices. */
static int read_sends(const json_t *request, struct pipeline_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/send_seconds");
	const json_t *v = json_object_get(request, "send_seconds");
	struct pipeline_problem *p = &in->problem;
	size_t n = json_array_size(v);
	double *list;

	if (!json_is_array(v))
		return parse_number(request, &root, "send_seconds", OPTIONAL, 0, PIPELINE_TIME_MAX,
		                    &p->send_seconds, err);
	if (n != (size_t)pipeline_layers(p) - 1 && n != (size_t)p->shape.devices - 1)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "send_seconds",
		                  "must be one number, one for each cut between two layers (layers - 1), or "
		                  "one for each link between two stages (stages - 1)");
	list = malloc((n + 1) * sizeof(*list));
	if (!list)
		return sb_no_memory(err);
	if (n == (size_t)pipeline_layers(p) - 1)
		p->cut_send = in->cut_send = list;
	else
		p->link_send = in->link_send = list;
	return parse_numbers(v, &here, 0, PIPELINE_TIME_MAX, list, err);
}

static int read_rest(const json_t *request, struct pipeline_input *out, struct sb_error *err)
{
	struct place root = place_of("");
	int objective = PIPELINE_MAKESPAN, communication = 0;
	int rc = read_sends(request, out, err);

	/* what was fitted to measured peaks can be negative (algorithms.md 1.3) */
	if (rc == SB_OK)
		rc = parse_number(request, &root, "constant_bytes", OPTIONAL, -PIPELINE_BYTES_MAX,
		                  PIPELINE_BYTES_MAX, &out->problem.constant, err);
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "allow_empty", &out->problem.allow_empty, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "objective", OPTIONAL, pipeline_objective_words, &objective,
		                err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "communication", OPTIONAL, pipeline_communication_words,
		                &communication, err);
	out->objective = (enum pipeline_objective)objective;
	out->problem.blocking = communication == 1;
	return rc == SB_OK ? pipeline_read_rows(request, out, err) : rc;
}

static int check_size(const struct pipeline_problem *p, struct sb_error *err)
{
	struct place root = place_of("");

	if (pipeline_layers(p) * schedule_stages(&p->shape) <= PIPELINE_CELLS_MAX)
		return SB_OK;
	return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
	                  "are too many: layers times stages (devices times chunks) must be 2^15 at most");
}

int pipeline_from_json(const json_t *request, struct pipeline_input *out, struct sb_error *err)
{
	static const char *const members[] = {
	    "kind",           "method",      "stages",         "micro_batches",
	    "memory_bytes",   "interleave",  "schedule",       "slices",
	    "layers",         "head",        "tail",           "send_seconds",
	    "constant_bytes", "allow_empty", "recompute_cost", "objective",
	    "format",         "layers_file", "given",          "communication",
	    "rows",           NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = pipeline_read_shape(request, &out->problem.shape, err);
	if (rc == SB_OK)
		rc = pipeline_sapp_import(request, &out->request, err);
	if (rc == SB_OK)
		rc = pipeline_read_layers(out->request, out, err);
	if (rc == SB_OK)
		rc = check_size(&out->problem, err);
	if (rc == SB_OK)
		rc = read_memory(request, out, err);
	return rc == SB_OK ? read_rest(out->request, out, err) : rc;
}
