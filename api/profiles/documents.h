#ifndef SB_API_PROFILES_DOCUMENTS_H
#define SB_API_PROFILES_DOCUMENTS_H
#include <jansson.h>

#include "profiler/analysis.h"
#include "profiler/read.h"

/* Everything that is computed once from a profile, and its JSON. The same code serves the API and `signalbox
 * analyze`. */
struct profile_results {
	struct profile profile;
	struct breakdown breakdown;
	struct operator_table operators;
	struct communication_report communication;
	struct analysis analysis;
};

/* Reads and analyses. On failure nothing is left to free. */
int results_compute(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                    const struct read_hooks *hooks, struct profile_results *out, struct sb_error *err);
void results_free(struct profile_results *r);
#define RESULTS_AUTO __attribute__((cleanup(results_free))) struct profile_results

/* JSON bodies as api.md fixes them; new references, NULL when out of memory. Texts are made valid UTF-8. */
json_t *
document_facts(const struct profile *p); /* format, ranks, steps, devices, events, warnings, left_out */
json_t *document_breakdown(const struct breakdown *b);
json_t *document_operators(const struct operator_table *t, const struct operator_query *q);
json_t *document_communication(const struct communication_report *r);
json_t *document_analysis(const struct analysis *a);
json_t *document_advice(const struct analysis *a);
/* The profile object of GET /v1/profiles/{id}: identity members + facts; facts and error may be NULL. */
json_t *document_profile(const char *id, const char *name, const char *state, int64_t created_us,
                         int64_t bytes, const char *sha256, const json_t *facts,
                         const struct sb_error *error);
/* A number in microseconds from ns: null for SB_NULL, else exact decimal digits (kept by 15 significant
 * digits). */
json_t *json_us(int64_t ns);
/* null for NaN. */
json_t *json_real_or_null(double v);
/* A text from a trace: invalid UTF-8 replaced by U+FFFD, cut at 4096 bytes. */
json_t *json_text(const char *bytes, size_t len);
/* Serialises: compact, sorted by insertion, reals with 15 digits. The caller frees. */
char *json_write(const json_t *j, size_t *out_len);
#endif
