#include <math.h>
#include <stdlib.h>

#include "api/plans/gantt.h"
#include "api/plans/kinds.h"
#include "api/plans/parse.h"
#include "api/plans/pipeline.h"
#include "api/plans/schema.h"
#include "planner/schedule/schedule.h"

/* The kind `schedule`: what a given schedule takes on given stages. Nothing is searched. */

static const char *const methods[] = {"simulate", NULL};
#define SECONDS_MAX 1e9

/* A request as read; the arrays are its own. */
struct schedule_input {
	struct schedule_shape shape;
	struct schedule_times times;
	/* of one slice of a stage: what the times borrow */
	double *forward, *backward, *weight, *overlapped, *recompute;
	bool halved; /* the backward was not told apart, and had to be */
};

static void input_clear(struct schedule_input *in)
{
	free(in->forward);
	free(in->backward);
	free(in->weight);
	free(in->overlapped);
	free(in->recompute);
	*in = (struct schedule_input){0};
}

static int read_kind(const json_t *request, struct schedule_shape *s, struct sb_error *err)
{
	struct place root = place_of("");
	const char *name = NULL;
	int rc = parse_text(request, &root, "schedule", REQUIRED, &name, err);

	if (rc == SB_OK && schedule_kind_of(name, &s->kind) != SB_OK)
		rc = parse_fail(err, SB_EINVAL, "unknown_word", &root, "schedule",
		                "is no schedule (GET /v1/plan-kinds lists them)");
	return rc;
}

static int read_shape(const json_t *request, struct schedule_shape *s, struct sb_error *err)
{
	struct place root = place_of("");
	struct sb_error why = {0};
	int rc = read_kind(request, s, err);

	if (rc != SB_OK)
		return rc;
	s->chunks = schedule_facts(s->kind)->chunks;
	s->chunks = s->chunks > 0 ? s->chunks : 2;
	s->slices = 1;
	rc = parse_integer(request, &root, "stages", REQUIRED, 1, UINT16_MAX, &s->devices, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "micro_batches", REQUIRED, 1, UINT32_MAX,
		                   &s->micro_batches, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "chunks", OPTIONAL, 1, UINT16_MAX, &s->chunks, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "slices", OPTIONAL, 1, UINT16_MAX, &s->slices, err);
	if (rc != SB_OK)
		return rc;
	rc = schedule_check(s, &why);
	return rc == SB_OK ? SB_OK : parse_fail(err, why.code, why.word, &root, why.field, why.text);
}

/* A number, or one a stage; by device into out. */
static int read_by_stage(const json_t *request, const char *member, const struct schedule_shape *s,
                         double *out, struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, member);
	const json_t *v = json_object_get(request, member);
	double all = 0;
	int rc = SB_OK;

	if (!json_is_array(v)) {
		rc = parse_number(request, &root, member, REQUIRED, 0, SECONDS_MAX, &all, err);
		for (int64_t d = 0; d < s->devices; d++)
			out[d] = all;
		return rc;
	}
	if (json_array_size(v) != (size_t)s->devices)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, member,
		                  "must have one number a stage");
	return parse_numbers(v, &here, 0, SECONDS_MAX, out, err);
}

/* A device's whole stage is its chunks together; of two directions each runs through a whole stage. */
static void share_out(const struct schedule_shape *s, const double *by_device, double *out)
{
	double chunks = schedule_facts(s->kind)->two_way ? 1 : (double)s->chunks;

	for (int64_t i = 0; i < schedule_stages(s); i++)
		for (int64_t k = 0; k < s->slices; k++)
			out[i * s->slices + k] =
			    by_device[schedule_device(s, i, false)] / (chunks * (double)s->slices);
}

/* Backward and weights' gradients a device, with what is left out filled in. */
static int read_backward(const json_t *request, struct schedule_input *in, const double *forward,
                         double *backward, double *weight, struct sb_error *err)
{
	const struct schedule_shape *s = &in->shape;
	bool told = parse_given(request, "weight_gradient") != NULL;
	int rc = SB_OK;

	if (told || parse_given(request, "backward"))
		rc = read_by_stage(request, "backward", s, backward, err);
	else
		for (int64_t d = 0; d < s->devices; d++)
			backward[d] = 2 * forward[d];
	if (rc == SB_OK && told)
		return read_by_stage(request, "weight_gradient", s, weight, err);
	in->halved = schedule_facts(s->kind)->splits;
	for (int64_t d = 0; d < s->devices; d++) {
		weight[d] = in->halved ? backward[d] / 2 : 0;
		backward[d] -= weight[d];
	}
	return rc;
}

static int read_overlapped(const json_t *request, struct schedule_input *in, struct sb_error *err)
{
	struct place root = place_of("");
	size_t n = (size_t)schedule_stages(&in->shape);
	double seconds = 0;
	int rc;

	if (!parse_given(request, "overlapped"))
		return SB_OK;
	if (!schedule_facts(in->shape.kind)->pairs)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "overlapped",
		                  "this schedule runs no pairs");
	rc = parse_number(request, &root, "overlapped", REQUIRED, 0, SECONDS_MAX, &seconds, err);
	in->overlapped = malloc(n * sizeof(*in->overlapped));
	if (rc == SB_OK && !in->overlapped)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++)
		in->overlapped[i] = seconds;
	in->times.overlapped = in->overlapped;
	return rc;
}

/* One number a stage; a kind that recomputes early has one part of one chunk. */
static int read_recompute(const json_t *request, struct schedule_input *in, struct sb_error *err)
{
	struct place root = place_of("");

	if (!parse_given(request, "recompute"))
		return SB_OK;
	if (!schedule_facts(in->shape.kind)->recomputes)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "recompute",
		                  "this schedule does not recompute early: it is a part of backward");
	in->recompute = malloc((size_t)in->shape.devices * sizeof(*in->recompute));
	if (!in->recompute)
		return sb_no_memory(err);
	in->times.recompute = in->recompute;
	return read_by_stage(request, "recompute", &in->shape, in->recompute, err);
}

static int read_times(const json_t *request, struct schedule_input *in, struct sb_error *err)
{
	struct place root = place_of("");
	size_t devices = (size_t)in->shape.devices;
	size_t parts = (size_t)schedule_stages(&in->shape) * (size_t)in->shape.slices;
	double *by_device = calloc(3 * devices, sizeof(*by_device));
	int rc = SB_OK;

	in->forward = malloc(parts * sizeof(*in->forward));
	in->backward = malloc(parts * sizeof(*in->backward));
	in->weight = malloc(parts * sizeof(*in->weight));
	if (!by_device || !in->forward || !in->backward || !in->weight)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		rc = read_by_stage(request, "forward", &in->shape, by_device, err);
	if (rc == SB_OK)
		rc = read_backward(request, in, by_device, by_device + devices, by_device + 2 * devices, err);
	if (rc == SB_OK) {
		share_out(&in->shape, by_device, in->forward);
		share_out(&in->shape, by_device + devices, in->backward);
		share_out(&in->shape, by_device + 2 * devices, in->weight);
		in->times.forward = in->forward;
		in->times.backward = in->backward;
		in->times.weight = in->weight;
		rc = parse_number(request, &root, "send_seconds", OPTIONAL, 0, SECONDS_MAX,
		                  &in->times.send_seconds, err);
	}
	if (rc == SB_OK)
		rc = parse_boolean(request, &root, "blocking", &in->times.blocking, err);
	free(by_device);
	if (rc == SB_OK)
		rc = read_recompute(request, in, err);
	return rc == SB_OK ? read_overlapped(request, in, err) : rc;
}

static int read_input(const json_t *request, struct schedule_input *in, struct sb_error *err)
{
	static const char *const members[] = {
	    "kind",         "method",     "schedule",  "stages",   "micro_batches",
	    "chunks",       "slices",     "forward",   "backward", "weight_gradient",
	    "send_seconds", "overlapped", "recompute", "blocking", NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = read_shape(request, &in->shape, err);
	return rc == SB_OK ? read_times(request, in, err) : rc;
}

/* What the simulation gave: one a device each. */
struct outcome {
	double makespan;
	double *start, *end, *busy, *peak;
};

static json_t *predicted_to_json(const struct schedule_shape *s, const struct outcome *o)
{
	json_t *makespan = json_array(), *span = json_array(), *peak = json_array();
	double idle = 0;

	for (int64_t d = 0; d < s->devices; d++) {
		json_array_append_new(makespan, json_real(o->makespan - o->busy[d]));
		json_array_append_new(span, json_real(o->end[d] - o->start[d] - o->busy[d]));
		json_array_append_new(peak, json_integer((json_int_t)o->peak[d]));
		idle += o->makespan - o->busy[d];
	}
	return json_pack("{s:f,s:o,s:o,s:o,s:o}", "makespan", o->makespan, "bubble_share",
	                 json_real_or_null(o->makespan > 0 ? idle / (double)s->devices / o->makespan : NAN),
	                 "bubble_makespan", makespan, "bubble_span", span, "peak", peak);
}

/* No order of the same work can end before the busiest device has done its own. */
static json_t *quality_of(const struct schedule_shape *s, const struct outcome *o, double seconds)
{
	double bound = 0;

	for (int64_t d = 0; d < s->devices; d++)
		bound = fmax(bound, o->busy[d]);
	return json_pack("{s:n,s:f,s:f,s:i,s:f,s:n}", "optimal", "lower_bound", bound, "gap",
	                 o->makespan > 0 ? (o->makespan - bound) / o->makespan : 0.0, "candidates", 1,
	                 "search_seconds", seconds, "model_error");
}

static json_t *warnings_of(const struct schedule_input *in)
{
	json_t *list = json_array();

	if (in->halved)
		json_array_append_new(
		    list, json_pack("{s:s,s:s}", "code", "backward_halved", "detail",
		                    "weight_gradient is not given: half of the backward counts as that"));
	return list;
}

static json_t *answer_of(const struct schedule_input *in, const struct outcome *o, double seconds)
{
	const struct schedule_shape *s = &in->shape;
	json_t *solution =
	    json_pack("{s:s,s:I,s:I,s:I,s:I}", "schedule", schedule_facts(s->kind)->name, "stages",
	              (json_int_t)s->devices, "micro_batches", (json_int_t)s->micro_batches, "chunks",
	              (json_int_t)s->chunks, "slices", (json_int_t)s->slices);

	return json_pack("{s:o,s:o,s:o,s:[],s:[],s:[],s:o}", "solution", solution, "predicted",
	                 predicted_to_json(s, o), "quality", quality_of(s, o, seconds), "alternatives",
	                 "frontier", "rejected", "warnings", warnings_of(in));
}

static int simulate(const struct schedule_input *in, const struct sb_watch *watch, struct outcome *o,
                    struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct schedule_result r = {.start = o->start, .end = o->end, .busy = o->busy};
	int rc = schedule_program_build(&in->shape, &p, err);

	/* each of the three takes a quarter of a second at most */
	if (rc == SB_OK)
		rc = sb_watch_rc(watch);
	if (rc == SB_OK)
		rc = schedule_simulate(&p, &in->times, &r, err);
	if (rc == SB_OK)
		rc = sb_watch_rc(watch);
	if (rc != SB_OK)
		return rc;
	schedule_peaks(&p, NULL, o->peak);
	o->makespan = r.makespan;
	return SB_OK;
}

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct schedule_input in = {0};
	double start = plan_clock(), *room;
	struct outcome o;
	int rc = read_input(request, &in, err);

	(void)out_extra;
	if (rc != SB_OK)
		return rc;
	room = calloc(4 * (size_t)in.shape.devices, sizeof(*room));
	if (!room)
		return sb_no_memory(err);
	o = (struct outcome){.start = room,
	                     .end = room + in.shape.devices,
	                     .busy = room + 2 * in.shape.devices,
	                     .peak = room + 3 * in.shape.devices};
	rc = simulate(&in, watch, &o, err);
	if (rc == SB_OK)
		*out = answer_of(&in, &o, plan_clock() - start);
	free(room);
	return rc != SB_OK || *out ? rc : sb_no_memory(err);
}

static int draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct schedule_input in = {0};
	SCHEDULE_PROGRAM_AUTO p = {0};
	struct gantt g = {.program = &p, .times = &in.times};
	int rc = read_input(json_object_get(plan, "problem"), &in, err);

	if (rc == SB_OK)
		rc = schedule_program_build(&in.shape, &p, err);
	return rc == SB_OK ? gantt_write(&g, view, out, err) : rc;
}

static json_t *seconds_by_stage(const char *description)
{
	return schema_either(schema_number(0, SECONDS_MAX, description),
	                     schema_list(UINT16_MAX, schema_number(0, SECONDS_MAX, NULL), "one a stage"));
}

static json_t *schema(void)
{
	static const char *const needs[] = {"schedule", "stages", "micro_batches", "forward", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "schedule", pipeline_schedule_names());
	json_object_set_new(p, "stages", schema_integer(1, UINT16_MAX));
	json_object_set_new(p, "micro_batches", schema_integer(1, UINT32_MAX));
	json_object_set_new(p, "chunks", schema_integer(1, UINT16_MAX));
	json_object_set_new(p, "slices", schema_integer(1, UINT16_MAX));
	json_object_set_new(p, "forward",
	                    seconds_by_stage("of one device's whole stage, in seconds or any one unit"));
	json_object_set_new(
	    p, "backward",
	    seconds_by_stage("default: twice forward; with weight_gradient, of the input alone"));
	json_object_set_new(p, "weight_gradient", seconds_by_stage(NULL));
	json_object_set_new(p, "send_seconds", schema_number(0, SECONDS_MAX, "a hop; default 0"));
	json_object_set_new(p, "overlapped",
	                    schema_number(0, SECONDS_MAX, "a pair of dualpipe; default: its sum"));
	json_object_set_new(
	    p, "recompute",
	    seconds_by_stage("of 1f1b-early-recompute: that part of a backward, apart from it"));
	json_object_set_new(p, "blocking", schema_boolean("a transfer keeps both of its devices busy"));
	p = schema_object(p, needs);
	json_object_set_new(p, "dependentRequired", json_pack("{s:[s]}", "weight_gradient", "backward"));
	return p;
}

static json_t *limits(void)
{
	return json_pack("{s:i,s:i}", "stages", UINT16_MAX, "operations", SCHEDULE_OPERATIONS_MAX);
}

const struct plan_kind schedule_kind = {.name = "schedule",
                                        .methods = methods,
                                        .search = search,
                                        .schema = schema,
                                        .limits = limits,
                                        .schedule = draw};
