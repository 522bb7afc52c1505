#ifndef SB_PROFILER_LAYERS_CUT_PARTS_H
#define SB_PROFILER_LAYERS_CUT_PARTS_H
#include "profiler/layers/cut.h"

/* The parts that cut.c is made of; for nobody else. */

/* Operators of one phase, between two exchanges of the pipeline. */
struct stretch {
	size_t first, end;
	uint8_t phase;
	bool taken_over, handed_on; /* it begins behind an exchange; it ends with one */
};

struct cutter {
	const struct layer_ops *o;
	const double *seconds;
	double all; /* of all operators */
	struct layer_cut *out;
	bool gradients;      /* some names tell that gradients are computed */
	bool backward;       /* some operators are of backward */
	bool exchanges_part; /* exchanges stand between two micro-batches */
	/* of the stretch at hand: the operators that compute, what they are, and what those before weigh */
	size_t *ops;
	uint64_t *tokens;
	double *before;
	size_t op_count;
	uint64_t *sorted[2]; /* the tokens of two neighbours */
};

/* ---- passes.c ---- */

int cutter_add(struct cutter *c, const struct layer_range *r);
/* A pass whose ranges are added from now on. */
struct layer_pass cutter_pass(const struct cutter *c, size_t first, size_t end, uint8_t phase);
/* Ends it: tells the types of its layers. What is between two of them is a layer of its own where it is more
 * than a trifle, else a part of the layer before. One without layers is left out. SB_ENOMEM. */
int cutter_close(struct cutter *c, struct layer_pass *p);

/* ---- by_name.c, by_repetition.c: the passes of one stretch ---- */

int cut_by_name(struct cutter *c, const struct stretch *s);
int cut_by_repetition(struct cutter *c, const struct stretch *s);
#endif
