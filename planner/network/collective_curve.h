#ifndef SB_PLANNER_NETWORK_COLLECTIVE_CURVE_H
#define SB_PLANNER_NETWORK_COLLECTIVE_CURVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The time of one collective by its size: continuous, never falling, a line between neighbouring sizes. */

/* From from_bytes on, up to the next piece: seconds + slope * (bytes - from_bytes). */
struct curve_piece {
	double from_bytes, seconds, slope;
};
struct collective_curve {
	struct curve_piece *pieces; /* by from_bytes, the first from 0; at least one */
	size_t count;
	double measured_to; /* the largest size that was measured; INFINITY for a formula */
	bool raised;        /* a measured time below that of a smaller size was raised to it */
};
/* A measurement. */
struct curve_row {
	int64_t bytes;
	double seconds;
};
#define CURVE_ROWS_MAX 1000
#define CURVE_BYTES_MAX ((int64_t)1 << 40)
#define CURVE_SECONDS_MAX 1e6

/* latency + bytes / bytes_per_second. SB_EIMPOSSIBLE, SB_ENOMEM; err->field is "latency_seconds" or
 * "bytes_per_second". */
int curve_from_link(double latency_seconds, double bytes_per_second, struct collective_curve *out,
                    struct sb_error *err);
/* Through measurements in any order; rows of one size count as their mean. A time below that of a smaller
 * size is noise: it is raised to the largest time of the smaller sizes. Below the smallest size the time
 * stays that of the smallest (latency); beyond the largest it grows on as between the last two sizes, or,
 * when that is not more than nothing or there is one size only, in proportion to the largest. SB_EIMPOSSIBLE
 * (err->field: "INDEX/bytes" or "INDEX/seconds", "" for the number of rows), SB_ENOMEM. */
int curve_from_rows(const struct curve_row *rows, size_t count, struct collective_curve *out,
                    struct sb_error *err);
double curve_seconds(const struct collective_curve *c, double bytes);
/* NULL-safe, leaves an empty curve. */
void curve_clear(struct collective_curve *c);
#define CURVE_AUTO __attribute__((cleanup(curve_clear))) struct collective_curve
#endif
