#include "api/plans/pipeline.h"
#include "api/plans/schema.h"
#include "planner/schedule/schedule.h"

static json_t *time_of(const char *description)
{
	return schema_number(0, PIPELINE_TIME_MAX, description);
}

static json_t *bytes_of(const char *description)
{
	return schema_number(0, PIPELINE_BYTES_MAX, description);
}

/* One number a way to recompute, from `first` on. */
static json_t *by_recompute(int first, double high, const char *const *required)
{
	json_t *p = json_object();

	for (int r = first; r < PIPELINE_RECOMPUTES; r++)
		json_object_set_new(p, pipeline_recompute_words[r], schema_number(0, high, NULL));
	return schema_object(p, required);
}

/* The same, but nothing takes no time at all. */
static json_t *some_time_of(const char *description)
{
	json_t *time = time_of(description);

	json_object_set_new(time, "exclusiveMinimum", json_integer(0));
	return time;
}

static json_t *layer_schema(void)
{
	static const char *const needs[] = {"count", "forward", NULL};
	static const char *const none[] = {"none", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "name", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "count", schema_integer(1, PIPELINE_LAYERS_MAX));
	json_object_set_new(p, "forward", some_time_of("of one layer and one micro-batch"));
	json_object_set_new(p, "backward",
	                    schema_either(some_time_of("default: twice forward"),
	                                  by_recompute(0, PIPELINE_BACKWARD_MAX, NULL)));
	json_object_set_new(p, "weight_gradient",
	                    time_of("the part of backward that schedules may split off; default: half"));
	json_object_set_new(
	    p, "overlapped",
	    schema_number(0, 2 * PIPELINE_TIME_MAX,
	                  "a forward beside another micro-batch's backward, for the pairs of dualpipe; "
	                  "default: the sum, and never below the longer of the two"));
	json_object_set_new(
	    p, "parameters_bytes",
	    bytes_of("weights, gradients and optimizer of one layer; needed with memory_bytes, as is "
	             "activation_bytes"));
	json_object_set_new(p, "activation_bytes", by_recompute(0, PIPELINE_BYTES_MAX, none));
	return schema_object(p, needs);
}

static json_t *end_schema(void)
{
	json_t *p = json_object();

	json_object_set_new(p, "name", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "forward", time_of(NULL));
	json_object_set_new(p, "backward", time_of("default: twice forward"));
	json_object_set_new(p, "parameters_bytes", bytes_of(NULL));
	return schema_object(p, NULL);
}

json_t *pipeline_schedule_names(void)
{
	json_t *names = json_array();

	for (int k = 0; k < SCHEDULE_KINDS; k++)
		json_array_append_new(names, json_string(schedule_facts((enum schedule_kind)k)->name));
	return json_pack("{s:o}", "enum", names);
}

/* Stages, chunks and what there is of each device. */
static void add_shape(json_t *p)
{
	json_object_set_new(p, "stages", schema_integer(1, PIPELINE_DEVICES_MAX));
	json_object_set_new(p, "micro_batches", schema_integer(1, UINT32_MAX));
	json_object_set_new(p, "interleave", schema_integer(1, SCHEDULE_CHUNKS_MAX));
	json_object_set_new(p, "schedule", pipeline_schedule_names());
	json_object_set_new(p, "slices", schema_integer(1, UINT16_MAX));
	json_object_set_new(p, "memory_bytes",
	                    schema_either(bytes_of("of each stage; left out: no bound"),
	                                  schema_list(PIPELINE_DEVICES_MAX, bytes_of(NULL), "one a stage")));
	json_object_set_new(p, "send_seconds",
	                    schema_either(time_of("a hop from stage to stage; default 0"),
	                                  schema_list(PIPELINE_LAYERS_MAX - 1, time_of(NULL),
	                                              "one a cut between two layers (layers - 1), or one a "
	                                              "link between two stages (stages - 1)")));
	json_object_set_new(p, "communication",
	                    json_pack("{s:[s,s],s:s}", "enum", pipeline_communication_words[0],
	                              pipeline_communication_words[1], "description",
	                              "serial: a hop keeps both of its devices busy; default: overlapped, it "
	                              "only delays"));
	json_object_set_new(p, "constant_bytes",
	                    schema_number(-PIPELINE_BYTES_MAX, PIPELINE_BYTES_MAX,
	                                  "what each stage needs besides; a fitted one may be negative"));
	json_object_set_new(p, "allow_empty", schema_boolean("stages may have no layer; default false"));
}

/* [[per stage] per chunk], or [per stage]; whole numbers from low on. */
static json_t *rows_schema(int64_t low)
{
	return schema_either(
	    schema_list(PIPELINE_DEVICES_MAX, schema_integer(low, PIPELINE_LAYERS_MAX), NULL),
	    schema_list(SCHEDULE_CHUNKS_MAX,
	                schema_list(PIPELINE_DEVICES_MAX, schema_integer(low, PIPELINE_LAYERS_MAX), NULL),
	                "one list a chunk"));
}

static json_t *recompute_rows(void)
{
	json_t *p = json_object();

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		json_object_set_new(p, pipeline_recompute_words[r], rows_schema(0));
	return schema_object(p, NULL);
}

/* A plan's own schedule, where it is not that of the request. */
static void add_schedule(json_t *p)
{
	json_object_set_new(p, "schedule", pipeline_schedule_names());
	json_object_set_new(p, "interleave", schema_integer(1, SCHEDULE_CHUNKS_MAX));
}

static json_t *own_plan(void)
{
	static const char *const needs[] = {"layers", NULL}, *const types[] = {"types", NULL};
	json_t *type = json_object(), *p = json_object(), *o;

	json_object_set_new(type, "name", json_pack("{s:[s,s]}", "type", "string", "null"));
	json_object_set_new(type, "layers", rows_schema(0));
	json_object_set_new(type, "recompute", recompute_rows());
	json_object_set_new(p, "layers", rows_schema(0));
	json_object_set_new(p, "recompute", recompute_rows());
	json_object_set_new(p, "types", schema_list(PIPELINE_TYPES_MAX, schema_object(type, needs), NULL));
	add_schedule(p);
	o = schema_object(p, NULL);
	json_object_set_new(o, "anyOf",
	                    json_pack("[{s:[s]},{s:[s]}]", "required", needs[0], "required", types[0]));
	return o;
}

static json_t *switch_schema(void)
{
	return schema_either(json_pack("{s:s}", "type", "boolean"), rows_schema(0));
}

static json_t *given_schema(void)
{
	static const char *const offset[] = {"offset", NULL}, *const text[] = {
	                                                          "pipeline_model_parallel_layout", NULL};
	json_t *mindformers = json_object(), *megatron = json_object(), *o;

	json_object_set_new(mindformers, "offset",
	                    schema_either(json_pack("{s:s,s:i}", "type", "integer", "const", 0),
	                                  rows_schema(-PIPELINE_LAYERS_MAX)));
	json_object_set_new(mindformers, "recompute", switch_schema());
	json_object_set_new(mindformers, "select_recompute", switch_schema());
	json_object_set_new(mindformers, "select_comm_recompute", switch_schema());
	add_schedule(mindformers);
	add_schedule(megatron);
	json_object_set_new(megatron, text[0], json_pack("{s:s}", "type", "string"));
	json_object_set_new(megatron, "recompute", recompute_rows());
	o = json_pack("{s:[o,o,o],s:s}", "anyOf", own_plan(), schema_object(mindformers, offset),
	              schema_object(megatron, text), "description",
	              "a plan of your own: scored as method given, or compared with that of another method");
	return o;
}

static json_t *user_rows(void)
{
	static const char *const needs[] = {"terms", NULL};
	json_t *term = json_object(), *row = json_object(), *list;

	json_object_set_new(term, "weight", schema_number(-1e6, 1e6, "default 1"));
	json_object_set_new(term, "layer",
	                    json_pack("{s:[s,s],s:s}", "type", "string", "integer", "description",
	                              "the name of a type of layers, or its place in layers; left out: all"));
	json_object_set_new(term, "recompute", schema_words(pipeline_recompute_words));
	json_object_set_new(term, "chunk", schema_integer(0, SCHEDULE_CHUNKS_MAX - 1));
	json_object_set_new(term, "stage", schema_integer(0, PIPELINE_DEVICES_MAX - 1));
	json_object_set_new(row, "terms",
	                    schema_list(PIPELINE_TERMS_MAX, schema_object(term, NULL),
	                                "what is left out of a term counts all"));
	json_object_set_new(row, "at_least", schema_number(-1e12, 1e12, NULL));
	json_object_set_new(row, "at_most", schema_number(-1e12, 1e12, NULL));
	row = schema_object(row, needs);
	json_object_set_new(row, "anyOf",
	                    json_pack("[{s:[s]},{s:[s]}]", "required", "at_least", "required", "at_most"));
	list =
	    schema_list(PIPELINE_ROWS_MAX, row,
	                "bounds on sums of weight * layers, kept by method bmpipe; some need an ILP solver");
	json_object_del(list, "minItems");
	return list;
}

static void may_be_list(json_t *properties, const char *member, int64_t most)
{
	json_t *one = json_incref(json_object_get(properties, member));

	json_object_set_new(properties, member,
	                    schema_either(one, schema_list(most, json_incref(one), "each of them is tried")));
}

json_t *pipeline_schema(bool lists)
{
	static const char *const needs[] = {"stages", "micro_batches", NULL};
	json_t *p = json_object(), *o;

	add_shape(p);
	if (lists) {
		may_be_list(p, "interleave", PIPELINE_INTERLEAVES_MAX);
		may_be_list(p, "schedule", SCHEDULE_KINDS);
	}
	json_object_set_new(p, "layers",
	                    schema_list(PIPELINE_TYPES_MAX, layer_schema(), "in the order of the model"));
	json_object_set_new(p, "head", end_schema());
	json_object_set_new(p, "tail", end_schema());
	json_object_set_new(p, "recompute_cost", by_recompute(1, 1e3, NULL));
	json_object_set_new(p, "objective", schema_words(pipeline_objective_words));
	json_object_set_new(p, "format", json_pack("{s:s}", "const", "sapp"));
	json_object_set_new(p, "layers_file", pipeline_sapp_schema());
	json_object_set_new(
	    p, "profile",
	    json_pack("{s:s,s:s}", "type", "string", "description",
	              "id of a stored profile: its layers, head and tail, where they are not given"));
	json_object_set_new(p, "given", given_schema());
	json_object_set_new(p, "rows", user_rows());
	o = schema_object(p, needs);
	json_object_set_new(o, "anyOf",
	                    json_pack("[{s:[s]},{s:[s]},{s:[s]}]", "required", "layers", "required",
	                              "layers_file", "required", "profile"));
	json_object_set_new(o, "dependentSchemas",
	                    json_pack("{s:{s:{s:{s:{s:[s,s]}}}}}", "memory_bytes", "properties", "layers",
	                              "items", "required", "parameters_bytes", "activation_bytes"));
	return o;
}
