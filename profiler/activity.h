#ifndef SB_PROFILER_ACTIVITY_H
#define SB_PROFILER_ACTIVITY_H
#include <stdbool.h>

#include "profiler/intervals.h"
#include "profiler/launches.h"
#include "profiler/profile.h"

/* What is shared by breakdown, operators and findings: which step a time belongs to, and when a device was at
 * work. */

#define NO_STEP UINT32_MAX

/* Host windows of a capture's steps, cut into disjoint pieces: where windows overlap, the one that began last
 * owns the time. */
struct step_window {
	int64_t start, end;
	uint32_t step; /* index into capture.steps */
};
struct step_windows {
	struct step_window *items;
	size_t count;
};
/* The windows of all steps that have one; *out is to be freed by step_windows_free(). SB_ENOMEM. */
int step_windows_build(const struct capture *c, struct step_windows *out);
/* The step whose window holds the time, or NO_STEP. O(log n). */
uint32_t step_windows_at(const struct step_windows *w, int64_t time);
void step_windows_free(struct step_windows *w);
#define STEP_WINDOWS_AUTO __attribute__((cleanup(step_windows_free))) struct step_windows

/* The number of the step that a collective's event belongs to, SB_NULL = none: an Ascend operator stands in
 * the step it starts in, a GPU kernel in the one that launched it. */
int64_t collective_step(const struct capture *c, const struct launches *l, const struct step_windows *w,
                        size_t event);

/* Work on a device: kernels, collectives, copies and fills. */
bool event_is_device_work(uint8_t kind);

/* When one device was at work: sets of disjoint intervals, and the ends of all its work (SB_NULL = none). */
struct activity {
	struct interval_set compute, communication, copy;
	int64_t first, last;
};
/* Adds one piece of work; kind is an enum event_kind of device work. SB_ENOMEM. */
int activity_add(struct activity *a, uint8_t kind, int64_t start_ns, int64_t dur_ns);
/* Makes sets of what was added, in any order. */
void activity_normalise(struct activity *a);
void activity_free(struct activity *a);
#define ACTIVITY_AUTO __attribute__((cleanup(activity_free))) struct activity
#define ACTIVITY_NONE ((struct activity){.first = SB_NULL, .last = SB_NULL})

/* An Ascend capture: where its device time comes from, best source first (ascend-formats 1.1). */
enum ascend_source {
	ASCEND_LANE,    /* "Overlap Analysis" */
	ASCEND_KERNELS, /* kernel_details.csv */
	ASCEND_CSV,     /* step_trace_time.csv */
	ASCEND_DEVICE,  /* the hardware lanes of the timeline */
	ASCEND_NOTHING
};
enum ascend_source ascend_source_of(const struct capture *c);
/* The order in which they are asked for a step: those whose file was cut off come after all whole ones. */
void ascend_source_order(const struct capture *c, enum ascend_source out[ASCEND_NOTHING]);
/* All device activity of an Ascend capture that lies in [from, to), judged by the start, from the lane, the
 * kernels or the hardware lanes. *out is to be freed by activity_free(). SB_ENOMEM. */
int ascend_activity(const struct capture *c, enum ascend_source source, int64_t from, int64_t to,
                    struct activity *out);
#endif
