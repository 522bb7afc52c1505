#ifndef SB_PROFILER_FINDINGS_HOST_PART_H
#define SB_PROFILER_FINDINGS_HOST_PART_H
#include "profiler/findings/findings.h"
#include "profiler/intervals.h"

/* What the host of one capture did, and which events are the work of which device: collected once, however
 * many devices the capture has. The views and the checks of the host use it. */

enum host_class {
	HOST_NONE,
	HOST_LOADING,
	HOST_SYNCHRONIZATION,
	HOST_COMPILATION,
	HOST_ALLOCATION, /* of device memory, and its release */
	HOST_GARBAGE,
	HOST_BATCH_NORM, /* that synchronises its statistics over ranks */
	HOST_CLASSES
};

/* Events of one class, in the order of the trace. */
struct event_list {
	uint32_t *items;
	size_t count;
};

/* Launches of whole graphs whose kernels the capture does not show leave gaps that were none. */
struct graph_launches {
	int64_t count, unrecorded;
	bool unreliable; /* too many of them to believe idle time */
};

/* So many silent times are a pattern; one may be anything. */
#define SILENCES_LEAST 2

struct host_part {
	const struct capture *c;
	struct host_time seen;                /* flags, counts and longest calls */
	struct interval_set of[HOST_CLASSES]; /* sets */
	struct event_list events_of[HOST_CLASSES];
	struct interval_set long_loading; /* the calls over dataloader_us */
	struct launches launches;
	struct graph_launches graphs;
	double blocked_ratio; /* of the launches, those that return only when the device is done; NaN =
	                         unknown */
	int32_t *devices;     /* of the lanes, ascending, each once */
	size_t device_count;
	uint32_t *events; /* work of the devices, those of devices[i] from first[i] to first[i + 1]; NULL when
	                     there is one device: then all events are to be looked at */
	size_t *first;
};

/* Zero-initialised before; free with host_part_free() also after a failure. SB_ENOMEM. */
int host_part_fill(const struct thresholds *t, const struct capture *c, struct host_part *out);
void host_part_free(struct host_part *h);
/* Shows the events of a view's device work to a visitor, in the order of the trace, until it fails; returns
 * what it returned last. */
int device_work_each(const struct rank_view *v, int (*visit)(void *self, size_t event), void *self);
/* Shows what the host did in the longest gaps of a view. */
void show_gaps(struct check_context *ctx, struct finding *f, const struct rank_view *v);
/* Tells how many operators are of dynamic shape, where the capture says it. */
void show_dynamic(const struct check_context *ctx, struct finding *f, const struct rank_view *v);
/* The events of one class, in the order of the trace: *out is to be freed. SB_ENOMEM. */
int host_events(const struct capture *c, enum host_class class, uint32_t **out, size_t *out_count);
/* Does a call of this name allocate memory of the device, or give it back? */
bool host_allocates(const char *name);
/* Is this copy one from the host to the device? */
bool host_copy_to_device(const struct trace *t, size_t event);
/* What an event of this name is on the host. */
enum host_class host_class_of(const char *name);
/* The share of launches that wait for the device, NaN when there are too few. SB_ENOMEM. */
int launch_blocking_ratio(const struct host_part *h, double *out);
/* Counts the launches of graphs, and those without any work of the device. SB_ENOMEM. */
int graph_launches_count(const struct trace *t, const struct launches *l, struct graph_launches *out);
#endif
