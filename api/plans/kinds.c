#include "api/plans/kinds.h"

#include <math.h>
#include <time.h>

#include "api/json.h"

json_t *plan_least_memory(double bytes)
{
	return json_pack("{s:o,s:{s:o}}", "least_memory_bytes", json_whole_or_real(ceil(bytes)), "nearest",
	                 "memory_bytes", json_whole_or_real(ceil(bytes)));
}

double plan_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
