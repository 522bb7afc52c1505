#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline_csimd.h"
#include "planner/export/pipeline.h"

#define EXPORT_MAX ((size_t)1 << 20)

/* A plan as a pipeline of equal micro-batches. */
struct exported {
	struct pipeline_problem problem; /* one type of layers, of which only their number counts */
	struct pipeline_body body;
	struct pipeline_stage *stages;
	int64_t size; /* samples of a micro-batch */
};

static int read_cut(const json_t *solution, struct exported *x, struct sb_error *err)
{
	const json_t *row = json_array_get(json_object_get(solution, "layers"), 0);
	size_t stages = json_array_size(row);

	if (stages < 1)
		return sb_fail(err, SB_EINVAL, "no_such_plan",
		               "the document holds no cut of a pipeline into stages");
	x->stages = calloc(stages, sizeof(*x->stages));
	if (!x->stages)
		return sb_no_memory(err);
	x->problem.shape = (struct schedule_shape){
	    .kind = SCHEDULE_GPIPE, .devices = (int64_t)stages, .chunks = 1, .slices = 1};
	for (size_t i = 0; i < stages; i++) {
		x->stages[i].layers[KEEP_ALL] = json_integer_value(json_array_get(row, i));
		x->body.count += x->stages[i].layers[KEEP_ALL];
	}
	x->problem.bodies = &x->body;
	x->problem.body_count = 1;
	return SB_OK;
}

/* What no launcher can be told is refused with what would do. */
static int read_sizes(const json_t *solution, struct exported *x, struct sb_error *err)
{
	const json_t *runs = json_object_get(solution, "micro_batch_runs"), *run = json_array_get(runs, 0);

	if (json_object_get(solution, "slices"))
		return sb_fail_field(
		    err, SB_EIMPOSSIBLE, "no_such_schedule", "/solution/slices",
		    "neither Megatron-LM nor MindFormers runs slices of unlike lengths after "
		    "TeraPipe: method best with \"slices\" and \"schedule\": \"seq1f1b\" finds a "
		    "plan that MindFormers runs");
	if (json_array_size(runs) != 1)
		return sb_fail_field(
		    err, SB_EIMPOSSIBLE, "unequal_micro_batches", "/solution/micro_batch_runs",
		    "the launchers have one size for all micro-batches: \"sizes\": \"equal\" and "
		    "a number of \"micro_batches\" that divides the samples give such a plan");
	x->size = json_integer_value(json_object_get(run, "samples"));
	x->problem.shape.micro_batches = json_integer_value(json_object_get(run, "count"));
	return SB_OK;
}

int csimd_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                 struct sb_error *err)
{
	const json_t *solution = json_object_get(plan, "solution");
	bool megatron = strcmp(format, "megatron") == 0;
	struct exported x = {.size = 0};
	SB_BUF_AUTO text;
	int rc;

	sb_buf_init(&text, EXPORT_MAX);
	if (!megatron && strcmp(format, "mindformers") != 0)
		return sb_fail(err, SB_ENOENT, "unknown_format",
		               "this plan can be exported as: mindformers, megatron");
	rc = read_cut(solution, &x, err);
	if (rc == SB_OK)
		rc = read_sizes(solution, &x, err);
	if (rc == SB_OK)
		rc = megatron ? megatron_pipeline(&x.problem, x.stages, &text, err)
		              : mindformers_yaml(&x.problem, x.stages, &text, err);
	free(x.stages);
	if (rc != SB_OK)
		return rc;
	if (json_array_size(json_object_get(json_object_get(plan, "problem"), "layers")) > 1)
		sb_buf_adds(&text,
		            "# layers of every type are counted: take out those that the model does not "
		            "count as layers\n");
	if (megatron)
		sb_buf_addf(&text, "--micro-batch-size %lld\n--global-batch-size %lld\n", (long long)x.size,
		            (long long)(x.size * x.problem.shape.micro_batches));
	else
		sb_buf_addf(&text, "runner_config:\n  batch_size: %lld\n", (long long)x.size);
	if (text.status != SB_OK)
		return sb_no_memory(err);
	*out_text = sb_buf_take(&text);
	*out_type = megatron ? "text/plain; charset=utf-8" : "application/yaml";
	return SB_OK;
}
