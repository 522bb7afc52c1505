#ifndef SB_PROFILER_CRITICAL_PATH_PARTS_H
#define SB_PROFILER_CRITICAL_PATH_PARTS_H
#include "profiler/activity.h"
#include "profiler/critical_path.h"
#include "profiler/event_waits.h"

/* What the search of critical paths works on. */

#define NO_WORK UINT32_MAX

/* One piece of work of one device. */
struct path_work {
	int64_t start, end;
	int64_t link;    /* of its launch; -1 = none */
	uint32_t index;  /* event of the trace, or kernel row */
	uint32_t name;   /* text id of the capture */
	uint32_t stream; /* lane, or a number that stands for the stream of a kernel row */
	uint32_t before; /* the work before it on its stream, or NO_WORK */
	uint32_t behind; /* the work of another stream that its stream waited for, or NO_WORK */
	uint8_t part;
};

/* The work of one device of one capture, by end (then start, part and place in the source). */
struct path_works {
	uint32_t capture;
	int64_t device;
	bool kernels; /* the index is a kernel row */
	struct path_work *items;
	size_t count;
	size_t first; /* the work that starts first; of several, the longest */
};

/* A work by its place in the source; device -1 = not named. */
struct device_work {
	int32_t device;
	uint32_t index;
};

/* A kernel row says nothing of its launch: the event of the timeline that starts with it does. */
struct timed_link {
	int64_t start, link;
};

/* The devices of a capture that have work, rising. The work of device i is works[first[i]] and on to
 * works[first[i + 1]]: each is looked at once, however many devices there are. */
struct path_devices {
	struct device_work *works;
	size_t *first; /* one more at the end */
	size_t count;
	struct timed_link *links; /* by start; none where the works are events themselves */
	size_t link_count;
	struct event_waits waits; /* none where the works are kernel rows */
};
/* *out is to be freed by path_devices_free(). SB_ENOMEM. */
int path_devices_find(const struct capture *c, struct path_devices *out);
void path_devices_free(struct path_devices *d);

/* Collects the work of the device at `which`. *out is to be freed by path_works_free(). SB_ENOMEM. */
int path_works_collect(const struct profile *p, uint32_t capture, const struct path_devices *d, size_t which,
                       struct path_works *out);
void path_works_free(struct path_works *w);

/* What the host did: its recorded operations and calls, thread by thread, the outermost of each moment. */
struct path_host {
	const struct trace *t;
	struct launches launches;
	uint32_t *events; /* by lane, then start */
	size_t count;
	size_t *first; /* where each lane begins in events; one more at the end */
};
int path_host_build(const struct trace *t, struct path_host *out);
void path_host_free(struct path_host *h);

/* A path while it is found: pieces are added from the last to the first. */
struct path_draft {
	struct critical_path path;
	const struct profile *p;
	struct sb_strings *texts;
	int64_t at; /* where the piece added last begins, on the clock of its capture */
	int rc;
};
/* Adds the piece from `start` to where the path stands, and moves there; name is a text id of the capture. */
void path_add(struct path_draft *d, uint32_t capture, enum path_part part, uint32_t name, int64_t start);
/* Adds the time from `from` to where the path stands, in which the device waited for the work: the host's
 * where the launch came later than `from`. h may be NULL. */
void path_wait(struct path_draft *d, const struct path_host *h, const struct path_works *w, size_t at,
               int64_t from);
/* Adds the piece of the work at `at`, and the wait before it; the place of the work before it through
 * *out_before. False when there is none. */
bool path_step(struct path_draft *d, const struct path_host *h, const struct path_works *w, size_t at,
               size_t *out_before);
/* Turns the pieces round and sums them up. */
void path_close(struct path_draft *d);
/* The path across the ranks, from the captures' own collectives. works: of all devices of all captures,
 * hosts: of all captures. */
int path_across(const struct collectives *c, const struct path_works *works, size_t work_count,
                const struct path_host *hosts, struct path_draft *d);
#endif
