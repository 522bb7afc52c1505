#include "planner/batch/variable.h"

#include <math.h>

struct batch_time batch_stage_time(const struct batch_rate *rate, const struct batch_stage *stage)
{
	double batch = (double)stage->batch, all = stage->epochs * rate->samples;
	double speed = batch / (batch / (rate->devices * rate->speed) + rate->exposed);

	return (struct batch_time){ceil(all / batch), all / speed, speed};
}

struct batch_time batch_time(const struct batch_rate *rate, const struct batch_stage *stages, size_t count)
{
	struct batch_time sum = {0};
	double epochs = 0;

	for (size_t i = 0; i < count; i++) {
		struct batch_time t = batch_stage_time(rate, &stages[i]);

		sum.iterations += t.iterations;
		sum.seconds += t.seconds;
		epochs += stages[i].epochs;
	}
	sum.samples_per_second = epochs * rate->samples / sum.seconds;
	return sum;
}

double batch_learning_rate(const struct batch_growth *g, int64_t batch)
{
	double first = (double)g->first, limit = fmax(g->linear_batch, first), b = (double)batch;

	if (b <= limit)
		return g->learning_rate * b / first;
	return g->learning_rate * (limit / first) * sqrt(b / limit);
}

size_t batch_grow(const struct batch_growth *g, const double *noise, const double *epochs, size_t count,
                  struct batch_stage *out)
{
	int64_t batch = g->first;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		while (batch <= g->most / 2 && 2.0 * (double)batch <= noise[i])
			batch *= 2;
		if (n > 0 && out[n - 1].batch == batch)
			out[n - 1].epochs += epochs[i];
		else
			out[n++] = (struct batch_stage){epochs[i], batch, batch_learning_rate(g, batch)};
	}
	return n;
}
