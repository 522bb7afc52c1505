#ifndef SB_PROFILER_FINDINGS_CLOCKS_H
#define SB_PROFILER_FINDINGS_CLOCKS_H
#include "profiler/findings/compute_parts.h"

/* How fast the device of one view is, against those of the other ranks that run the same kernels. */
struct device_speed {
	double ratio;   /* kernel time over the median rank's, by time; NaN = no verdict */
	double uniform; /* share of the time in kernels that are slower by about that ratio */
	int64_t kinds;  /* how many different kernels were compared */
};
/* One for each view, in *out (to be freed); NULL where there are fewer than three to compare. Kernels are the
 * same by name and input shapes where these are known. A ratio is told only where most of the time is in
 * kernels that other ranks have, and where all of these are slower alike: a rank with more to do is slower in
 * some kernels only. SB_ENOMEM. */
int device_speeds(const struct check_context *ctx, struct device_speed **out);
#endif
