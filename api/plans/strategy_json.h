#ifndef SB_API_PLANS_STRATEGY_JSON_H
#define SB_API_PLANS_STRATEGY_JSON_H
#include "api/plans/parse.h"
#include "planner/strategy/cost.h"

/* Strategies, their costs and the problems around them as JSON: what the kinds `strategy` and `estimate`
 * share. */

/* model, cluster, batch, calibration and constraints/memory_bytes of a request. *out_micro is batch.micro, 0
 * when not given. */
int cost_problem_from_json(const json_t *request, struct cost_problem *out, int64_t *out_micro,
                           struct sb_error *err);

/* A strategy in the shape of a solution; what is left out keeps the value in *io. *out_stages: what it says
 * of its stages, NULL when nothing; io->slice_layers and io->stage_recompute point into it; the caller frees
 * it. */
int strategy_from_json(const json_t *value, const struct place *at, struct strategy *io, int64_t **out_stages,
                       struct sb_error *err);
/* Of it the stages, once degrees and recomputation are known: [{layers, first_layer?, recompute?,
 * recompute_layers?, chunks?: [{layers, first_layer?}]}]. */
int stages_from_json(const json_t *value, const struct place *at, struct strategy *s, int64_t **out_stages,
                     struct sb_error *err);
/* SB_EIMPOSSIBLE, with the reason, at the member that is to blame when the strategy cannot be run. */
int strategy_check(const struct cost_problem *p, const struct strategy *s, struct sb_error *err);
/* A solution. NULL when out of memory. */
json_t *strategy_to_json(const struct cost_problem *p, const struct strategy *s);
/* "none", or the shares of each thing. */
json_t *offload_to_json(const struct offload *o);
/* {weights, gradients, optimizer, activations, workspace}, which add up to memory_bytes_of(). */
json_t *memory_to_json(const struct memory_parts *m);
json_t *predicted_to_json(const struct strategy_cost *c);
/* {seconds, bytes, solution}: a point of a frontier, bytes rounded up; solution is stolen. */
json_t *frontier_point(double seconds, double bytes, json_t *solution);
/* Adds the member `explanation`: seconds and memory of each stage, and what a device of the busiest one sends
 * in a step over which group. SB_ENOMEM. */
int strategy_explain_json(const struct cost_problem *p, const struct strategy *s,
                          const struct strategy_cost *c, json_t *answer, struct sb_error *err);
/* {optimal, lower_bound, gap, candidates, search_seconds, model_error}; optimal < 0 = null, bound NaN = null.
 */
json_t *quality_to_json(int optimal, double bound, double value, int64_t candidates, double seconds,
                        double model_error);
/* What the reader must know about the numbers: [{code, detail}]. attention_given: the kernel was not assumed.
 */
json_t *warnings_to_json(const struct cost_problem *p, const struct strategy *s,
                         const struct strategy_cost *c, bool attention_given);
struct search_request;
/* Offload needs the host's memory and the link to it: who says one of them, or names what may be offloaded,
 * means it to be weighed, and is warned where it could not be. */
void warn_half_host(const struct search_request *r, json_t *warnings);
/* Of a plan that keeps something on the host: warns where the rates to it are a preset's assumptions. */
void warn_host_assumed(const struct cost_problem *p, json_t *warnings);

/* What may wait on the host, in the order of enum offloadable. */
#define OFFLOAD_WORDS "weights", "gradients", "optimizer", "activations"
extern const char *const offload_members[]; /* these */
extern const char *const schedule_words[];

extern const char *const recompute_words[], *const attention_words[], *const dtype_words[];

/* JSON Schemas of the parts. New references. */
json_t *model_schema(void);
json_t *cluster_schema(void);
json_t *strategy_schema(void);
/* The schema of a request about a model on a cluster: `own` (stolen) holds the members that only this kind
 * has; required: one of them, or NULL. */
json_t *request_schema(json_t *own, const char *required);
#endif
