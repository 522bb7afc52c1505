#ifndef SB_PROFILER_MEMORY_H
#define SB_PROFILER_MEMORY_H
#include "profiler/profile.h"

/* Memory over time: the peaks of each device and allocator, who holds the memory at the peak, and curves that
 * fit a screen. Fragmentation is what the allocator holds at the peak and nobody uses: reserved - allocated.
 */

#define MEMORY_OPERATORS_MAX 10
/* An operator by what it holds at the peak. */
struct memory_operator {
	const char *name; /* borrowed from the capture */
	int64_t bytes, count;
};

struct memory_row {
	const struct capture *capture; /* borrowed from the profile, as is the series */
	const struct memory_series *series;
	int64_t peak_bytes, peak_at_ns; /* of what is allocated, the first time; SB_NULL = not told */
	int64_t reserved_at_peak;       /* SB_NULL = not told */
	int64_t reserved_peak_bytes;    /* SB_NULL = not told */
	int64_t capacity_bytes; /* of the device: from the capture, else by its chip; SB_NULL = unknown */
	struct memory_operator operators[MEMORY_OPERATORS_MAX]; /* the largest first */
	size_t operator_count;
};

struct memory_report {
	struct memory_row *rows; /* by capture, device, component */
	size_t count;
};

/* Peaks and capacity of one series, without operators. Linear. */
struct memory_row memory_peak(const struct capture *c, const struct memory_series *s);
/* The rows of all captures. *out borrows from p and is to be freed by memory_free(). SB_ENOMEM. */
int memory_compute(const struct profile *p, struct memory_report *out, struct sb_error *err);
void memory_free(struct memory_report *r);
#define MEMORY_AUTO __attribute__((cleanup(memory_free))) struct memory_report

/* A curve of at most `columns` points (> 0) from the points of a series, by time: all of them when they are
 * few enough, else one for each column of equal time that has any, with its largest values, so that the peaks
 * stay: the time is that of the largest allocated one (of reserved, where allocated is not told). *out is to
 * be freed. SB_ENOMEM. */
int memory_curve(const struct memory_point *points, size_t count, size_t columns, struct memory_point **out,
                 size_t *out_count);
#endif
