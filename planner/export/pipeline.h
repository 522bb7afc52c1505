#ifndef SB_PLANNER_EXPORT_PIPELINE_H
#define SB_PLANNER_EXPORT_PIPELINE_H
#include "base/buf.h"
#include "planner/pipeline/pipeline.h"

/* Cuts of a pipeline in the languages of launchers, out and back in. A plan is [stage * body_count + body],
 * as in pipeline.h. */

/* All layers of a stage, whatever their body, by what they recompute. */
struct pipeline_stage pipeline_stage_sum(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                                         int64_t stage);

/* Appends the part of a MindFormers configuration (YAML) that sets the cut and its recomputing: offset,
 * pp_interleave_num and the three lists, which count layers one upon the other: select_recompute has those
 * that recompute all as well (LayerSetting of mindformers r1.5.0; yaml_from_internal() of sapp_ppb).
 * SB_EIMPOSSIBLE for placements that it does not know; SB_ENOMEM, SB_ELIMIT. */
int mindformers_yaml(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out,
                     struct sb_error *err);

/* Appends the launch arguments of Megatron-LM, one a line; what it cannot express is said in lines that begin
 * with #. SB_EIMPOSSIBLE for chunks placed on a V or in two directions; SB_ENOMEM, SB_ELIMIT. */
int megatron_pipeline(const struct pipeline_problem *p, const struct pipeline_stage *plan, struct sb_buf *out,
                      struct sb_error *err);
/* Reads Megatron's --pipeline-model-parallel-layout ("Et*3|(tt|)*29,m|L"): layers of each stage, [stages],
 * chunk by chunk through the devices; m counts as a layer. SB_EIMPOSSIBLE, with the reason, for a text that
 * is none, or that has another number of stages. */
int megatron_layout_parse(const char *text, int64_t stages, int64_t *out, struct sb_error *err);
/* The number of stages that such a text has. SB_EIMPOSSIBLE. */
int megatron_layout_stages(const char *text, int64_t *out, struct sb_error *err);

/* Gives a stage's layers to the bodies in the order of the model, those that recompute most first, as
 * MindFormers does: the first layers of a stage are those that recompute. by_recompute: layers of each stage,
 * [stage * PIPELINE_RECOMPUTES + recompute]. SB_EIMPOSSIBLE when they are not as many layers as the model
 * has.
 */
int pipeline_assign(const struct pipeline_problem *p, const int64_t *by_recompute, struct pipeline_stage *out,
                    struct sb_error *err);
#endif
