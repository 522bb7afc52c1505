#include <math.h>
#include <stdio.h>

#include "planner/network/gradient_fusion.h"

static int check(const struct fusion_measured *rows, size_t count, double start, double end,
                 struct sb_error *err)
{
	char field[40];

	if (count < 1 || count > FUSION_GRADIENTS_MAX || !(isfinite(start) && isfinite(end) && start <= end))
		return sb_fail(err, SB_EIMPOSSIBLE, "out_of_range", "there is no backward to plan for");
	for (size_t i = 0; i < count; i++) {
		const struct fusion_measured *r = &rows[i];

		/* the comparisons are false for what is no number */
		if (r->bytes >= 1 && r->bytes <= FUSION_BYTES_MAX && isfinite(r->start_seconds) &&
		    r->end_seconds - r->start_seconds >= 0 &&
		    r->end_seconds - r->start_seconds <= CURVE_SECONDS_MAX &&
		    (i == 0 || r->start_seconds >= rows[i - 1].start_seconds))
			continue;
		snprintf(field, sizeof(field), "%zu", i);
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field,
		                     "an all-reduce without a size, or out of order");
	}
	return SB_OK;
}

/* When the gradients of a row were there, if that is known; else NAN. */
static double known_ready(const struct fusion_measured *rows, size_t i)
{
	if (isfinite(rows[i].ready_seconds))
		return rows[i].ready_seconds;
	return i == 0 || rows[i].start_seconds > rows[i - 1].end_seconds ? rows[i].start_seconds : NAN;
}

int fusion_from_measured(const struct fusion_measured *rows, size_t count, double backward_start,
                         double backward_end, struct fusion_gradient *out, struct curve_row *out_rows,
                         struct sb_error *err)
{
	double ready = backward_start;
	int rc = check(rows, count, backward_start, backward_end, err);

	if (rc != SB_OK)
		return rc;
	for (size_t i = 0, known; i < count; i = known + 1) {
		double last = backward_end, from = ready;

		for (known = i; known + 1 < count && isnan(known_ready(rows, known)); known++)
			;
		if (!isnan(known_ready(rows, known)))
			last = known_ready(rows, known);
		for (size_t k = i; k <= known; k++) {
			double spread = from + (last - from) * (double)(k - i + 1) / (double)(known - i + 1);
			double at = fmax(ready, fmin(spread, rows[k].start_seconds));

			out[k] = (struct fusion_gradient){rows[k].bytes, at - ready};
			out_rows[k] =
			    (struct curve_row){rows[k].bytes, rows[k].end_seconds - rows[k].start_seconds};
			ready = at;
		}
	}
	return SB_OK;
}
