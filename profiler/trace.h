#ifndef SB_PROFILER_TRACE_H
#define SB_PROFILER_TRACE_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strings.h"

/* What an event is, whatever the dialect called it. Stored on disk: append only, never renumber. */
enum event_kind {
	EVENT_OTHER = 0,
	/* on a device: work */
	EVENT_KERNEL,        /* a compute kernel */
	EVENT_COMMUNICATION, /* a collective or send/receive (GPU kernel with a collective-library mark;
	                        Ascend: the row of the group lane, not its tasks) */
	EVENT_MEMCPY,
	EVENT_MEMSET,
	/* on a device: not work */
	EVENT_DEVICE_WAIT,        /* event wait, notify wait, cuda_sync: waiting that a sum must not count */
	EVENT_DEVICE_OTHER,       /* event record, place holder … */
	EVENT_COMMUNICATION_TASK, /* a task of a plane below a communication row */
	EVENT_DEVICE_ANNOTATION,  /* gpu_user_annotation: covers idle time */
	/* Ascend's "Overlap Analysis" lane */
	EVENT_LANE_COMPUTE,
	EVENT_LANE_COMMUNICATION,
	EVENT_LANE_EXPOSED, /* Communication(Not Overlapped) */
	EVENT_LANE_FREE,
	/* on the host */
	EVENT_HOST_OP,      /* cpu_op / Operator */
	EVENT_HOST_RUNTIME, /* cuda_runtime, cuda_driver, AscendCL, Runtime@…, Node@launch */
	EVENT_HOST_PYTHON,  /* python_function */
	EVENT_HOST_ANNOTATION,
	EVENT_HOST_QUEUE, /* enqueue, dequeue */
	/* on the host, of sources that say so themselves; elsewhere the name tells */
	EVENT_HOST_LOADING, /* waits for training data */
	EVENT_HOST_WAIT,    /* waits for the device */
	EVENT_HOST_GARBAGE, /* the language's garbage collector */
	EVENT_KIND_COUNT
};

/* A thread, stream or plane of the timeline. */
struct lane {
	uint32_t process; /* string id of the process name, or of the pid's text */
	uint32_t thread;  /* string id of the thread name, or of the tid's text */
	int32_t device;   /* -1 on the host or unknown */
	uint32_t reserved;
};

/* What only some events have: kept apart so that the others do not pay for it. Ordered by event. */
struct event_detail {
	uint32_t event;   /* index into the columns */
	uint32_t type;    /* string id: task type (Ascend), collective name, copy kind; of a host operator the
	                     call stack as written; 0 = none */
	uint32_t group;   /* string id: process group, 0 = none; of a wait for an event the stream that it was
	                     recorded on, as the thread of its lane is called */
	uint32_t ranks;   /* string id: the group's ranks as the source wrote them, 0 = none */
	int64_t bytes;    /* SB_NULL = unknown */
	int64_t sequence; /* order inside the group, SB_NULL = unknown; of a wait for an event the link of the
	                     call that recorded it */
};

/* A host event that launched device work (launches.h). */
struct launch {
	int64_t link, start;
	uint32_t event;
};

/* Columns of one rank's events, in the order of the file. 33 bytes an event. The arrays belong to the trace.
 */
struct trace {
	size_t count;
	int64_t *start_ns; /* since the epoch of the source */
	int64_t *dur_ns;   /* >= 0 */
	int64_t *link;     /* correlation between a launch and the device work it started, -1 = none */
	uint32_t *name;    /* string id */
	uint32_t *lane;    /* index into lanes */
	uint8_t *kind;     /* enum event_kind */
	struct lane *lanes;
	size_t lane_count;
	struct event_detail *details;
	size_t detail_count;
	struct sb_strings *strings; /* names of this trace and of its capture */
	size_t capacity, lane_capacity, detail_capacity;
	struct launch *launches; /* by link, as launches_keep() found them when there were `launches_of`
	                            events; NULL = not yet */
	size_t launch_count, launches_of;
};

struct event {
	int64_t start_ns, dur_ns, link;
	uint32_t name, lane;
	enum event_kind kind;
};

/* An empty trace for reading into, with an own string set. Free with trace_free(). SB_ENOMEM. */
int trace_init(struct trace *t);
void trace_free(struct trace *t);
/* Appends one event. SB_ENOMEM; SB_ELIMIT past 2^32-1 events. */
int trace_append(struct trace *t, const struct event *e);
/* Appends what only the event appended last has. SB_ENOMEM. */
int trace_append_detail(struct trace *t, const struct event_detail *d);
/* One event out of the columns. */
struct event trace_event(const struct trace *t, size_t i);
/* Puts the columns of one event in the place of another. Its details stay where they are. */
void trace_move_event(struct trace *t, size_t to, size_t from);
/* Gives back room of a small trace that nothing is added to for now. Never fails. */
void trace_shrink(struct trace *t);
/* Adds a lane; its index in *out_lane. SB_ENOMEM; SB_ELIMIT past 2^32-1 lanes. */
int trace_add_lane(struct trace *t, const struct lane *lane, uint32_t *out_lane);
/* Sorts events of a trace by start, then longer first, kind, name and place in the trace. SB_ENOMEM. */
int trace_sort(const struct trace *t, uint32_t *events, size_t count);
/* The detail of an event, or NULL. O(log detail_count). */
const struct event_detail *trace_detail(const struct trace *t, uint32_t event);
/* A text by id: borrowed, NUL-terminated. len may be NULL. */
const char *trace_text(const struct trace *t, uint32_t id, size_t *len);

#define TRACE_AUTO __attribute__((cleanup(trace_free))) struct trace
#endif
