#include "api/plans/pipeline_csimd.h"
#include "api/plans/schema.h"

static json_t *time_of(const char *description)
{
	return schema_number(0, CSIMD_TIME_MAX, description);
}

static json_t *bytes_of(const char *description)
{
	return schema_number(0, CSIMD_BYTES_MAX, description);
}

static json_t *table_schema(void)
{
	static const char *const needs[] = {"samples", "forward", NULL};
	json_t *p = json_object();

	json_object_set_new(
	    p, "samples",
	    schema_list(CSIMD_POINTS_MAX, schema_integer(1, CSIMD_SAMPLES_MAX), "of a micro-batch, rising"));
	json_object_set_new(p, "forward",
	                    schema_list(CSIMD_POINTS_MAX, time_of(NULL), "one a count, lines between"));
	json_object_set_new(p, "backward",
	                    schema_list(CSIMD_POINTS_MAX, time_of(NULL), "default: twice forward"));
	return schema_object(p, needs);
}

static json_t *form_schema(void)
{
	static const char *const words[] = {"polynomial", "attention", NULL};
	static const char *const needs[] = {"form", "coefficients", NULL};
	json_t *c = json_object(), *p = json_object(), *form = schema_words(words);

	json_object_set_new(c, "a", time_of("default 0"));
	json_object_set_new(c, "k", time_of("default 0"));
	json_object_set_new(c, "b0", time_of("default 0"));
	json_object_set_new(c, "q", time_of("default 0"));
	json_object_set_new(c, "rho", time_of("backward as a multiple of forward, default 2"));
	json_object_set_new(form, "description",
	                    json_string("polynomial: a + k max(b, b0) + q b^2 for b samples; attention, of "
	                                "slices: a + k max(b, b0) + q b (tokens before it + b / 2)"));
	json_object_set_new(p, "form", form);
	json_object_set_new(p, "coefficients", schema_object(c, NULL));
	return schema_object(p, needs);
}

static json_t *layer_schema(void)
{
	static const char *const needs[] = {"time", NULL}, *const none[] = {"none", NULL};
	json_t *p = json_object(), *kept = json_object();

	json_object_set_new(kept, "none", bytes_of(NULL));
	json_object_set_new(p, "name", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "count", schema_integer(1, CSIMD_LAYERS_MAX));
	json_object_set_new(p, "time", schema_either(table_schema(), form_schema()));
	json_object_set_new(p, "parameters_bytes",
	                    bytes_of("weights, gradients and optimizer of one layer; default 0"));
	json_object_set_new(
	    p, "activation_bytes",
	    schema_either(bytes_of("of one layer and sample; default 0"), schema_object(kept, none)));
	return schema_object(p, needs);
}

static json_t *links(const char *description)
{
	return schema_either(time_of(description),
	                     schema_list(CSIMD_LAYERS_MAX - 1, time_of(NULL),
	                                 "one a cut between two layers (layers - 1), or one a link between "
	                                 "two stages (stages - 1)"));
}

static json_t *send_schema(void)
{
	json_t *p = json_object(), *either = links("of a micro-batch over a cut, each way; default 0");

	json_object_set_new(p, "alpha", links("of a transfer; default 0"));
	json_object_set_new(p, "beta", links("of a sample; default 0"));
	json_array_append_new(json_object_get(either, "anyOf"), schema_object(p, NULL));
	return either;
}

json_t *csimd_schema(void)
{
	static const char *const needs[] = {"samples", "stages", "layers", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "samples", schema_integer(1, CSIMD_SAMPLES_MAX));
	json_object_set_new(p, "samples_max", schema_integer(1, CSIMD_SAMPLES_MAX));
	json_object_set_new(p, "stages", schema_integer(1, CSIMD_STAGES_MAX));
	json_object_set_new(p, "micro_batches", schema_integer(1, CSIMD_SAMPLES_MAX));
	json_object_set_new(p, "schedule", schema_words(csimd_schedule_words));
	json_object_set_new(p, "layers",
	                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "minItems", 1, "items",
	                              layer_schema(), "description",
	                              "in the order of the model; 100000 layers at most"));
	json_object_set_new(p, "send_seconds", send_schema());
	json_object_set_new(p, "speeds",
	                    schema_list(CSIMD_STAGES_MAX,
	                                schema_number(CSIMD_SPEED_LEAST, CSIMD_SPEED_MAX, NULL),
	                                "one a stage: it takes a layer's time / speed; default 1"));
	json_object_set_new(p, "memory_bytes",
	                    schema_either(bytes_of("of each stage; left out: no bound"),
	                                  schema_list(CSIMD_STAGES_MAX, bytes_of(NULL), "one a stage")));
	json_object_set_new(
	    p, "constant_bytes",
	    schema_number(-CSIMD_BYTES_MAX, CSIMD_BYTES_MAX, "what each stage needs besides"));
	json_object_set_new(p, "sizes", schema_words(csimd_sizes_words));
	json_object_set_new(p, "search", schema_words(csimd_search_words));
	json_object_set_new(p, "slice_unit", schema_integer(1, CSIMD_SAMPLES_MAX));
	json_object_set_new(p, "objective", json_pack("{s:s}", "const", "makespan"));
	return schema_object(p, needs);
}
