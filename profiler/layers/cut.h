#ifndef SB_PROFILER_LAYERS_CUT_H
#define SB_PROFILER_LAYERS_CUT_H
#include "profiler/layers/order.h"

/* The passes of one rank's micro-batches, and the layers in each. */

/* The operators of one layer in one pass. */
struct layer_range {
	size_t first, end; /* of the list */
	uint64_t type;     /* equal for layers of the same operators, in whatever order */
	uint32_t class;    /* name of its type, 0 = not told */
	bool repeats;      /* more than one of its type: else it stands between two types */
	bool rounded;      /* the last of its type, which is not quite like the others */
};

/* One micro-batch forward, or backward. */
struct layer_pass {
	int64_t step;
	size_t first, end; /* operators */
	size_t range_first, range_count;
	uint64_t signature; /* of the types of its layers, in their order */
	uint8_t phase;      /* PHASE_FORWARD, PHASE_BACKWARD */
	/* Where it begins and ends is not seen: what is before its first layer or behind its last one may be
	 * another's. */
	bool open_before, open_behind;
};

struct layer_cut {
	struct layer_range *ranges;
	size_t range_count;
	struct layer_pass *passes; /* those with layers, in the order of the operators */
	size_t pass_count;
	bool named; /* by names and spans, not by repetition */
};

/* Layers must hold so much of the work of a pass, else it has none: the rest is for head and tail. */
#define LAYERS_LEAST_SHARE 0.5
/* One type of layers, or what stands between two types, must hold so much of it. */
#define LAYERS_TYPE_SHARE 0.02
/* A layer has more than this share of the operators of one of the heaviest type: the types of one model are
 * alike, most share their attention. */
#define LAYERS_TYPE_LEAST (1.0 / 3)
/* Where repetition alone tells: two products, a norm and a sum are the least that a layer is made of. */
#define LAYERS_LEAST_OPERATORS 4
/* Layers of one name are of one type when so many of their operators are the same. */
#define LAYERS_ALIKE 0.9

/* seconds: of each operator, as it counts. *out is to be freed by layer_cut_free() also after a failure. O(n
 * log n). SB_ENOMEM. */
int layer_cut_find(const struct layer_ops *o, const double *seconds, struct layer_cut *out);
void layer_cut_free(struct layer_cut *c);
#define LAYER_CUT_AUTO __attribute__((cleanup(layer_cut_free))) struct layer_cut

/* ---- alike.c ---- */

/* The tokens of a range, sorted, into room for all its operators. Returns how many compute. */
size_t layer_tokens(const struct layer_op *ops, const struct layer_range *r, uint64_t *out);
/* The share of the tokens of the longer of two sorted lists that the other one has, too. */
double layer_alike(const uint64_t *a, size_t n, const uint64_t *b, size_t m);
/* How many layers a repeating range holds: more than one where layers of like types alternate, as local and
 * global attention do. Layers that alternate share more operators than the halves of one layer do, whose
 * attention and feed-forward have no more than their norms, sums and some products in common. O(n log n).
 * SB_ENOMEM. */
#define LAYERS_ALTERNATING 0.8
int layers_alternating(const struct layer_op *ops, const struct layer_range *r, int64_t *out);

/* ---- bodies.c: layers by repetition alone ---- */

/* Layers one behind the other of one type, in a sequence of tokens. */
struct layer_body {
	uint32_t first, period, count;
	uint32_t rest; /* tokens behind its last whole period that repeat, too */
	bool rounded;  /* the last of them is not quite like the others */
};
struct layer_bodies {
	struct layer_body *items; /* by place; they do not overlap */
	size_t count;
};
/* The repetitions that hold most of [low, high) of a sequence, the outermost ones. The last layer of the last
 * one may end behind high. before: n + 1 sums of what
 * the tokens weigh. Bodies of less than LAYERS_TYPE_SHARE of the stretch are left out. O(n log n) for n
 * tokens in all. SB_ENOMEM, SB_ELIMIT. */
int layer_bodies_find(const uint64_t *tokens, const double *before, size_t low, size_t high,
                      struct layer_bodies *out);
void layer_bodies_free(struct layer_bodies *b);
#endif
