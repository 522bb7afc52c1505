#include <stdlib.h>
#include <string.h>

#include "planner/schedule/schedule.h"

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* Round r: device d runs its forward of micro-batch r, and then the backward that its list has behind it,
 * whose gradient the next device made as the last thing in the round before. */
static void straight_ends(const struct schedule_shape *s, const double *forward, const double *backward,
                          double *end)
{
	int64_t p = s->devices, m = s->micro_batches;

	for (int64_t r = 0; r < m + p - 1; r++) {
		int64_t warm = r < p - 1 ? p - 1 - r : 0, stop = r < m ? p : m + p - 1 - r;
		double made = 0;

		for (int64_t d = 0; r < m && d < p; d++) {
			made = end[d] = later(end[d], made) + forward[d];
			if (d >= warm)
				end[d] = later(end[d], d + 1 < p ? end[d + 1] : 0) + backward[d];
		}
		for (int64_t d = warm; r >= m && d < stop; d++)
			end[d] = later(end[d], d + 1 < p ? end[d + 1] : 0) + backward[d];
	}
}

/* Where groups are full, device d runs its k-th forward in slot k + d and the backward behind it in the same
 * one: all that a slot takes was made in the slot before, by the neighbour; chunk follows chunk in a ring. */
static void ring_forward(const struct schedule_shape *s, const double *forward, int64_t slot, double *made,
                         double *end)
{
	int64_t p = s->devices, v = s->chunks, all = s->micro_batches * v;
	int64_t turn = slot / p, place = slot % p, chunk = turn % v, before = (turn + v - 1) % v;
	double wrapped = made[p - 1];

	for (int64_t d = slot < p ? slot : p - 1; d >= 0 && slot - d < all; d--) {
		double from = d > 0 ? made[d - 1] : chunk > 0 ? wrapped : 0;

		made[d] = end[d] = later(end[d], from) + forward[(d > place ? before : chunk) * p + d];
	}
}

/* slot: of these since the last device's first backward, the device before is one later. */
static void ring_backward(const struct schedule_shape *s, const double *backward, int64_t slot, double *made,
                          double *end)
{
	int64_t p = s->devices, v = s->chunks, all = s->micro_batches * v, last = p - 1;
	int64_t turn = slot / p, place = slot % p, chunk = v - 1 - turn % v,
	        before = v - 1 - (turn + v - 1) % v;
	double wrapped = made[0];

	for (int64_t d = slot < p ? last - slot : 0; d < p && slot - (last - d) < all; d++) {
		double from = d < last ? made[d + 1] : chunk < v - 1 ? wrapped : 0;

		made[d] = end[d] =
		    later(end[d], from) + backward[(last - d > place ? before : chunk) * p + d];
	}
}

static int simulated_ends(const struct schedule_shape *s, const double *forward, const double *backward,
                          double *end, struct sb_error *err)
{
	const struct schedule_times times = {.forward = forward, .backward = backward};
	struct schedule_result r = {.end = end};
	SCHEDULE_PROGRAM_AUTO p = {0};
	int rc = schedule_program_build(s, &p, err);

	return rc == SB_OK ? schedule_simulate(&p, &times, &r, err) : rc;
}

int schedule_ends(const struct schedule_shape *s, const double *forward, const double *backward,
                  double *out_end, struct sb_error *err)
{
	size_t devices = (size_t)s->devices;
	int64_t first; /* slot of the last device's first backward */
	double *made;
	int rc = schedule_check(s, err);

	if (rc != SB_OK)
		return rc;
	if (s->kind != SCHEDULE_1F1B &&
	    (s->kind != SCHEDULE_INTERLEAVED || s->micro_batches % s->devices != 0))
		return simulated_ends(s, forward, backward, out_end, err);
	memset(out_end, 0, devices * sizeof(*out_end));
	if (s->kind == SCHEDULE_1F1B) {
		straight_ends(s, forward, backward, out_end);
		return SB_OK;
	}
	first = s->chunks * s->devices - 1;
	made = calloc(2 * devices, sizeof(*made));
	if (!made)
		return sb_no_memory(err);
	for (int64_t t = 0; t < s->micro_batches * s->chunks + first + s->devices - 1; t++) {
		ring_forward(s, forward, t, made, out_end);
		if (t >= first)
			ring_backward(s, backward, t - first, made + devices, out_end);
	}
	free(made);
	return SB_OK;
}
