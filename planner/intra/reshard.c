#include "planner/intra/reshard.h"

#include <math.h>

double reshard_bytes(struct lying from, struct lying to, double bytes, int64_t devices)
{
	double g = (double)devices, part = bytes * (g - 1) / g;

	if (to.lie == LIE_PARTIAL)
		return INFINITY;
	if (from.lie == LIE_PARTIAL)
		return to.lie == LIE_REPLICATED ? 2 * part : part;
	if (from.lie == LIE_REPLICATED || (to.lie == LIE_SPLIT && from.along == to.along))
		return 0;
	return to.lie == LIE_REPLICATED ? part : part / g;
}
