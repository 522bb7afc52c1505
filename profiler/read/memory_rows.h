#ifndef SB_PROFILER_READ_MEMORY_ROWS_H
#define SB_PROFILER_READ_MEMORY_ROWS_H
#include "profiler/profile.h"

/* What readers of memory records share: the series of a capture while it is read. */

/* More series than any capture has; those past it are passed over. */
#define MEMORY_SERIES_MAX 1024

/* The series of a device and an allocator (0 = the framework's), added when it is new: valid until the next
 * one is added. NULL in *out past MEMORY_SERIES_MAX. SB_ENOMEM. */
int memory_series(struct capture *c, int64_t device, uint32_t component, struct memory_series **out);
/* Adds a record; NULL-safe. SB_ENOMEM. */
int memory_add(struct memory_series *s, int64_t time_ns, int64_t allocated, int64_t reserved);
/* Adds an allocation. SB_ENOMEM. */
int memory_allocated(struct capture *c, const struct allocation *a);
/* Once all files of a capture are there: drops series that only ever held nothing, and orders series by
 * device and component, records and allocations by time. */
void memory_finish(struct capture *c);
/* Moves what dst does not have yet from src. Their text ids must be those of one set. in_parts: both may hold
 * parts of one series. SB_ENOMEM. */
int memory_join(struct capture *dst, struct capture *src, bool in_parts);
#endif
