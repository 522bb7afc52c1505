#ifndef SB_API_PROFILES_DOCUMENTS_H
#define SB_API_PROFILES_DOCUMENTS_H
#include "api/json.h"
#include "profiler/analysis.h"
#include "profiler/critical_path.h"
#include "profiler/layers/layers.h"
#include "profiler/operators.h"
#include "profiler/read.h"

/* Everything that is computed once from a profile, and its JSON. The same code serves the API and `signalbox
 * analyze`. */
struct profile_results {
	struct profile profile;
	struct breakdown breakdown;
	struct operator_table operators;
	struct communication_report communication;
	struct critical_paths paths;
	struct analysis analysis;
};

/* Analyses the profile that r holds, the rest of which is empty, by the thresholds of t; executor: threads
 * that help, or NULL. What was done stays also after a failure: free it by results_free(). */
int results_analyse(struct profile_results *r, const struct thresholds *t, const struct sb_executor *executor,
                    struct sb_error *err);
/* Reads and analyses. On failure nothing is left to free. */
int results_compute(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                    const struct read_hooks *hooks, const struct thresholds *t, struct profile_results *out,
                    struct sb_error *err);
void results_free(struct profile_results *r);
#define RESULTS_AUTO __attribute__((cleanup(results_free))) struct profile_results

/* JSON bodies as api.md fixes them; new references, NULL when out of memory. Texts are made valid UTF-8. */
/* format, ranks, steps, devices, events, warnings, left_out, verdict */
json_t *document_facts(const struct profile *p, const struct analysis *a);
/* The verdict in short, for a list: that of document_analysis() with the severity of its finding (null when
 * healthy). */
json_t *document_verdict(const struct analysis *a);
/* Iterations and queues of input pipelines. */
json_t *document_input_pipeline(const struct profile *p);
/* The layers of the model. */
json_t *document_layers(const struct profile *p);
/* They as a request of kind `pipeline`, for the stages that the profile has; NULL where it does not hold
 * enough.
 */
json_t *layers_problem(const struct profile *p);
/* What the hardware reached: matrix products, attention, links, overlap. */
json_t *document_efficiency(const struct profile *p);
/* Time in the data loader, for comparisons: {rows:[{rank,steps,loading_us,calls}]}. */
json_t *document_loading(const struct profile *p);
json_t *document_analysis(const struct analysis *a);
json_t *document_advice(const struct profile *p, const struct analysis *a);
/* The plan that works out an advice: {kind, problem}, the problem filled in from the profile as it can be
 * posted to /v1/plans, null where the profile does not hold enough; null without a kind. */
json_t *advice_plan(const struct profile *p, const struct finding *f, const char *kind);
/* These have too many rows for JSON values: they are appended to a buffer (json_put.h), about 300 bytes a
 * row. SB_ENOMEM; SB_ELIMIT where the buffer may not hold it. */
int document_breakdown(const struct breakdown *rows, struct sb_buf *b);
int document_operators(const struct operator_table *t, const struct operator_query *q, struct sb_buf *b);
int document_communication(const struct communication_report *c, struct sb_buf *b);
/* The profile object of GET /v1/profiles/{id}: identity members + facts; facts and error may be NULL. */
json_t *document_profile(const char *id, const char *name, const char *state, int64_t created_us,
                         int64_t bytes, const char *sha256, const json_t *facts,
                         const struct sb_error *error);
#endif
