#ifndef SB_PROFILER_LAYERS_LAYERS_H
#define SB_PROFILER_LAYERS_LAYERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profile.h"

/* The layers of the model that a profile ran: what stands again and again in forward and in backward, and
 * what it takes. A pipeline planner takes them as they are. Times in seconds; a quantity that is not known is
 * NaN.
 */

/* What told the layers apart. */
enum layers_source {
	LAYERS_NONE,
	LAYERS_BY_NAME,      /* scopes in the operators' names, or the host's spans of modules */
	LAYERS_BY_REPETITION /* sequences of operators of equal name and shapes */
};

/* Layers of one type that follow one another. */
struct layer_row {
	uint32_t name; /* text id of the result's own set */
	int64_t count;
	int64_t each;             /* layers of like types that alternate in one of them; 1 = one */
	int64_t operators;        /* of one layer in forward that compute */
	double forward, backward; /* the medians over all of them, over passes, steps and ranks */
	double activation_bytes;  /* that one layer's forward leaves allocated, as it was run */
};
struct layer_end {
	double forward, backward;
};
/* One stage of a pipeline as it was run. */
struct layer_stage {
	int64_t stage; /* SB_NULL = not told */
	int64_t ranks; /* that were looked at */
	int64_t layers;
	double forward, backward; /* of one micro-batch, with head or tail */
};

/* What should be known of the result; bits. */
enum layers_warning {
	LAYERS_NO_BACKWARD = 1,        /* the profile has none, or no repetition in it */
	LAYERS_BACKWARD_UNMATCHED = 2, /* its layers are not as many as in forward */
	LAYERS_ENDS_OPEN = 4,          /* where passes begin and end is not seen: parts of head or tail */
	LAYERS_RANKS_DIFFER = 8,       /* not all ranks have the same layers, and no stages are told */
	LAYERS_STAGES_GUESSED = 16,    /* no file tells the stages */
	LAYERS_NO_ACTIVATION = 32,     /* no memory was recorded in forward */
	LAYERS_BETWEEN = 64,           /* some rows are what stands between two types */
	LAYERS_STAGES_MISSING = 128,   /* of some stages there is no rank */
	LAYERS_ALTERNATE = 256,        /* one of a row holds several layers */
	LAYERS_NO_PARAMETERS = 512,    /* as of any profile */
	LAYERS_INTERLEAVED = 1024,     /* a stage holds several chunks of the model */
	LAYERS_PASSES_DIFFER = 2048    /* some forward passes have other layers, which are not shown */
};

struct profile_layers {
	struct layer_row *rows; /* in the order of the model */
	size_t count;
	struct layer_end head, tail;
	struct layer_stage *stages;
	size_t stage_count;
	int64_t micro_batches; /* of a step; SB_NULL = not known */
	enum layers_source source;
	int confidence;     /* 0 low, 1 medium, 2 high */
	const char *reason; /* why there are none: a sentence, static; NULL = there are some */
	unsigned warnings;  /* enum layers_warning */
	struct sb_strings *texts;
};

/* Finds the layers. A layer's time is that of its operators that compute, overlaps counted once, with what
 * its collectives take beyond all computing; waits for other stages and idle time are no part of it. *out is
 * to be freed by profile_layers_free(). O(n log n) for n device events. SB_ENOMEM, SB_ELIMIT. */
int profile_layers_find(const struct profile *p, struct profile_layers *out, struct sb_error *err);
/* "no_backward", …, and a sentence that says it; static. */
const char *layers_warning_code(enum layers_warning w);
const char *layers_warning_text(enum layers_warning w);
void profile_layers_free(struct profile_layers *l);
#define PROFILE_LAYERS_AUTO __attribute__((cleanup(profile_layers_free))) struct profile_layers
#endif
