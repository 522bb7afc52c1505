#ifndef SB_PROFILER_WHATIF_H
#define SB_PROFILER_WHATIF_H
#include "profiler/replay.h"

/* A user's question in terms of a replay: which events it is about, and how long they would take. */

enum whatif_about {
	WHATIF_COMPUTE,       /* all kernels that are no collectives */
	WHATIF_COMMUNICATION, /* collectives, all or those of one operation: transmission, not waiting */
	WHATIF_COPY,          /* copies and fills of the device */
	WHATIF_OPERATOR, /* a kernel, a type of kernels, or an operator of the host with what it launches */
	WHATIF_LAUNCHES, /* all time of the host */
	WHATIF_RANK      /* one rank as fast as the middle one of the others */
};
/* Events that all changes of one question may name together: 16 bytes each. */
#define WHATIF_RELIEFS_MAX 8000000

struct whatif_change {
	enum whatif_about about;
	const char *name; /* the operation ("all_reduce") or operator; NULL = any */
	int64_t rank;     /* only this one; SB_NULL = all. WHATIF_RANK: which */
	double factor;    /* new over old duration, >= 0; not used by WHATIF_RANK */
	/* out: */
	uint64_t matched;                   /* events that it is about */
	double compute_factor, host_factor; /* WHATIF_RANK: what it came down to; else NaN */
};

/* Adds what a change means to a list, which the caller frees; matched and the factors are filled. A name is
 * compared as it is, an operation without regard to case and to all but letters and digits. SB_ENOMEM;
 * SB_ELIMIT when all changes together name more than WHATIF_RELIEFS_MAX events. */
int whatif_add(const struct replay_graph *g, struct whatif_change *change, struct relief **reliefs,
               size_t *count);
#endif
