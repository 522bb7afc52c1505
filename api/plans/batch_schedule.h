#ifndef SB_API_PLANS_BATCH_SCHEDULE_H
#define SB_API_PLANS_BATCH_SCHEDULE_H
#include "api/plans/parse.h"
#include "planner/batch/copus.h"
#include "planner/scaling/counts.h"

/* The kind `batch-schedule`: how large the batch should be, as the gradient noise grows. */

#define NOISE_POINTS_MAX 4096
#define NOISE_MAX 1e15
#define SMOOTHING 0.9
#define TABLE_ROWS_MAX 1000
#define BATCH_MAX ((int64_t)1 << 40)
#define SEQUENCES_MAX ((int64_t)1 << 32)

/* The noise scale along a run. */
struct noise_series {
	double *phi; /* NaN: the norms at this point say nothing */
	size_t count;
};
void noise_series_clear(struct noise_series *n);
#define NOISE_SERIES_AUTO __attribute__((cleanup(noise_series_clear))) struct noise_series
/* `noise_scale` (a number or a list) or `gradient_norms` with `smoothing`; one of them is required. */
int noise_from_json(const json_t *request, struct noise_series *out, struct sb_error *err);
/* Adds the three members to properties. */
void noise_schema(json_t *properties);
/* A number for all `count` points, or a list with one each, into out. Left alone when missing and optional.
 */
int series_from_json(const json_t *request, const char *member, enum need need, double low, double high,
                     double *out, size_t count, struct sb_error *err);
json_t *series_schema(double low, double high, const char *description);
/* Warns when a point's norms say nothing. */
void noise_warn(json_t *warnings, const struct noise_series *n);

/* Configurations with their throughput: given, or searched batch by batch. */
struct batch_table {
	struct copus_row *rows;
	json_t *plans; /* one object a row, to be laid into answers: {plan} or {strategy, step_seconds} */
	size_t count, room;
	json_t *rejected; /* of the search: reason, count, example, batches */
	bool searched, all_proved;
	int64_t candidates;
	struct search_request request; /* of the search */
	double least_memory;
};
void batch_table_clear(struct batch_table *t);
#define BATCH_TABLE_AUTO __attribute__((cleanup(batch_table_clear))) struct batch_table
/* `table`, or model, cluster, batches and what a search may have beside. SB_EINFEASIBLE, with *out_extra,
 * when no batch can be run. */
int batch_table_from_json(const json_t *request, const struct sb_watch *watch, struct batch_table *out,
                          json_t **out_extra, struct sb_error *err);
/* Reads model, cluster, constraints and calibration (the batch of it is the first of `batches`), and the
 * batches to search. */
int batch_search_from_json(const json_t *request, struct search_request *r, int64_t *batches,
                           size_t *out_count, struct sb_error *err);
/* The members of a search, without `batch`, added to properties. */
void batch_search_schema(json_t *properties);
/* Counts a batch that could not be planned. */
void batch_reject(json_t *rejected, int64_t batch, const struct point_result *found);
/* Why no batch could be planned: from the list of the rejected. */
int batch_nothing_found(const json_t *rejected, double least_memory, json_t **out_extra,
                        struct sb_error *err);

/* The methods. As struct plan_kind's search. */
int batch_copus(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err);
int batch_variable(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                   struct sb_error *err);
int batch_joint(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err);
/* Their members. New references. */
json_t *batch_copus_schema(void);
json_t *batch_variable_schema(void);
json_t *batch_joint_schema(void);
#endif
