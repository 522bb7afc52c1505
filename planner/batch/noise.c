#include "planner/batch/noise.h"

#include <math.h>

void noise_scales(const struct noise_norms *pairs, size_t count, double smoothing, double *out)
{
	double gradient = 0, trace = 0;

	for (size_t i = 0; i < count; i++) {
		const struct noise_norms *p = &pairs[i];
		double b = p->small_batch, large = p->large_batch;
		double small2 = p->small_norm * p->small_norm, large2 = p->large_norm * p->large_norm;
		double g = (large * large2 - b * small2) / (large - b);
		double t = (small2 - large2) / (1 / b - 1 / large);
		double old = i == 0 ? 0 : smoothing;

		gradient = old * gradient + (1 - old) * g;
		trace = old * trace + (1 - old) * t;
		out[i] = gradient > 0 && trace >= 0 ? trace / gradient : NAN;
	}
}
