#ifndef SB_PROFILER_LAYERS_ORDER_H
#define SB_PROFILER_LAYERS_ORDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profile.h"

/* The operators of one rank in the order in which they were issued, and what is told of each: that is where
 * layers are looked for. */

enum layer_phase { PHASE_UNKNOWN, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER };
enum layer_op_kind {
	LAYER_COMPUTE,
	LAYER_COLLECTIVE,
	LAYER_EXCHANGE /* between two ranks, as the stages of a pipeline do */
};

struct layer_op {
	int64_t issued;     /* when it was launched; where launches are not known its own start */
	int64_t start, end; /* on the device */
	int64_t step;       /* number, SB_NULL = the capture has none */
	uint64_t token;     /* equal for operators of equal name and shapes, also of different captures */
	uint64_t scope;     /* of the layer that its name or the host's spans put it in; 0 = none */
	uint32_t class;     /* name of that layer's type: text id of the list's own set */
	uint32_t lane;      /* of the launch; UINT32_MAX = no launch is known */
	uint8_t phase;      /* enum layer_phase */
	uint8_t kind;       /* enum layer_op_kind */
	bool gradient;      /* its name says that it computes gradients */
};

struct layer_ops {
	struct layer_op *items; /* by step, then as issued; copies are left out */
	size_t count;
	bool phases;   /* what is forward and what is not was told */
	bool scopes;   /* some operators are put in layers */
	bool spans;    /* … by the host's spans: a layer of backward goes on to the next span, then */
	bool launches; /* the issue times are those of launches */
	struct sb_strings *texts;
};

/* Those of the capture's device with most work, inside its steps where it has some. *out is to be freed by
 * layer_ops_free() also after a failure. O(n log n). SB_ENOMEM, SB_ELIMIT. */
int layer_ops_collect(const struct profile *p, uint32_t capture, struct layer_ops *out);
void layer_ops_free(struct layer_ops *o);
#define LAYER_OPS_AUTO __attribute__((cleanup(layer_ops_free))) struct layer_ops

/* ---- phases.c ---- */

/* Makes what is side by side of one phase: frameworks do not mark all that autograd runs. SB_ENOMEM. */
int layer_phases_settle(struct layer_ops *o);

/* ---- seconds.c ---- */

/* What each operator counts for, in seconds: of those that compute at once the first; of collectives what
 * goes beyond all computing, of exchanges nothing. Nor do collectives that only backward has: they bring the
 * gradients of a step together. *out is the caller's to free(). O(n log n). SB_ENOMEM. */
int layer_op_seconds(const struct layer_ops *o, double **out);
/* Their sum over [first, end). */
double layer_sum(const double *seconds, size_t first, size_t end);

/* ---- spans.c: what the host's calls say of the operators that they launch ---- */

/* Calls whose names tell a phase or a layer, by lane and start. */
struct host_span {
	int64_t start, end;
	uint32_t lane;
	uint32_t class; /* of a layer: its type; else 0 */
	uint64_t scope; /* of a layer */
	uint8_t phase;  /* PHASE_UNKNOWN for a layer */
};
struct host_spans {
	struct host_span *phases; /* the outermost of each lane */
	size_t phase_count;
	struct host_span *layers;
	size_t layer_count;
	bool operators; /* the framework's operators are on the timeline: then a phase that is not told is
	                   forward */
};
/* *out is to be freed by host_spans_free(). SB_ENOMEM, SB_ELIMIT. */
int host_spans_find(const struct trace *t, struct sb_strings *texts, struct host_spans *out);
void host_spans_free(struct host_spans *s);
/* The last span of a lane that began before a time, and the one that holds it; of spans by lane and start
 * that do not overlap; NULL = none. O(log n).
 */
const struct host_span *host_span_before(const struct host_span *spans, size_t count, uint32_t lane,
                                         int64_t time);
const struct host_span *host_span_at(const struct host_span *spans, size_t count, uint32_t lane,
                                     int64_t time);

/* ---- scopes.c ---- */

/* Puts operators in the layers that launched them: those of forward, and where backward calls the layers
 * again to recompute them those of backward too, up to the next such call. Of all types of spans that hold
 * others, those are layers that cover most of forward; of several that cover nearly as much the one with most
 * spans. SB_ENOMEM.
 */
int host_spans_scopes(const struct host_spans *s, struct layer_ops *o);

/* ---- names.c: what an operator's own name says ---- */

struct op_name {
	uint64_t token;
	uint64_t scope;
	uint32_t class;
	uint8_t phase;
	bool known, gradient, exchange;
};
/* text: of an operator or of its type. SB_ENOMEM, SB_ELIMIT. */
int op_name_read(const char *text, struct sb_strings *texts, struct op_name *out);
/* A hash of bytes, carried on from another one (FNV-1a, 64 bits). */
uint64_t token_of(uint64_t before, const void *bytes, size_t len);
#define TOKEN_START UINT64_C(0xcbf29ce484222325)
#endif
