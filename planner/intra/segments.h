#ifndef SB_PLANNER_INTRA_SEGMENTS_H
#define SB_PLANNER_INTRA_SEGMENTS_H
#include <stddef.h>
#include <stdint.h>

#define SEGMENTS_OPERATORS_MAX ((size_t)4096)

/* A run of operators that is planned as one; `kind`: the first segment with the same operators (itself for a
 * new one), so that only kinds need be measured. */
struct operator_segment {
	size_t first, count, kind;
};
/* Cuts a row of operators (equal operator and shape: equal number) into segments: where a sequence of two
 * operators or more is repeated over half of what is looked at, each turn is one segment (a layer), and what
 * lies before and after is looked at alone; what repeats nothing is one segment. out: room for n. Returns how
 * many. Systems.md 3.4 (CFP); time n^2. */
size_t segments_find(const uint32_t *operators, size_t n, struct operator_segment *out);
#endif
