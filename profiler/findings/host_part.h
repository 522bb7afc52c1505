#ifndef SB_PROFILER_FINDINGS_HOST_PART_H
#define SB_PROFILER_FINDINGS_HOST_PART_H
#include "profiler/findings/findings.h"
#include "profiler/intervals.h"

/* What the host of one capture did, and which events are the work of which device: collected once, however
 * many devices the capture has.
 * host_part.c, host_time.c and the checks that name the events of a cause only. */

enum host_class {
	HOST_NONE,
	HOST_LOADING,
	HOST_SYNCHRONIZATION,
	HOST_COMPILATION,
	HOST_ALLOCATION, /* of device memory, and its release */
	HOST_CLASSES
};

struct host_part {
	const struct capture *c;
	struct host_time seen;                         /* flags, counts and longest calls */
	struct interval_set of[HOST_CLASSES], garbage; /* sets */
	struct interval_set long_loading;              /* the calls over dataloader_us */
	int32_t *devices;                              /* of the lanes, ascending, each once */
	size_t device_count;
	uint32_t *events; /* work of the devices, those of devices[i] from first[i] to first[i + 1]; NULL when
	                     there is one device: then all events are to be looked at */
	size_t *first;
};

/* Zero-initialised before; free with host_part_free() also after a failure. SB_ENOMEM. */
int host_part_fill(const struct thresholds *t, const struct capture *c, struct host_part *out);
void host_part_free(struct host_part *h);
/* The events of one class, in the order of the trace: *out is to be freed. SB_ENOMEM. */
int host_events(const struct capture *c, enum host_class class, uint32_t **out, size_t *out_count);
/* Does a call of this name allocate memory of the device, or give it back? */
bool host_allocates(const char *name);
/* Is this copy one from the host to the device? */
bool host_copy_to_device(const struct trace *t, size_t event);
/* Does the text hold the part, without regard to case? */
bool host_text_has(const char *text, const char *part);
#endif
