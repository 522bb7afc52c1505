#include <stdlib.h>

#include "profiler/activity.h"
#include "profiler/read/merge.h"

/* Readers look for jumps of the clock in their own files, where they know each place (clock.h). What is left
 * are files that differ from each other: whose times are right cannot be told, so nothing is dropped. */
#define FAR INT64_C(86400000000000)

/* Times since 1970 have 16 digits before the point; that all of some rows end in 0 is no chance. */
#define EPOCH INT64_C(1000000000000000000)
#define COARSE_ROWS 4

struct range {
	int64_t first, last;
	size_t count;
};

static void see(struct range *r, int64_t start, int64_t dur)
{
	int64_t end = sb_add_sat(start, dur > 0 ? dur : 0);

	if (start == SB_NULL)
		return;
	if (r->count == 0 || start < r->first)
		r->first = start;
	if (r->count == 0 || end > r->last)
		r->last = end;
	r->count++;
}

static void warn(struct warnings *w, const struct capture *c, const struct range *r, const char *what)
{
	if (r->count == 0 || sb_add_sat(r->first, FAR) >= r->last)
		return;
	warnings_add(
	    w, "clock_jump", c->source, 0, -1,
	    "%s from %lld to %lld us, which is more than a day: a clock was set, or values are damaged. "
	    "Spans and free times that hold the jump are wrong.",
	    what, (long long)(r->first / 1000), (long long)(r->last / 1000));
}

void capture_check_clock(const struct capture *c, bool told, struct warnings *w)
{
	struct range kernels = {0}, events = {0};
	size_t coarse = 0;

	for (size_t i = 0; i < c->kernel_count; i++) {
		see(&kernels, c->kernels[i].start_ns, c->kernels[i].dur_ns);
		coarse += c->kernels[i].start_ns >= EPOCH && c->kernels[i].start_ns % 10000 == 0;
	}
	if (coarse >= COARSE_ROWS && coarse == c->kernel_count)
		warnings_add(
		    w, "precision_lost", c->source, 0, -1,
		    "All kernels of the table start at multiples of 10 us, as a spreadsheet leaves them, "
		    "which keeps 15 digits: overlaps and gaps are wrong by as much.");
	if (told)
		return;
	for (size_t i = 0; i < c->trace.count; i++)
		if (event_is_device_work(c->trace.kind[i]))
			see(&events, c->trace.start_ns[i], c->trace.dur_ns[i]);
	warn(w, c, &kernels, "The kernels of the table reach");
	warn(w, c, &events, "The work of the device reaches");
}

bool trace_has_device_work(const struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		enum event_kind kind = (enum event_kind)t->kind[i];

		if (event_is_device_work(t->kind[i]) || kind == EVENT_LANE_COMPUTE ||
		    kind == EVENT_LANE_COMMUNICATION || kind == EVENT_LANE_EXPOSED || kind == EVENT_LANE_FREE)
			return true;
	}
	return false;
}
