#ifndef SB_PROFILER_COLLECTIVES_H
#define SB_PROFILER_COLLECTIVES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strings.h"
#include "profiler/profile.h"

/* Which collectives of different captures are one and the same, and which receive belongs to which send. They
 * are matched by group and number in the group, or where there is no number by name, step and order. Clocks
 * are not compared: those of two ranks may be far apart. */

/* Where a collective was found: the best source of its capture. */
enum collective_source {
	COLLECTIVE_EVENT,    /* on the timeline */
	COLLECTIVE_KERNEL,   /* in the kernel table; the timeline has none */
	COLLECTIVE_OPERATION /* in communication.json alone: its start is not known */
};
#define COLLECTIVE_NONE UINT32_MAX

/* One device of one capture that takes part in communication. */
struct collective_member {
	uint32_t capture; /* index into the profile's captures */
	int32_t device;   /* as in the lanes; -1 = the capture's only one */
};

/* One collective on one member. */
struct collective {
	uint32_t set;    /* index into sets: all of a set belong together */
	uint32_t member; /* index into members */
	uint32_t index;  /* by the source: event of the trace, kernel row, row of communications */
	uint32_t
	    operation;  /* its row of the capture's communications (transit, wait, links), or COLLECTIVE_NONE
	                 */
	uint8_t source; /* enum collective_source */
	bool sends;     /* of a pair: the end that sends */
	int64_t step;   /* number; SB_NULL = in none */
	int64_t start_ns; /* on the clock of its capture; SB_NULL = not known */
	int64_t dur_ns;   /* waiting included */
	int64_t bytes;    /* SB_NULL = not known */
};

/* What belongs together: at least two collectives, one a member. */
struct collective_set {
	size_t first, count; /* stretch of items, by member */
	uint32_t domain;     /* index into domains */
	uint32_t what;       /* "allReduce", "allreduce", "ncclDevKernel_AllGather…": text id */
	bool pair;           /* a send and its receive */
	bool whole;          /* every member of the domain is there */
};

/* A communication group, by its name and its list of ranks as the source wrote them. */
struct collective_domain {
	uint32_t group, ranks; /* text ids, 0 = not named */
	size_t first, count;   /* stretch of domain_members, rising: those that communicate in it */
	int64_t listed; /* how many ranks its list names; SB_NULL = no list, or one that was cut short */
};

struct collectives {
	struct collective *items; /* by set */
	size_t count;
	struct collective_set *sets; /* by domain, then by the order in which the first member came to them */
	size_t set_count;
	struct collective_domain *domains; /* in order of first appearance */
	size_t domain_count;
	struct collective_member *members; /* by capture, device */
	size_t member_count;
	uint32_t *domain_members; /* indices into members */
	uint32_t *member_items;   /* indices into items, by member */
	size_t *first_item;       /* of each member in member_items, one more at the end */
	struct sb_strings *texts;
};

/* Matches the collectives of all captures. Deterministic, O(events + n log n) for n collectives. *out is to
 * be freed by collectives_free(). SB_ENOMEM; SB_ELIMIT with too many texts. */
int collectives_match(const struct profile *p, struct collectives *out);
void collectives_free(struct collectives *c);
#define COLLECTIVES_AUTO __attribute__((cleanup(collectives_free))) struct collectives
#endif
