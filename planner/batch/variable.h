#ifndef SB_PLANNER_BATCH_VARIABLE_H
#define SB_PLANNER_BATCH_VARIABLE_H
#include <stddef.h>
#include <stdint.h>

/* A batch that grows in stages while training goes on. */

struct batch_rate {
	double samples; /* of an epoch */
	double devices; /* data-parallel */
	double speed;   /* samples a second of one device */
	double exposed; /* seconds of a step that no device's work hides */
};
struct batch_stage {
	double epochs;
	int64_t batch;
	double learning_rate; /* NaN: none given */
};
struct batch_time {
	double iterations; /* whole */
	double seconds;
	double samples_per_second;
};
/* iterations = ceil(epochs * N / B), seconds = epochs * N / rate(B), rate(B) = B / (B / (P * speed) +
 * exposed). */
struct batch_time batch_stage_time(const struct batch_rate *rate, const struct batch_stage *stage);
/* The sum over stages; samples_per_second is their mean. */
struct batch_time batch_time(const struct batch_rate *rate, const struct batch_stage *stages, size_t count);

struct batch_growth {
	int64_t first, most;  /* batch to start with, and the largest that may be */
	double learning_rate; /* at `first`; NaN: none */
	double linear_batch;  /* up to here the learning rate is linear in the batch, beyond with its square
	                         root */
};
/* The learning rate of a batch. */
double batch_learning_rate(const struct batch_growth *g, int64_t batch);
/* One stage for each run of equal batches: at point i, epochs[i] long, the batch is doubled as long as it is
 * at most noise[i] and `most`; it never shrinks, and stays where the noise scale is NaN. out: room for count.
 * Returns how many. */
size_t batch_grow(const struct batch_growth *g, const double *noise, const double *epochs, size_t count,
                  struct batch_stage *out);
#endif
