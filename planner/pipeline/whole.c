#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/whole.h"

bool whole_is_short(const struct schedule_shape *s)
{
	return schedule_stages(s) > s->devices && s->micro_batches == s->devices;
}

double whole_phase(const struct schedule_shape *s, int64_t at)
{
	if (s->kind == SCHEDULE_INTERLEAVED_LESS_MEMORY)
		return (double)at;
	if (s->micro_batches < 2 * s->devices && 2 * at < s->devices)
		return 0;
	return fabs((double)(s->devices - 1 - 2 * at));
}

/* No steady phase over all chunks: the longest backward of the chunks but the last, and that of the last. */
static double short_value(const struct pipeline_problem *p, const struct pipeline_load *load)
{
	int64_t stages = schedule_stages(&p->shape), last = stages - p->shape.devices;
	double most = 0, most_last = 0;

	for (int64_t i = 0; i < last; i++)
		most = fmax(most, load[i].backward);
	for (int64_t i = last; i < stages; i++)
		most_last =
		    fmax(most_last, load[i].backward + whole_phase(&p->shape, i - last) /
		                                           (double)p->shape.micro_batches * load[i].forward);
	return most + fmax(most, most_last);
}

/* What stages behind a longer one wait for it on the way in, and stages before a longer one on the way out.
 */
static double waiting(const struct pipeline_load *chunk, int64_t devices, bool out)
{
	double longest = 0, sum = 0;

	for (int64_t i = 0; i < devices; i++) {
		double forward = chunk[out ? devices - 1 - i : i].forward;

		sum += fmax(0, longest - forward);
		longest = fmax(longest, forward);
	}
	return sum;
}

static double bottleneck_of(const struct pipeline_problem *p, const struct pipeline_load *load)
{
	double most = 0;

	for (int64_t d = 0; d < p->shape.devices; d++) {
		double forward = 0, backward = 0;

		for (int64_t k = 0; k < p->shape.chunks; k++) {
			const struct pipeline_load *l = &load[schedule_stage(&p->shape, d, k)];

			forward = fmax(forward, l->forward);
			backward = fmax(backward, l->backward);
		}
		most = fmax(most, forward + backward);
	}
	return most;
}

double whole_value(const struct pipeline_problem *p, const struct pipeline_load *load)
{
	int64_t devices = p->shape.devices, chunks = schedule_stages(&p->shape) / devices;
	double m = (double)p->shape.micro_batches;
	double sum = -p->head.forward - p->head.backward - p->tail.forward - p->tail.backward;

	if (whole_is_short(&p->shape))
		return short_value(p, load);
	for (int64_t k = 0; k < chunks; k++) {
		double work = 0;

		for (int64_t i = k * devices; i < (k + 1) * devices; i++)
			work += load[i].forward + load[i].backward;
		sum += work;
		if (k < chunks - 1)
			sum += whole_share(&p->shape, k) * work +
			       m * waiting(&load[k * devices], devices, false);
	}
	sum += m * waiting(&load[(chunks - 1) * devices], devices, true);
	return sum / whole_divisor(&p->shape) + bottleneck_of(p, load) * fmax(0, m - 2);
}

int pipeline_whole(const struct pipeline_problem *p, const struct pipeline_stage *plan, double *out)
{
	int64_t stages = schedule_stages(&p->shape);
	struct pipeline_load *load = malloc((size_t)stages * sizeof(*load));

	if (!load)
		return SB_ENOMEM;
	for (int64_t i = 0; i < stages; i++)
		load[i] = pipeline_load(p, plan, i);
	*out = whole_value(p, load);
	free(load);
	return SB_OK;
}

double whole_share(const struct schedule_shape *s, int64_t chunk)
{
	double chunks = (double)(schedule_stages(s) / s->devices);

	return (chunks - (double)chunk) / chunks / (double)s->devices;
}

double whole_divisor(const struct schedule_shape *s)
{
	return fmax(1, (double)(schedule_stages(s) / s->devices) - 2);
}

double whole_lower_bound(const struct pipeline_problem *p, double bottleneck)
{
	double work = 0, backward = p->head.backward + p->tail.backward;

	for (int64_t b = 0; b < p->body_count; b++) {
		double least = INFINITY;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			if (!isnan(p->bodies[b].backward[r]) && !isnan(p->bodies[b].activation[r]))
				least = fmin(least, p->bodies[b].backward[r]);
		if (p->bodies[b].count == 0)
			continue;
		work += (double)p->bodies[b].count * (p->bodies[b].forward + least);
		backward += (double)p->bodies[b].count * least;
	}
	if (whole_is_short(&p->shape))
		return 2 * backward / (double)schedule_stages(&p->shape);
	return work / whole_divisor(&p->shape) + bottleneck * fmax(0, (double)p->shape.micro_batches - 2);
}
