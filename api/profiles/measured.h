#ifndef SB_API_PROFILES_MEASURED_H
#define SB_API_PROFILES_MEASURED_H
#include <jansson.h>
#include <stdint.h>

#include "profiler/breakdown.h"

/* What a profile says of a step of its job, to hold a plan against. */

struct measured_step {
	int64_t step_ns;    /* the median over the steps of the slowest rank's time */
	int64_t steps;      /* how many; 0 = the profile has no steps, and the rest is SB_NULL */
	int64_t peak_bytes; /* of the fullest rank; SB_NULL = not recorded */
};
/* From the rows of the profile, and its stored document_memory() (NULL: none). SB_ENOMEM. */
int measured_step_of(const struct breakdown *rows, const json_t *memory, struct measured_step *out);
#endif
