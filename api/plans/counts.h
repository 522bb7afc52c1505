#ifndef SB_API_PLANS_COUNTS_H
#define SB_API_PLANS_COUNTS_H
#include "api/plans/parse.h"
#include "planner/scaling/counts.h"

/* A member that lists whole numbers to try, of devices or of sequences. */

/* One number from 1 to `most`, or a list of up to SCALING_COUNTS_MAX: ascending into out, without repeats.
 * *out_count is left alone when the member is missing. */
int counts_from_json(const json_t *request, const char *member, int64_t most, int64_t *out, size_t *out_count,
                     struct sb_error *err);
/* New reference. */
json_t *counts_schema(int64_t most, const char *description);
#endif
