#include "api/profiles/measured.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/num.h"

struct step_time {
	int64_t step;
	double us;
};

/* By step, then the longest first. */
static int by_step(const void *a, const void *b)
{
	const struct step_time *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->us < y->us) - (x->us > y->us);
}

/* Microseconds of the slowest rank of each step. */
static size_t slowest(struct step_time *t, size_t count, double *out_us)
{
	size_t n = 0;

	if (count > 0)
		qsort(t, count, sizeof(*t), by_step);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || t[i - 1].step != t[i].step)
			out_us[n++] = t[i].us;
	return n;
}

static int64_t peak_of(const json_t *memory)
{
	int64_t peak = SB_NULL;
	size_t i;
	json_t *rank;

	json_array_foreach(json_object_get(memory, "ranks"), i, rank)
	{
		const json_t *bytes = json_object_get(rank, "peak_bytes");

		if (json_is_integer(bytes) && json_integer_value(bytes) > peak)
			peak = json_integer_value(bytes);
	}
	return peak;
}

int measured_step_of(const struct breakdown *rows, const json_t *memory, struct measured_step *out)
{
	struct step_time *times = malloc((rows->count + 1) * sizeof(*times));
	double *us = malloc((rows->count + 1) * sizeof(*us));
	size_t n = 0;

	if (!times || !us) {
		free(times);
		free(us);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < rows->count; i++) {
		const struct breakdown_row *r = &rows->rows[i];

		if (r->step != SB_NULL && r->step_ns > 0)
			times[n++] = (struct step_time){r->step, (double)r->step_ns / 1000};
	}
	n = slowest(times, n, us);
	*out = (struct measured_step){n > 0 ? llround(sb_median(us, n) * 1000) : SB_NULL, (int64_t)n,
	                              peak_of(memory)};
	free(times);
	free(us);
	return SB_OK;
}
