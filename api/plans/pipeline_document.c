#include <stdlib.h>

#include "api/plans/pipeline.h"

static int not_a_plan(struct sb_error *err)
{
	return sb_fail(err, SB_EINVAL, "no_such_plan", "the document holds no cut of a pipeline into stages");
}

/* Reads [[per device] per chunk] into one way to recompute of one body. */
static int read_rows(const json_t *rows, const struct pipeline_problem *p, int64_t body, int recompute,
                     struct pipeline_stage *plan)
{
	int64_t chunks = schedule_stages(&p->shape) / p->shape.devices;

	if (json_array_size(rows) != (size_t)chunks)
		return SB_EINVAL;
	for (int64_t k = 0; k < chunks; k++) {
		const json_t *row = json_array_get(rows, (size_t)k);

		if (json_array_size(row) != (size_t)p->shape.devices)
			return SB_EINVAL;
		for (int64_t d = 0; d < p->shape.devices; d++) {
			int64_t stage = schedule_stage(&p->shape, d, k);
			const json_t *n = json_array_get(row, (size_t)d);

			if (!json_is_integer(n) || json_integer_value(n) < 0 ||
			    json_integer_value(n) > PIPELINE_LAYERS_MAX)
				return SB_EINVAL;
			plan[stage * p->body_count + body].layers[recompute] = json_integer_value(n);
		}
	}
	return SB_OK;
}

static int read_plan(const json_t *solution, const struct pipeline_problem *p, struct pipeline_stage *plan)
{
	const json_t *types = json_object_get(solution, "types");
	int rc = SB_OK;

	for (int64_t b = 0; b < p->body_count && rc == SB_OK; b++) {
		const json_t *type = p->body_count > 1 ? json_array_get(types, (size_t)b) : solution;
		const json_t *recompute = json_object_get(type, "recompute");

		for (int r = 0; r < PIPELINE_RECOMPUTES && rc == SB_OK; r++) {
			const json_t *rows = json_object_get(recompute, pipeline_recompute_words[r]);

			if (rows)
				rc = read_rows(rows, p, b, r, plan);
		}
	}
	return rc;
}

int pipeline_of_document(const json_t *document, struct pipeline_input *out, struct pipeline_stage **out_plan,
                         struct sb_error *err)
{
	const json_t *solution = json_object_get(document, "solution");
	JSON_AUTO problem = json_copy(json_object_get(document, "problem"));
	struct pipeline_stage *plan;
	int rc;

	if (!json_is_object(problem) || !json_is_object(json_object_get(solution, "recompute")))
		return not_a_plan(err);
	/* the schedule may have been left to the search */
	json_object_set(problem, "schedule", json_object_get(solution, "schedule"));
	json_object_set(problem, "interleave", json_object_get(solution, "interleave"));
	rc = pipeline_from_json(problem, out, err);
	if (rc != SB_OK)
		return rc;
	plan = calloc((size_t)schedule_stages(&out->problem.shape) * (size_t)out->problem.body_count,
	              sizeof(*plan));
	if (!plan)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	if (read_plan(solution, &out->problem, plan) != SB_OK) {
		free(plan);
		return not_a_plan(err);
	}
	*out_plan = plan;
	return SB_OK;
}
