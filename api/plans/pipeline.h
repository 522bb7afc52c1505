#ifndef SB_API_PLANS_PIPELINE_H
#define SB_API_PLANS_PIPELINE_H
#include "api/plans/cbc.h"
#include "api/plans/parse.h"
#include "api/plans/plans.h"
#include "planner/pipeline/pipeline.h"

/* The kind `pipeline`: layers cut into the stages of a schedule, and what each of them recomputes (api.md). A
 * time is in any one unit, bytes are in any one unit: the answer is in the same. */

#define PIPELINE_TIME_MAX 1e12
/* of one layer that recomputes: the longest forward, and the largest recompute_cost */
#define PIPELINE_BACKWARD_MAX 1e16
#define PIPELINE_BYTES_MAX 1e18
#define PIPELINE_LAYERS_MAX 1024
#define PIPELINE_TYPES_MAX 64
#define PIPELINE_DEVICES_MAX 1024
#define PIPELINE_ROWS_MAX 256
#define PIPELINE_TERMS_MAX 64
/* Layers times the stages of the schedule: within it a search takes seconds at most. */
#define PIPELINE_CELLS_MAX (1 << 15)

/* As many values of interleave as a request for the best may list. */
#define PIPELINE_INTERLEAVES_MAX 16

/* Names of what a layer recomputes, by enum pipeline_recompute; NULL-terminated. */
extern const char *const pipeline_recompute_words[];
/* By enum pipeline_objective; NULL-terminated. */
extern const char *const pipeline_objective_words[];
/* What a transfer does to its two devices: nothing, or it keeps them busy. */
extern const char *const pipeline_communication_words[];

/* A request as read; the arrays are its own. */
struct pipeline_input {
	struct pipeline_problem problem; /* borrows the arrays */
	struct pipeline_body *bodies;
	const char **names; /* of the bodies; NULL = without */
	json_t *request;    /* with the layers of a foreign file: what the names borrow from */
	double *memory, *cut_send, *link_send;
	struct pipeline_row *rows;
	struct pipeline_term *terms; /* of all rows, PIPELINE_TERMS_MAX each */
	enum pipeline_objective objective;
	struct cbc cbc;      /* set before it is read */
	struct lp_solver lp; /* of the problem */
	bool unsized;        /* some layers do not tell what they take of the memory */
};
/* schedule, interleave, slices, stages and micro_batches of a request. SB_EINVAL, SB_EIMPOSSIBLE. */
int pipeline_read_shape(const json_t *request, struct schedule_shape *out, struct sb_error *err);
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

/* A plan as JSON: {layers, recompute?} or {types} as a solution has them, the offset and lists of
 * MindFormers, or Megatron's pipeline_model_parallel_layout with recompute?. out: a zeroed plan. SB_EINVAL,
 * SB_EIMPOSSIBLE for one that does not hold the layers of the problem; SB_ENOMEM. (pipeline_given.c) */
int pipeline_read_plan(const json_t *value, const struct place *at, const struct pipeline_problem *p,
                       struct pipeline_stage *out, struct sb_error *err);

/* ---- pipeline_sapp.c ---- */

/* The request with the layers of its layers_file, if it has one, as layers, head, tail and constant_bytes; a
 * megabyte of the file counts as 1e6. *out is a new reference. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int pipeline_sapp_import(const json_t *request, json_t **out, struct sb_error *err);
/* The layers of a problem as such a file. New reference. */
json_t *pipeline_sapp_export(const struct pipeline_input *in);
/* JSON Schema of a file. New reference. */
json_t *pipeline_sapp_schema(void);

/* ---- pipeline_layers.c ---- */

/* layers, head and tail of a request into out. */
int pipeline_read_layers(const json_t *request, struct pipeline_input *out, struct sb_error *err);

/* rows of a request into out, and who solves what needs an ILP. */
int pipeline_read_rows(const json_t *request, struct pipeline_input *out, struct sb_error *err);

/* ---- pipeline_choice.c ---- */

/* A plan and what it comes to; the arrays are its own. */
struct pipeline_choice {
	const char *method; /* static */
	struct schedule_shape shape;
	struct pipeline_stage *plan;
	struct pipeline_proof proof;
	struct pipeline_score score;
	double *peaks;
};
void pipeline_choice_clear(struct pipeline_choice *c);
#define PIPELINE_CHOICE_AUTO __attribute__((cleanup(pipeline_choice_clear))) struct pipeline_choice
/* Plans by a method of the table, or takes the plan of the request ("given"), and scores the plan by the
 * simulation alone. The caller clears *out also after a failure. SB_EINFEASIBLE for a plan beyond the memory;
 * SB_EIO for a planner whose plan is none; else as struct pipeline_method and pipeline_read_plan(). */
int pipeline_choose(const struct pipeline_input *in, const char *method, struct pipeline_choice *out,
                    struct sb_error *err);
/* What is wrong with a plan that is given to be compared is told before a search, which may take long:
 * SB_EINVAL, SB_EIMPOSSIBLE; SB_EIO, SB_ENOMEM. */
int pipeline_check_given(const struct pipeline_input *in, struct sb_error *err);
/* Chooses by one more method, and adds it to the alternatives of an answer; what cannot be is told among the
 * rejected. SB_EINVAL, SB_EIMPOSSIBLE for a given plan that is none; SB_EIO, SB_ENOMEM. */
int pipeline_compare(const struct pipeline_input *in, const char *method,
                     const struct pipeline_choice *chosen, json_t *answer, struct sb_error *err);

/* ---- pipeline_best.c ---- */

/* The method `best`: of the schedules and the chunks that the request names (one, a list, or none: all that
 * are worth it), the quickest simulated plan, with the others as alternatives. As struct plan_kind. */
int pipeline_solve_best(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                        struct sb_error *err);

/* ---- pipeline_infeasible.c ---- */

/* Adds to the error of an infeasible problem its field, and least_memory_bytes and nearest in *out_extra: the
 * least memory of every stage with which some plan fits (a given one: that plan), and what to change. c: what
 * pipeline_choose() left. Returns SB_EINFEASIBLE, or SB_ENOMEM. */
int pipeline_explain(const struct pipeline_input *in, const struct pipeline_choice *c, json_t **out_extra,
                     struct sb_error *err);

/* ---- pipeline_answer.c ---- */

/* {solution, predicted}: a plan as the layers and the recompute of each device, chunk by chunk, and its
 * score. The two directions of dualpipe hold the same stages: they are shown once, on the devices of the
 * first. */
json_t *pipeline_choice_to_json(const struct pipeline_input *in, const struct pipeline_choice *c);
/* {method, solution, predicted, loses_by, reason, diff}: what another plan is against the chosen one; diff
 * has the layers that it holds more, cell by cell. */
json_t *pipeline_alternative_to_json(const struct pipeline_input *in, const struct pipeline_choice *chosen,
                                     const struct pipeline_choice *other);
/* Of plans by rising time, those that need less memory than all before: [{seconds, bytes, solution}]. */
json_t *pipeline_frontier_to_json(const struct pipeline_input *in, const struct pipeline_choice *list,
                                  size_t count);
/* [{code, detail}] */
json_t *pipeline_warnings_to_json(const struct pipeline_input *in, const struct pipeline_choice *c);
json_t *pipeline_quality_to_json(const struct pipeline_proof *proof, double seconds);

/* ---- pipeline_levels.c ---- */

/* Method pipedream with `levels`: {levels, layers, memory_bytes?} of a request; the answer of api.md with the
 * replicas of each stage; *out_extra: what an infeasible problem is answered with besides. SB_EINVAL and
 * SB_EIMPOSSIBLE with the field, SB_EINFEASIBLE, SB_ELIMIT, SB_ENOMEM.
 */
int pipeline_levels_solve(const json_t *request, const struct sb_watch *watch, json_t **out,
                          json_t **out_extra, struct sb_error *err);
/* JSON Schema of that request. New reference. */
json_t *pipeline_levels_schema(void);

/* ---- pipeline_export.c, pipeline_schema.c ---- */

/* GET /v1/plans/{id}/export: mindformers, megatron, sapp. As in struct plan_kind. */
int pipeline_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                    struct sb_error *err);

/* The schema of a schedule's name. */
json_t *pipeline_schedule_names(void);
/* lists: of schedules and interleaves, for the method best. */
json_t *pipeline_schema(bool lists);
#endif
