#ifndef SB_PROFILER_BREAKDOWN_H
#define SB_PROFILER_BREAKDOWN_H
#include "profiler/profile.h"

/* Where the time of a rank, device and step went. All in ns, SB_NULL = the source cannot give it.
 * Definitions: design contract api.md, "Breakdown"; Ascend: research page ascend-formats 1.1. */
struct breakdown_row {
	int64_t rank;   /* SB_NULL = unknown */
	int64_t device; /* SB_NULL = unknown or no device */
	int64_t step;   /* SB_NULL: the whole capture */
	int64_t step_ns, span_ns, busy_ns, compute_ns, communication_ns, exposed_ns, overlap_ns, copy_ns,
	    copy_exposed_ns, free_ns, bubble_ns, preparing_ns;
	size_t capture; /* index into the profile */
};

struct breakdown {
	struct breakdown_row
	    *rows; /* by capture, device, step; the whole-capture row of a device comes last */
	size_t count;
};

/* Computes all rows by interval union. Adds a warning to `warnings` where it falls back to a rounded source.
 * *out is to be freed by breakdown_free(). SB_ENOMEM. */
int breakdown_compute(const struct profile *p, struct warnings *warnings, struct breakdown *out,
                      struct sb_error *err);
void breakdown_free(struct breakdown *b);
#define BREAKDOWN_AUTO __attribute__((cleanup(breakdown_free))) struct breakdown
#endif
