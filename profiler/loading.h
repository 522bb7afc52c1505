#ifndef SB_PROFILER_LOADING_H
#define SB_PROFILER_LOADING_H
#include "profiler/profile.h"

/* How long the host spent in the data loader while no device worked: the time of its calls on the training's
 * own threads without what kernels, collectives and copies cover, as the TensorBoard plugin counts it. Kept
 * with a profile so that two of them can be compared without their traces. */
struct loading_row {
	int64_t rank;       /* SB_NULL = unknown */
	int64_t steps;      /* host windows that were looked at; 0: the whole capture was */
	int64_t loading_ns; /* union of the calls, less the devices' work; SB_NULL = the capture tells nothing
	                       of the host */
	int64_t calls;
};
struct loading_report {
	struct loading_row *rows; /* one a capture, in their order */
	size_t count;
};
/* A call is an event that the source calls loading, or that has "dataloader" in its name. SB_ENOMEM. */
int loading_compute(const struct profile *p, struct loading_report *out);
void loading_report_free(struct loading_report *r);
#define LOADING_REPORT_AUTO __attribute__((cleanup(loading_report_free))) struct loading_report
#endif
