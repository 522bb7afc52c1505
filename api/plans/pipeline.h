#ifndef SB_API_PLANS_PIPELINE_H
#define SB_API_PLANS_PIPELINE_H
#include "api/plans/parse.h"
#include "api/plans/plans.h"
#include "planner/pipeline/pipeline.h"

/* The kind `pipeline`: layers cut into the stages of a schedule, and what each of them recomputes (api.md). A
 * time is in any one unit, bytes are in any one unit: the answer is in the same. */

#define PIPELINE_TIME_MAX 1e12
#define PIPELINE_BYTES_MAX 1e18
#define PIPELINE_LAYERS_MAX 1024
#define PIPELINE_TYPES_MAX 64
#define PIPELINE_DEVICES_MAX 1024

/* Names of what a layer recomputes, by enum pipeline_recompute; NULL-terminated. */
extern const char *const pipeline_recompute_words[];
/* By enum pipeline_objective; NULL-terminated. */
extern const char *const pipeline_objective_words[];

/* A request as read; the arrays are its own, the names are the request's. */
struct pipeline_input {
	struct pipeline_problem problem; /* borrows the arrays */
	struct pipeline_body *bodies;
	const char **names; /* of the bodies; NULL = without */
	double *memory, *cut_send, *link_send;
	enum pipeline_objective objective;
};
/* The caller clears *out also after a failure. The text of err and its pointer are those of an API's answer.
 * SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int pipeline_from_json(const json_t *request, struct pipeline_input *out, struct sb_error *err);
void pipeline_input_clear(struct pipeline_input *in);
#define PIPELINE_INPUT_AUTO __attribute__((cleanup(pipeline_input_clear))) struct pipeline_input

/* The problem and the plan of a stored document (GET /v1/plans/{id}): the problem has the schedule of the
 * solution. *out_plan is a plan of problem.body_count parts a stage, to be freed by the caller. The caller
 * clears *out also after a failure. SB_EINVAL for a document that holds no such plan; SB_ENOMEM. */
int pipeline_of_document(const json_t *document, struct pipeline_input *out, struct pipeline_stage **out_plan,
                         struct sb_error *err);

/* ---- pipeline_schedule.c ---- */

/* What a stored plan runs when, in bytes: plan_schedule(). SB_ENOENT when it holds no cut. */
int pipeline_draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err);

/* ---- pipeline_layers.c ---- */

/* layers, head and tail of a request into out. */
int pipeline_read_layers(const json_t *request, struct pipeline_input *out, struct sb_error *err);

/* ---- pipeline_answer.c ---- */

/* A plan as the solution of an answer: layers and recompute of each device, chunk by chunk. The two
 * directions of dualpipe hold the same stages: they are shown once, on the devices of the first. */
json_t *pipeline_solution(const struct pipeline_input *in, const struct pipeline_stage *plan);
/* {bottleneck, makespan, bubble_share, memory_bytes}; peaks: one a device. */
json_t *pipeline_predicted(const struct pipeline_problem *p, const struct pipeline_score *s,
                           const double *peaks);
json_t *pipeline_quality(const struct pipeline_proof *proof, double seconds);

json_t *pipeline_schema(void);
#endif
