#ifndef SB_PROFILER_OPERATORS_PARTS_H
#define SB_PROFILER_OPERATORS_PARTS_H
#include "profiler/operators.h"

/* The parts that operators.c is made of; for nobody else. */

/* The table while it grows: rows are found by hashing. */
struct collector {
	struct operator_table table;
	size_t capacity;
	uint32_t *slots; /* row + 1; 0 = free */
	size_t slot_count;
	uint64_t seed; /* of the hash, drawn with the first row */
};
/* a + b, where what is not known (SB_NULL) adds nothing. */
int64_t operator_sum(int64_t a, int64_t b);
/* Adds the calls of another row. */
void operator_row_add(struct operator_row *to, const struct operator_row *from);
void collector_free(struct collector *c);
/* Adds calls; key holds what their row is found by, and their sums. SB_ENOMEM, SB_ELIMIT. */
int collector_add(struct collector *c, const struct operator_row *key);
/* Gives the texts new ids in the order of their bytes, and sorts the rows. SB_ENOMEM, SB_ELIMIT. */
int operators_sort(struct operator_table *t);
/* The sums of a capture without calls, none of them 0 calls and none counted twice: of a type with a sum of
 * its own the operators, and what they leave over. *out is the caller's (free()). SB_ENOMEM. */
int operator_sums(const struct capture *c, struct op_statistic **out, size_t *out_count);
#endif
