#ifndef SB_PROFILER_COLLECTIVES_PARTS_H
#define SB_PROFILER_COLLECTIVES_PARTS_H
#include "profiler/collectives.h"

/* Inside of collectives*.c. */

/* A collective that is not matched yet. */
struct draft {
	struct collective item;
	uint32_t domain;   /* index into domains */
	uint32_t what;     /* text id: the name that both sides share */
	int64_t direction; /* of a send or receive: the member that sends; else -1 */
	int64_t number;    /* in the group; SB_NULL = none */
	bool pair;
};

struct drafts {
	struct collectives out;
	struct draft *items;
	size_t count;
	uint32_t *domain_of_text; /* by text id of "group, ranks": index into domains + 1 */
	size_t domain_texts;
};

/* Collects what a capture communicated. SB_ENOMEM, SB_ELIMIT. */
int collectives_collect(struct drafts *d, const struct profile *p, uint32_t capture);
/* Makes sets of all that was collected. SB_ENOMEM. */
int collectives_pair_up(struct drafts *d);
#endif
