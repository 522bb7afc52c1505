#ifndef SB_PROFILER_FINDINGS_AFFINITY_H
#define SB_PROFILER_FINDINGS_AFFINITY_H
#include "profiler/findings/compute_parts.h"

/* Runs of host operators that one fused call of Ascend's PyTorch plug-in does. */
#define FUSED_MAX 16
struct fused_calls {
	const char *api; /* static text */
	int64_t count;   /* of runs */
	double host_ns;  /* of their operators */
};
/* Counts the runs among the outermost host operators of the capture, in the order of each thread; runs do not
 * overlap. out has room for FUSED_MAX; *out_count of them have a count. SB_ENOMEM. */
int fused_calls_find(const struct capture *c, struct fused_calls *out, size_t *out_count);
#endif
