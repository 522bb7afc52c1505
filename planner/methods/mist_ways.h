#ifndef SB_PLANNER_METHODS_MIST_WAYS_H
#define SB_PLANNER_METHODS_MIST_WAYS_H
#include "planner/methods/mist.h"

/* The ways of a stage, and those of them that are worth keeping. Private to Mist's search. */

#define MIST_SHAPES_MAX 3
#define MIST_SIZES_MAX 5 /* layers within 2 of an even cut */
#define MIST_STAGES_MAX 256
#define MIST_PAIRS_MAX 1024
#define MIST_PICKS_MAX 256

/* Mist's micro-batches: 1, 2 and 4 sequences. */
extern const int64_t mist_micro_batches[MIST_SHAPES_MAX];

/* One way to shard and offload a layer of one shape, with what it takes. */
struct mist_way {
	struct mist_stage stage;
	struct mist_layer layer;
};
/* The ways of all shapes of one pair of stages and micro-batches. */
struct mist_ways {
	struct mist_shape shape[MIST_SHAPES_MAX];
	int shapes;
	struct mist_way *way;
	int *of; /* the shape of each */
	int64_t count;
};
/* The Pareto set of a stage with so many layers. */
struct mist_picks {
	struct stage_option option[MIST_PICKS_MAX];
	int64_t way[MIST_PICKS_MAX], checkpointed[MIST_PICKS_MAX];
	int count;
	bool thinned;
};

/* A number of stages and of micro-batches, and what no plan of it undercuts. */
struct mist_pair {
	int64_t stages, micro_batches;
	double bound, least; /* of the step; of a layer */
};
/* All of them, the least bound first. out holds MIST_PAIRS_MAX. */
int mist_pairs(const struct mist_problem *p, struct mist_pair *out);
/* The numbers of layers that a stage may have, one after another. */
struct mist_sizes {
	int64_t first, count;
};
struct mist_sizes mist_sizes_of(const struct mist_problem *p, int64_t stages);

/* The degrees of a stage with that micro-batch; false where there are none that divide. */
bool mist_shape_fits(const struct mist_problem *p, int64_t stages, int64_t micro_batches, int64_t micro_batch,
                     struct mist_stage *out);
/* Room for all ways. SB_ENOMEM. */
int mist_ways_open(struct mist_ways *w);
void mist_ways_free(struct mist_ways *w);
/* Lists all ways of a stage: three levels of shards, Mist's shares on the host (gradients too where weights
 * are there). */
void mist_ways_of(const struct mist_problem *p, int64_t stages, int64_t micro_batches, struct mist_ways *w);
/* Takes an option into a Pareto set: stable up, stable + delta down. (A stage's delta counts together with
 * the sum of stable from it on: what delta gains by stable's loss is none.) Equal ones keep the first. */
void mist_pick(struct mist_picks *x, struct stage_option o, int64_t way, int64_t checkpointed);
#endif
