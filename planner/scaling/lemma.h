#ifndef SB_PLANNER_SCALING_LEMMA_H
#define SB_PLANNER_SCALING_LEMMA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* How many devices are worth it: the efficiency lemmas (Hermes' table of scaling rules). A step of fixed work
 * takes compute + overhead on one device, and compute / G + overhead on G: what is overhead does not shrink.
 * With R = overhead / compute, efficiency is (1 + R) / (1 + G R), the speed-up G times that, and no number of
 * devices gets beyond (1 + R) / R. */

struct scaling_lemma {
	double compute;  /* seconds of a step on one device, > 0 */
	double overhead; /* seconds, >= 0 */
};
/* Seconds of a step on G >= 1 devices. */
double lemma_step(const struct scaling_lemma *l, double devices);
/* (1 + R) / (1 + G R). */
double lemma_efficiency(const struct scaling_lemma *l, double devices);
/* (1 + R) / R; INFINITY without overhead. */
double lemma_limit(const struct scaling_lemma *l);
/* Most devices whose efficiency is at least `share` (0 < share <= 1): ((1 + R) / share - 1) / R, whole, at
 * least 1; INFINITY without overhead. */
double lemma_most_devices(const struct scaling_lemma *l, double share);

/* Where the speed-up an added device brings stops being worth it, unless told otherwise: the knee of Eager,
 * Zahorjan and Lazowska (IEEE Transactions on Computers 38(3), 1989) is where efficiency over time is
 * greatest. Under the lemma that is G = 1 / R with the efficiency (1 + R) / 2; at a knee it is never below a
 * half. */
#define SCALING_EFFICIENCY 0.5

/* One measured or searched number of devices. */
struct scaling_point {
	int64_t devices;
	double seconds; /* of a step of the same work, > 0 */
};
/* The lemma nearest to the points: least squares of the relative errors, both coefficients at least 0.
 * *out_error: the mean relative error of the points. SB_ENOENT with fewer than two numbers of devices. */
int lemma_fit(const struct scaling_point *points, size_t count, struct scaling_lemma *out, double *out_error);
/* Index of the knee: points by devices ascending; the last point up to which the efficiency against the first
 * stays at least `share`. count >= 1. */
size_t scaling_knee(const struct scaling_point *points, size_t count, double share);
/* Efficiency of a point against another: how much of its device-seconds the other would have needed. */
double scaling_efficiency(const struct scaling_point *base, const struct scaling_point *p);

/* Gradients of one backward pass in the order in which it makes them. */
struct scaling_gradient {
	double backward, all_reduce; /* seconds */
};
struct scaling_overlap {
	double backward_end, all_reduce_end; /* from the start of backward */
	double exposed;                      /* all_reduce_end - backward_end, >= 0 */
};
/* One all-reduce a layer, in order on one stream: starts at max(its backward's end, the end of the one
 * before).
 */
struct scaling_overlap scaling_overlap(const struct scaling_gradient *gradients, size_t count);

/* Parameter servers that hide the exchange: 2 * bytes * workers / (rate * compute seconds). */
double scaling_servers(double bytes, double workers, double bytes_per_second, double compute_seconds);
#endif
