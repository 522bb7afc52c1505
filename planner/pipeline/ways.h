#ifndef SB_PLANNER_PIPELINE_WAYS_H
#define SB_PLANNER_PIPELINE_WAYS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ways to recompute some layers, of which no other one takes less time and keeps less: by rising backward and
 * falling activation. Each is one way of the layers before and one of a last part. */
struct way {
	double backward, activation;
	uint16_t before, part; /* which ones */
};
struct ways {
	double *backward, *activation;
	struct way_origin {
		uint16_t before, part;
	} * origin;
	size_t count;
	bool thinned; /* some were left out */
};
#define WAYS_MAX 4096
/* As many where the work is done. */
#define WAYS_FEW 16

/* The ways of no layer: one. SB_ENOMEM. */
int ways_none(struct ways *out);
/* All pairs of a way of `before` and one of `part` that are worth it; no more than WAYS_MAX, the first and
 * the last included. *io_work: what may be spent, in pairs looked at; when it is not above 0 no more than
 * WAYS_FEW of each list are looked at. *out is to be freed by ways_free(). SB_ENOMEM. */
int ways_merge(const struct ways *before, const struct ways *part, double *io_work, struct ways *out);
/* The same of ways in any order: list is sorted. SB_ENOMEM. */
int ways_choose(struct way *list, size_t count, struct ways *out);
void ways_free(struct ways *w);
#endif
