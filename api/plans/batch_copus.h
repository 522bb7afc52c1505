#ifndef SB_API_PLANS_BATCH_COPUS_H
#define SB_API_PLANS_BATCH_COPUS_H
#include "api/plans/batch_schedule.h"

/* The method `copus` of the kind `batch-schedule`. */

struct copus {
	struct batch_table table;
	struct noise_series noise;
	struct copus_rule rule;
	size_t current; /* SIZE_MAX: nothing runs yet */
	struct copus_point *points;
	struct copus_step *steps;
	struct copus_interval *intervals;
	size_t interval_count;
};

void copus_clear(struct copus *c);
#define COPUS_AUTO __attribute__((cleanup(copus_clear))) struct copus

/* The answer of a solved problem; first: the first point with a noise scale. New reference, NULL when out of
 * memory. */
json_t *copus_answer(const struct copus *c, size_t first, double search_seconds);
#endif
