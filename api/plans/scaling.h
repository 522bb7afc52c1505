#ifndef SB_API_PLANS_SCALING_H
#define SB_API_PLANS_SCALING_H
#include "api/plans/parse.h"
#include "planner/scaling/counts.h"
#include "planner/scaling/lemma.h"

/* The kind `scaling`: how many devices are worth it. Two forms: from given seconds, or from a model on a
 * cluster by the strategy search. */

/* One number of devices. */
struct scaling_row {
	struct scaling_point point;
	double efficiency;            /* against one device, or the fewest that do */
	double bytes;                 /* of a device; NaN: not known */
	json_t *solution, *predicted; /* owned */
};
struct scaling_rows {
	struct scaling_row row[SCALING_COUNTS_MAX]; /* devices ascending */
	size_t count;                               /* at least 1 to be answered */
	double share;                               /* the efficiency that is wanted */
};
void scaling_rows_clear(struct scaling_rows *rows);
#define SCALING_ROWS_AUTO __attribute__((cleanup(scaling_rows_clear))) struct scaling_rows

/* `efficiency` of a request; left alone when missing. */
int scaling_share_from_json(const json_t *request, double *out, struct sb_error *err);
/* solution, predicted, alternatives, frontier, rejected and warnings of rows; the solution is the knee.
 * quality is taken; NULL: left out. New reference, NULL when out of memory. */
json_t *scaling_answer(const struct scaling_rows *rows, json_t *quality);

/* The two forms. As struct plan_kind's solve. */
int scaling_given(const json_t *request, json_t **out, struct sb_error *err);
int scaling_searched(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                     struct sb_error *err);
/* The members of the form with given seconds, beside devices and efficiency. New reference. */
json_t *scaling_given_schema(void);

#define SCALING_DEVICES_MAX ((int64_t)1 << 27)
#define SCALING_GRADIENTS_MAX 10000
#endif
