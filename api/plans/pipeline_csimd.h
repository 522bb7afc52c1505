#ifndef SB_API_PLANS_PIPELINE_CSIMD_H
#define SB_API_PLANS_PIPELINE_CSIMD_H
#include "api/plans/parse.h"
#include "api/plans/plans.h"
#include "planner/pipeline/csimd.h"

/* Method `csimd` of the kind `pipeline`: which layers on which stage, and how many samples in each
 * micro-batch, together, when the times of layers are not linear in the samples. */

/* The request of api.md in (kind and method are let pass), the answer of api.md out; *out_extra: what an
 * infeasible problem is answered with besides. SB_EINVAL and SB_EIMPOSSIBLE with the field, SB_EINFEASIBLE
 * with the reason, SB_ENOMEM. */
int csimd_solve(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err);
/* JSON Schema of the request without kind and method (schema_object()). New reference. */
json_t *csimd_schema(void);

/* ---- pipeline_csimd_schedule.c ---- */

/* What a stored plan runs when, counted in micro-batches in flight: plan_schedule(). SB_ENOENT when it has
 * too many of them. */
int csimd_draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err);

/* ---- pipeline_csimd_export.c ---- */

/* As plan_export(): the cut, and micro-batches of one size. SB_EIMPOSSIBLE, with what would do, for other sizes
 * and for slices. */
int csimd_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                 struct sb_error *err);

/* ---- pipeline_csimd_json.c ---- */

#define CSIMD_TIME_MAX 1e12
#define CSIMD_BYTES_MAX 1e18
#define CSIMD_POINTS_MAX 1000
#define CSIMD_SPEED_LEAST 1e-6
#define CSIMD_SPEED_MAX 1e6

/* A request as read; the arrays are its own. */
struct csimd_input {
	struct csimd_problem problem; /* borrows the arrays */
	struct csimd_layers *rows;
	struct csimd_table { /* of the row; NULL without */
		int64_t *samples;
		double *seconds; /* forward, then backward */
	} * tables;
	double *memory, *speeds, *send;
	double constant; /* bytes that each stage needs besides: problem.memory is without them */
	bool weighed;    /* some layer's bytes are given */
	bool slices;     /* schedule terapipe */
	int64_t slice_unit;
	int sizes, search; /* enum csimd_sizes, enum csimd_search */
};
/* The caller clears *out also after a failure. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int csimd_from_json(const json_t *request, struct csimd_input *out, struct sb_error *err);
void csimd_input_clear(struct csimd_input *in);
#define CSIMD_INPUT_AUTO __attribute__((cleanup(csimd_input_clear))) struct csimd_input
extern const char *const csimd_sizes_words[], *const csimd_search_words[], *const csimd_schedule_words[];
#endif
