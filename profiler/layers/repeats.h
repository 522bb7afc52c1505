#ifndef SB_PROFILER_LAYERS_REPEATS_H
#define SB_PROFILER_LAYERS_REPEATS_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A stretch of a sequence that repeats with a period: tokens[i] = tokens[i + period] throughout, twice the
 * period long or more, and not to be made longer on either side. */
struct repeat {
	uint32_t first, length, period; /* the period is the least of that stretch */
};

/* All maximal repetitions (Main and Lorentz, J. Algorithms 5, 1984), by first, then longer first. There are
 * fewer of them than tokens. O(n log n) whatever the sequence. *out is the caller's to free(). SB_ENOMEM;
 * SB_ELIMIT past 2^31 tokens. */
int repeats_find(const uint64_t *tokens, size_t n, struct repeat **out, size_t *out_count);
#endif
