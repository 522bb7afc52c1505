#ifndef SB_API_PLANS_KINDS_H
#define SB_API_PLANS_KINDS_H
#include "api/plans/plans.h"

/* One row of the table of kinds. A new planner adds its file and its row in plans.c. */
struct plan_kind {
	const char *name;
	const char *const *methods; /* NULL-terminated, the first is the default */
	/* The request with names resolved in, the answer of api.md out. Called with a known method only. */
	int (*solve)(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err);
	/* Instead of it, where a search may take seconds; what it returns once it was stopped does not
	 * matter. */
	int (*search)(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
	              struct sb_error *err);
	/* JSON Schema of the request without kind and method (schema_object()). New reference. */
	json_t *(*schema)(void);
	/* What the server bounds: member -> number or text. New reference. */
	json_t *(*limits)(void);
	/* May be NULL. SB_ENOENT for an unknown format. */
	int (*export)(const json_t *plan, const char *format, char **out_text, const char **out_type,
	              struct sb_error *err);
	/* May be NULL. What of a stored plan runs when, within the view: gantt_write(). */
	int (*schedule)(const json_t *plan, const struct plan_view *view, struct sb_buf *out,
	                struct sb_error *err);
};

extern const struct plan_kind strategy_kind, estimate_kind, schedule_kind, gradient_fusion_kind,
    pipeline_kind;
extern const struct plan_kind resharding_kind, weight_pipeline_kind, embedding_placement_kind,
    swap_or_pipeline_kind;
extern const struct plan_kind layer_memory_kind, scaling_kind, intra_operator_kind, batch_schedule_kind;

/* What a request is answered with whose memory does not do: {least_memory_bytes, nearest: {memory_bytes}}, in
 * whole bytes. New reference. */
json_t *plan_least_memory(double bytes);
/* Seconds of a clock that only goes forward, for quality.search_seconds. */
double plan_clock(void);
#endif
