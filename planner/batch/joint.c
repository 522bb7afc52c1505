#include "planner/batch/joint.h"

#include <math.h>

struct joint_step joint_fit(double batch, double seconds, double larger_batch, double larger_seconds)
{
	struct joint_step s;

	s.per_sample = (larger_seconds - seconds) / (larger_batch - batch);
	s.fixed = seconds - s.per_sample * batch;
	if (!(s.fixed >= 0 && s.per_sample > 0))
		s = (struct joint_step){0, larger_seconds / larger_batch};
	return s;
}

double joint_best_batch(const struct joint_step *s, double noise)
{
	return sqrt(s->fixed * noise / s->per_sample);
}

double joint_seconds_of(double step_seconds, double noise, double batch)
{
	return (1 + noise / batch) * step_seconds;
}

double joint_seconds(const struct joint_step *s, double noise, double batch)
{
	return joint_seconds_of(s->fixed + s->per_sample * batch, noise, batch);
}

int64_t joint_round(const struct joint_step *s, double noise, int64_t unit, int64_t low, int64_t high)
{
	int64_t first = (low + unit - 1) / unit, last = high / unit, down;
	double best = joint_best_batch(s, noise) / (double)unit;

	if (first < 1)
		first = 1;
	if (first > last)
		return 0;
	if (!(best > (double)first))
		return first * unit;
	if (best >= (double)last)
		return last * unit;
	down = (int64_t)best;
	return joint_seconds(s, noise, (double)(down * unit)) <=
	               joint_seconds(s, noise, (double)((down + 1) * unit))
	           ? down * unit
	           : (down + 1) * unit;
}
