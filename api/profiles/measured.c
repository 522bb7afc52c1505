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

int measured_step_of(const json_t *breakdown, const json_t *memory, struct measured_step *out)
{
	json_t *rows = json_object_get(breakdown, "rows"), *row;
	struct step_time *times;
	double *us;
	size_t i, n = 0;

	if (!json_is_array(rows))
		return SB_EFORMAT;
	times = malloc((json_array_size(rows) + 1) * sizeof(*times));
	us = malloc((json_array_size(rows) + 1) * sizeof(*us));
	if (!times || !us) {
		free(times);
		free(us);
		return SB_ENOMEM;
	}
	json_array_foreach(rows, i, row)
	{
		const json_t *step = json_object_get(row, "step"), *time = json_object_get(row, "step_us");

		if (json_is_integer(step) && json_is_number(time) && json_number_value(time) > 0)
			times[n++] = (struct step_time){json_integer_value(step), json_number_value(time)};
	}
	n = slowest(times, n, us);
	*out = (struct measured_step){n > 0 ? llround(sb_median(us, n) * 1000) : SB_NULL, (int64_t)n,
	                              peak_of(memory)};
	free(times);
	free(us);
	return SB_OK;
}
