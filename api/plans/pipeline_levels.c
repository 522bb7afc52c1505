#include <math.h>
#include <stdlib.h>

#include "api/plans/kinds.h"
#include "api/plans/pipeline.h"
#include "api/plans/schema.h"
#include "planner/pipeline/pipedream.h"

/* Method `pipedream` with `levels`: how many machines share each stage is searched too. */

/* A request as read, layer by layer; the arrays are its own. */
struct levels_input {
	struct pipedream_problem problem; /* borrows the arrays */
	struct pipedream_level levels[PIPEDREAM_LEVELS_MAX];
	double *time, *weights, *parameters, *activation, *output;
	int64_t outputs; /* layers that tell what they send on */
};

static void input_clear(struct levels_input *in)
{
	free(in->time);
	free(in->weights);
	free(in->parameters);
	free(in->activation);
	free(in->output);
}

static int read_levels(const json_t *request, struct levels_input *in, struct sb_error *err)
{
	static const char *const members[] = {"machines", "bytes_per_second", NULL};
	struct place root = place_of(""), here = place_member(&root, "levels");
	const json_t *list = json_object_get(request, "levels");
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "levels", "must be a list");
	if (n < 1 || n > PIPEDREAM_LEVELS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "levels",
		                  "must list 1 to 4 levels, from the innermost on");
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);
		const json_t *level = json_array_get(list, i);

		rc = parse_members(level, &at, members, err);
		if (rc == SB_OK)
			rc = parse_integer(level, &at, "machines", REQUIRED, 1, PIPELINE_DEVICES_MAX,
			                   &in->levels[i].machines, err);
		if (rc == SB_OK)
			rc = parse_number(level, &at, "bytes_per_second", REQUIRED, 1, PIPELINE_BYTES_MAX,
			                  &in->levels[i].bandwidth, err);
	}
	in->problem.levels = in->levels;
	in->problem.level_count = (int64_t)n;
	return rc;
}

static int read_activation(const json_t *layer, const struct place *at, enum need need, double *out,
                           struct sb_error *err)
{
	static const char *const members[] = {"none", NULL};
	struct place here = place_member(at, "activation_bytes");
	const json_t *value;
	int rc = parse_object(layer, at, "activation_bytes", need, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	rc = parse_members(value, &here, members, err);
	return rc == SB_OK ? parse_number(value, &here, "none", REQUIRED, 0, PIPELINE_BYTES_MAX, out, err)
	                   : rc;
}

/* sized: there is a bound, so that the sizes must be told. */
static int read_layer(const json_t *layer, const struct place *at, bool sized, struct levels_input *in,
                      struct sb_error *err)
{
	static const char *const members[] = {"name",
	                                      "count",
	                                      "forward",
	                                      "backward",
	                                      "weights_bytes",
	                                      "parameters_bytes",
	                                      "output_bytes",
	                                      "activation_bytes",
	                                      NULL};
	double forward = 0, backward, weights = 0, parameters, activation = 0, output = NAN;
	const char *name;
	int64_t count = 1;
	int rc = parse_members(layer, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(layer, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = parse_integer(layer, at, "count", OPTIONAL, 1, PIPELINE_LAYERS_MAX, &count, err);
	if (rc == SB_OK)
		rc = parse_number(layer, at, "forward", REQUIRED, 0, PIPELINE_TIME_MAX, &forward, err);
	backward = 2 * forward;
	if (rc == SB_OK)
		rc = parse_number(layer, at, "backward", OPTIONAL, 0, PIPELINE_TIME_MAX, &backward, err);
	if (rc == SB_OK)
		rc = parse_number(layer, at, "weights_bytes", REQUIRED, 0, PIPELINE_BYTES_MAX, &weights, err);
	parameters = weights;
	if (rc == SB_OK)
		rc = parse_number(layer, at, "parameters_bytes", sized ? REQUIRED : OPTIONAL, weights,
		                  PIPELINE_BYTES_MAX, &parameters, err);
	if (rc == SB_OK)
		rc = read_activation(layer, at, sized ? REQUIRED : OPTIONAL, &activation, err);
	if (rc == SB_OK)
		rc = parse_number(layer, at, "output_bytes", OPTIONAL, 0, PIPELINE_BYTES_MAX, &output, err);
	if (rc == SB_OK && in->problem.layers + count > PIPELINE_LAYERS_MAX)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "count",
		                "must be 1024 layers at most, all counts together");
	for (int64_t i = 0; rc == SB_OK && i < count; i++) {
		int64_t l = in->problem.layers++;

		in->time[l] = forward + backward;
		in->weights[l] = weights;
		in->parameters[l] = parameters;
		in->activation[l] = activation;
		in->output[l] = output;
		in->outputs += !isnan(output);
	}
	return rc;
}

static int read_layers(const json_t *request, struct levels_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, "layers");
	const json_t *list = json_object_get(request, "layers");
	size_t n = json_array_size(list), room = PIPELINE_LAYERS_MAX * sizeof(double);
	bool sized = !isinf(in->problem.memory);
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, list ? "wrong_type" : "missing_member", &root, "layers",
		                  "must be a list");
	if (n < 1 || n > PIPELINE_LAYERS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
		                  "must list 1 to 1024 layers");
	in->time = malloc(room);
	in->weights = malloc(room);
	in->parameters = malloc(room);
	in->activation = malloc(room);
	in->output = malloc(room);
	if (!in->time || !in->weights || !in->parameters || !in->activation || !in->output)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);

		rc = read_layer(json_array_get(list, i), &at, sized, in, err);
	}
	if (rc == SB_OK && in->outputs > 0 && in->outputs < in->problem.layers)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "layers",
		                "must have output_bytes all, or none");
	return rc;
}

static int read_input(const json_t *request, struct levels_input *in, struct sb_error *err)
{
	static const char *const members[] = {"kind", "method", "levels", "layers", "memory_bytes", NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	in->problem.memory = INFINITY;
	if (rc == SB_OK)
		rc = parse_number(request, &root, "memory_bytes", OPTIONAL, 0, PIPELINE_BYTES_MAX,
		                  &in->problem.memory, err);
	if (rc == SB_OK)
		rc = read_levels(request, in, err);
	if (rc == SB_OK)
		rc = read_layers(request, in, err);
	in->problem.time = in->time;
	in->problem.weights = in->weights;
	in->problem.parameters = in->parameters;
	in->problem.activation = in->activation;
	in->problem.output = in->outputs > 0 ? in->output : NULL;
	return rc;
}

static json_t *warnings_of(const struct levels_input *in)
{
	json_t *list = json_array();

	if (in->problem.level_count > 1 && !isinf(in->problem.memory))
		json_warn(list, "memory_by_level",
		          "each level counts memory for itself, as published: what a machine holds for "
		          "micro-batches that other levels keep under way is left out");
	return list;
}

static json_t *answer_of(const struct levels_input *in, const struct pipedream_plan *plan, double seconds)
{
	const struct pipeline_proof proof = {"slowest stage or link", plan->bottleneck, plan->bottleneck,
	                                     true, plan->candidates};
	json_t *layers = json_array(), *replicas = json_array(), *by_level = json_array();

	for (int64_t i = 0; i < plan->stage_count; i++) {
		const struct pipedream_stage *x = &plan->stages[i];
		json_t *levels = json_array();
		int64_t copies = 1;

		for (int64_t l = 0; l < in->problem.level_count; l++) {
			copies *= x->replicas[l];
			json_array_append_new(levels, json_integer(x->replicas[l]));
		}
		json_array_append_new(layers, json_integer(x->count));
		json_array_append_new(replicas, json_integer(copies));
		json_array_append_new(by_level, levels);
	}
	return json_pack("{s:{s:[o],s:o,s:o},s:{s:f,s:o},s:o,s:[],s:[],s:[],s:o}", "solution", "layers",
	                 layers, "replicas", replicas, "replicas_by_level", by_level, "predicted",
	                 "bottleneck", plan->bottleneck, "data_parallel_bottleneck",
	                 json_real_or_null(isinf(plan->data_parallel) ? NAN : plan->data_parallel), "quality",
	                 pipeline_quality_to_json(&proof, seconds), "alternatives", "frontier", "rejected",
	                 "warnings", warnings_of(in));
}

int pipeline_levels_solve(const json_t *request, const struct sb_watch *watch, json_t **out,
                          json_t **out_extra, struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct levels_input in = {0};
	PIPEDREAM_PLAN_AUTO plan = {0};
	double start = plan_clock();
	int rc = read_input(request, &in, err);

	in.problem.watch = watch;
	if (rc == SB_OK)
		rc = pipedream_replicate(&in.problem, &plan, err);
	if (rc == SB_EINFEASIBLE || rc == SB_ELIMIT) {
		struct sb_error why = *err;
		double least;

		if (rc == SB_EINFEASIBLE && pipedream_least_memory(&in.problem, &least, NULL) == SB_OK)
			*out_extra = plan_least_memory(least);
		return sb_fail_field(err, rc, why.word, rc == SB_ELIMIT ? "/levels" : "/memory_bytes", "%s%s",
		                     why.text,
		                     rc == SB_EINFEASIBLE && in.problem.level_count > 1
		                         ? ": each level holds its stages whole in one machine, as published"
		                         : "");
	}
	if (rc != SB_OK)
		return rc;
	*out = answer_of(&in, &plan, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *bytes_of(const char *description)
{
	return schema_number(0, PIPELINE_BYTES_MAX, description);
}

static json_t *layer_schema(void)
{
	static const char *const needs[] = {"forward", "weights_bytes", NULL}, *const none[] = {"none", NULL};
	json_t *p = json_object();

	json_object_set_new(p, "name", json_pack("{s:s}", "type", "string"));
	json_object_set_new(p, "count", schema_integer(1, PIPELINE_LAYERS_MAX));
	json_object_set_new(p, "forward", schema_number(0, PIPELINE_TIME_MAX, NULL));
	json_object_set_new(p, "backward", schema_number(0, PIPELINE_TIME_MAX, "default: twice forward"));
	json_object_set_new(p, "weights_bytes", bytes_of("what copies of the layer exchange"));
	json_object_set_new(p, "parameters_bytes",
	                    bytes_of("weights, gradients and optimizer; needed with memory_bytes"));
	json_object_set_new(p, "activation_bytes",
	                    schema_object(json_pack("{s:o}", "none", bytes_of(NULL)), none));
	json_object_set_new(p, "output_bytes",
	                    bytes_of("over the cut behind it; of all layers, or transfers are not counted"));
	return schema_object(p, needs);
}

json_t *pipeline_levels_schema(void)
{
	static const char *const needs[] = {"levels", "layers", "method", NULL};
	static const char *const both[] = {"machines", "bytes_per_second", NULL};
	json_t *p = json_object(), *level = json_object();

	json_object_set_new(level, "machines", schema_integer(1, PIPELINE_DEVICES_MAX));
	json_object_set_new(level, "bytes_per_second", schema_number(1, PIPELINE_BYTES_MAX, NULL));
	json_object_set_new(p, "kind", json_object());
	json_object_set_new(p, "method", json_pack("{s:s}", "const", "pipedream"));
	json_object_set_new(
	    p, "levels",
	    schema_list(PIPEDREAM_LEVELS_MAX, schema_object(level, both),
	                "of the network, from the innermost on: how many of the level below"));
	json_object_set_new(p, "layers", schema_list(PIPELINE_LAYERS_MAX, layer_schema(), NULL));
	json_object_set_new(p, "memory_bytes", bytes_of("of each machine; left out: no bound"));
	return schema_object(p, needs);
}
