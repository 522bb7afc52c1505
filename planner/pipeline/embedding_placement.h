#ifndef SB_PLANNER_PIPELINE_EMBEDDING_PLACEMENT_H
#define SB_PLANNER_PIPELINE_EMBEDDING_PLACEMENT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "planner/schedule/schedule.h"

/* Where the embedding and the head of a pipelined model go, whose matrix may be the same one. */

enum embedding_placement {
	PLACE_BOTH_ENDS,  /* the first device and the last one; a shared matrix is there twice, and its
	                     gradients are  added up once a step */
	PLACE_ONE_DEVICE, /* both on the first device, which the pipeline comes back to on a V: one copy */
	PLACE_SPLIT,      /* the vocabulary cut over all devices (Yeung et al., 2024) */
	PLACE_STALE,      /* both on the first device, and no device waits for another: gradients are of older
	                     weights      (Ouroboros, NeurIPS 2019), which is another training, and only a choice
	                     where      that is      allowed */
	EMBEDDING_PLACEMENTS
};

/* Times in seconds, or in any one unit, of one micro-batch; parameters with gradients and optimizer. */
struct embedding_cost {
	double forward, backward, bytes;
};
#define EMBEDDING_STAGES_MAX 256
struct embedding_problem {
	int64_t stages, micro_batches, layers;
	struct embedding_cost layer, embedding, head;
	double activation; /* bytes of one layer and micro-batch that wait for its backward */
	double logits;     /* bytes that come and go with the head */
	double
	    shared_bytes;  /* of the matrix that embedding and head both count in their bytes; 0: not tied */
	double constant;   /* bytes that each device needs besides */
	double memory;     /* bytes of a device */
	double send;       /* from one stage to the next */
	double exchange;   /* adding up the shared matrix's gradients between two devices */
	double vocabulary; /* what a split vocabulary sends for one micro-batch */
	bool stale;        /* gradients may be of older weights */
};

struct embedding_plan {
	const char *reason; /* why it cannot be; NULL: it can, and the rest is set */
	enum schedule_kind schedule;
	double makespan, exchange, step; /* step = makespan + exchange */
	bool fits;
	double peak;                          /* bytes of the fullest device */
	int64_t layers[EMBEDDING_STAGES_MAX]; /* of each device */
	double memory[EMBEDDING_STAGES_MAX], busy[EMBEDDING_STAGES_MAX];
};
/* SB_EIMPOSSIBLE with err->field "stages", "micro_batches" or "layers" for sizes out of range. */
int embedding_check(const struct embedding_problem *p, struct sb_error *err);
/* Each placement with its best schedule: 1f1b, zb-h1 or zb-h2 where the pipeline ends on the last device,
 * zb-v or dualpipe-v on a V, each simulated, with half of the backward as the weights' own; the fastest that
 * fits, of what does not fit the leanest. Layers are spread so that the busiest device has least to do, at
 * least one a stage. A split vocabulary adds its share of embedding and head, and its sending, to the forward
 * and backward of every stage; that the last stage waits for the others' shares, and that sending may hide in
 * gaps, is not simulated. Stale: the busiest device's work is the step, and as many micro-batches are in
 * flight as in 1f1b. What all placements share (the exchange of data parallelism, the optimizer) is left out.
 * out: EMBEDDING_PLACEMENTS. As embedding_check(); SB_ENOMEM. */
int embedding_plans(const struct embedding_problem *p, struct embedding_plan *out, struct sb_error *err);
/* The fastest that fits; of equals the first. EMBEDDING_PLACEMENTS when none does. */
int embedding_best(const struct embedding_plan *plans);
#endif
