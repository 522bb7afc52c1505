#ifndef SB_PROFILER_FINDINGS_SEQUENCES_H
#define SB_PROFILER_FINDINGS_SEQUENCES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs of device operators that come again and again (advisor-rules 1.4, "fusible operators"). */

#define SEQUENCE_LENGTH_MIN 2
/* msprof-analyze looks for up to 10; the step of an optimizer that is not fused takes more for each of its
 * parameters. */
#define SEQUENCE_LENGTH_MAX 24
#define SEQUENCES_MAX 5

struct sequence_op {
	uint32_t name;  /* id of what is repeated */
	uint32_t index; /* the caller's own */
	int64_t start_ns, dur_ns;
	int64_t memory_ns; /* of it the vector core's transfers, where they are its limit; else 0 */
	bool breaks;       /* nothing goes on from the operator before: another stream, or a long gap */
};

struct sequence {
	size_t first;  /* its first occurrence: index into the operators */
	size_t length; /* operators */
	int64_t occurrences;
	int64_t wall_ns, work_ns,
	    memory_ns;        /* of all occurrences: start to end, and the sums of their operators */
	int64_t memory_bound; /* occurrences of which every operator has memory_ns */
	bool host;            /* the device waits between its operators; else it is bound by memory */
};

struct sequence_rule {
	int64_t occurrences; /* more than */
	int64_t wall_ns;     /* more than, in all */
	double host_ratio;   /* work over wall below it: host bound */
	double
	    memory_ratio; /* memory over work above it, and each operator is a part of that: memory bound */
	int64_t small_ns; /* the mean operator of one that is host bound is at most so long */
};

/* What is told of each operator: SEQUENCE_NONE, or the place of its sequence, with SEQUENCE_FIRST where an
 * occurrence begins. */
#define SEQUENCE_NONE 0xFF
#define SEQUENCE_FIRST 0x80

/* The worst sequences, by their time from start to end; their occurrences do not overlap. marks: room for n.
 * O(n) for n operators. Returns how many in *out_count. SB_ENOMEM. */
int sequences_find(const struct sequence_op *ops, size_t n, const struct sequence_rule *rule,
                   struct sequence out[SEQUENCES_MAX], size_t *out_count, uint8_t *marks);
#endif
