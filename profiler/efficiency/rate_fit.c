#include <math.h>
#include <stdlib.h>

#include "profiler/efficiency/efficiency.h"

#define SPREAD_LEAST 2

static int by_amount(const void *a, const void *b)
{
	const struct rate_point *x = a, *y = b;

	if (x->amount != y->amount)
		return x->amount < y->amount ? -1 : 1;
	return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

size_t rate_points_merge(struct rate_point *p, size_t count, bool shortest)
{
	size_t n = 0;

	if (count > 0)
		qsort(p, count, sizeof(*p), by_amount);
	for (size_t i = 0; i < count; i++) {
		struct rate_point *last = n > 0 ? &p[n - 1] : NULL;
		double calls;

		if (!last || last->amount != p[i].amount) {
			p[n++] = p[i];
			continue;
		}
		calls = last->calls + p[i].calls;
		if (!shortest)
			last->seconds = (last->seconds * last->calls + p[i].seconds * p[i].calls) / calls;
		last->calls = calls;
	}
	return n;
}

struct rate_fit rate_fit_of(const struct rate_point *p, size_t count)
{
	struct rate_fit f = {NAN, NAN, NAN};
	double one = 0, x = 0, y = 0, xx = 0, xy = 0, slope, overhead, error = 0;

	if (count < 2 || p[count - 1].amount < SPREAD_LEAST * p[0].amount)
		return f;
	/* each point divided by its own seconds, so that errors are relative */
	for (size_t i = 0; i < count; i++) {
		double w = 1 / (p[i].seconds * p[i].seconds);

		one += w;
		x += w * p[i].amount;
		y += w * p[i].seconds;
		xx += w * p[i].amount * p[i].amount;
		xy += w * p[i].amount * p[i].seconds;
	}
	slope = (one * xy - x * y) / (one * xx - x * x);
	overhead = (y - slope * x) / one;
	if (overhead < 0) {
		overhead = 0;
		slope = xy / xx;
	}
	if (!(slope > 0) || !isfinite(slope) || !isfinite(1 / slope))
		return f;
	for (size_t i = 0; i < count; i++)
		error += fabs((overhead + slope * p[i].amount) / p[i].seconds - 1) / (double)count;
	return (struct rate_fit){1 / slope, overhead, count > 2 ? error : NAN};
}
