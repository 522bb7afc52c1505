#include "planner/pipeline/csimd.h"

#include <math.h>

#include "base/search.h"

static double line(const struct csimd_time *t, const double *seconds, size_t i, double b)
{
	double x0 = (double)t->samples[i], x1 = (double)t->samples[i + 1];

	return fmax(0, seconds[i] + (seconds[i + 1] - seconds[i]) * (b - x0) / (x1 - x0));
}

static double from_table(const struct csimd_time *t, const double *seconds, int64_t b)
{
	size_t high;

	if (b <= t->samples[0] || t->points == 1)
		return seconds[0];
	high = SB_BISECT(i, 1, t->points - 1, t->samples[i] <= b);
	if (b == t->samples[high])
		return seconds[high]; /* not a rounding away from it */
	return line(t, seconds, high - 1, (double)b);
}

double csimd_time_at(const struct csimd_time *t, enum csimd_pass pass, int64_t samples, int64_t context)
{
	double b = (double)samples, square = t->attention ? b * ((double)context + b / 2) : b * b;

	if (t->points > 0)
		return from_table(t, t->seconds[pass], samples);
	return (pass == CSIMD_BACKWARD ? t->rho : 1) * (t->a + t->k * fmax(b, t->b0) + t->q * square);
}

double csimd_time_least(const struct csimd_time *t, enum csimd_pass pass, int64_t low, int64_t high)
{
	double least = csimd_time_at(t, pass, low, 0);

	if (t->points == 0)
		return least; /* no coefficient is negative: the form never falls */
	least = fmin(least, csimd_time_at(t, pass, high, 0));
	/* lines are lowest at their ends */
	for (size_t i = 0; i < t->points; i++)
		if (t->samples[i] > low && t->samples[i] < high)
			least = fmin(least, t->seconds[pass][i]);
	return least;
}
