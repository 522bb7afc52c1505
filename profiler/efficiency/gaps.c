#include <math.h>
#include <stdlib.h>

#include "profiler/activity.h"
#include "profiler/efficiency/efficiency.h"

/* Longer than this the device does not need from one kernel to the next: something else was awaited. */
#define GAP_MAX_NS 50000
/* A histogram of 10 ns: the median needs no more. */
#define BIN_NS 10
#define BINS (GAP_MAX_NS / BIN_NS)

struct previous {
	int64_t end; /* SB_NULL = none yet */
};

static void count_gaps(const struct trace *t, const uint32_t *order, size_t count, const struct launches *l,
                       struct previous *lanes, int64_t bins[BINS])
{
	for (size_t i = 0; i < count; i++) {
		uint32_t e = order[i];
		struct previous *last = &lanes[t->lane[e]];
		int64_t start = interval_bound(t->start_ns[e]), end = interval_end(start, t->dur_ns[e]);
		const struct launch *from = launches_find(l, t->link[e]);

		if (from && t->kind[e] == EVENT_KERNEL && last->end != SB_NULL && start >= last->end &&
		    start - last->end < GAP_MAX_NS &&
		    interval_end(t->start_ns[from->event], t->dur_ns[from->event]) <= last->end)
			bins[(start - last->end) / BIN_NS]++;
		if (last->end == SB_NULL || end > last->end)
			last->end = end;
	}
}

static int gaps_of(const struct trace *t, int64_t bins[BINS])
{
	LAUNCHES_AUTO l = {0};
	uint32_t *order = malloc((t->count + 1) * sizeof(*order));
	struct previous *lanes = malloc((t->lane_count + 1) * sizeof(*lanes));
	size_t n = 0;
	int rc = order && lanes ? launches_build(t, &l) : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < t->lane_count; i++)
		lanes[i].end = SB_NULL;
	for (size_t i = 0; rc == SB_OK && i < t->count; i++)
		if (event_is_device_work(t->kind[i]))
			order[n++] = (uint32_t)i;
	if (rc == SB_OK)
		rc = trace_sort(t, order, n);
	if (rc == SB_OK)
		count_gaps(t, order, n, &l, lanes, bins);
	free(order);
	free(lanes);
	return rc;
}

int gaps_measure(const struct profile *p, int64_t *out_count, double *out_seconds)
{
	int64_t *bins = calloc(BINS, sizeof(*bins)), count = 0, seen = 0;
	int rc = bins ? SB_OK : SB_ENOMEM, i;

	for (size_t k = 0; rc == SB_OK && k < p->count; k++)
		if (!capture_is_ascend(&p->captures[k]))
			rc = gaps_of(&p->captures[k].trace, bins);
	*out_seconds = NAN;
	for (i = 0; rc == SB_OK && i < BINS; i++)
		count += bins[i];
	for (i = 0; rc == SB_OK && count > 0 && seen + bins[i] <= count / 2; i++)
		seen += bins[i];
	*out_count = count;
	if (rc == SB_OK && count > 0)
		*out_seconds = (i + 0.5) * BIN_NS * 1e-9;
	free(bins);
	return rc;
}
