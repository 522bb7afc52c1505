#ifndef SB_PLANNER_PIPELINE_MIX_H
#define SB_PLANNER_PIPELINE_MIX_H
#include "planner/pipeline/pipeline.h"

/* Ways to recompute n identical layers: those of which no other one takes less time and keeps less. */
struct mix {
	double extra; /* backward beyond that of n layers of the fastest kind */
	double activation;
	int32_t layers[PIPELINE_RECOMPUTES];
};

struct mixes {
	struct mix **of; /* of[n]: by rising extra, falling activation */
	size_t *count;
	int64_t most;   /* n goes from 0 to this */
	double fastest; /* backward of one layer of the fastest kind */
	double least;   /* activation of one layer of the kind that keeps least */
};
/* Builds all mixes of up to `most` layers. *out is to be freed by mixes_free(). SB_ENOMEM. */
int mixes_build(const struct pipeline_body *b, int64_t most, struct mixes *out);
void mixes_free(struct mixes *m);
/* The mix of n layers that keeps least within a budget of extra time; NULL when the budget is below 0. */
const struct mix *mixes_within(const struct mixes *m, int64_t n, double budget);
#define MIXES_AUTO __attribute__((cleanup(mixes_free))) struct mixes
#endif
