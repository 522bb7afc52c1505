#include <stdlib.h>

#include "api/plans/pipeline.h"

int pipeline_of_document(const json_t *document, struct pipeline_input *out, struct pipeline_stage **out_plan,
                         struct sb_error *err)
{
	struct place at = place_of("/solution");
	const json_t *solution = json_object_get(document, "solution");
	JSON_AUTO problem = json_copy(json_object_get(document, "problem"));
	struct pipeline_stage *plan;
	int rc;

	if (!json_is_object(problem) || !json_object_get(solution, "recompute"))
		return sb_fail(err, SB_EINVAL, "no_such_plan",
		               "the document holds no cut of a pipeline into stages");
	/* the schedule may have been left to the search */
	json_object_set(problem, "schedule", json_object_get(solution, "schedule"));
	json_object_set(problem, "interleave", json_object_get(solution, "interleave"));
	rc = pipeline_from_json(problem, out, err);
	if (rc != SB_OK)
		return rc;
	plan = calloc((size_t)schedule_stages(&out->problem.shape) * (size_t)out->problem.body_count,
	              sizeof(*plan));
	if (!plan)
		return sb_no_memory(err);
	rc = pipeline_read_plan(solution, &at, &out->problem, plan, err);
	if (rc == SB_OK)
		*out_plan = plan;
	else
		free(plan);
	return rc;
}
