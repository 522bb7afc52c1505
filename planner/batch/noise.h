#ifndef SB_PLANNER_BATCH_NOISE_H
#define SB_PLANNER_BATCH_NOISE_H
#include <stddef.h>

/* The gradient noise scale tr(S) / |G|^2, in samples: how large a batch can be before more of it stops paying
 * (McCandlish et al., "An empirical model of large-batch training", 2018). */

/* The same gradient seen by two batches. */
struct noise_norms {
	double small_batch, large_batch; /* 0 < small < large */
	double small_norm, large_norm;   /* of the gradient, not squared */
};
/* The noise scale after each of the pairs (appendix A.1 there): |G|^2 = (B |g_B|^2 - b |g_b|^2) / (B - b),
 * tr(S) = (|g_b|^2 - |g_B|^2) / (1/b - 1/B); each is smoothed by an exponential average with the weight
 * `smoothing` (0 <= smoothing < 1) on what was, and then divided. NaN while the estimates have no meaning:
 * |G|^2 not above 0, or tr(S) below 0. out: room for count. */
void noise_scales(const struct noise_norms *pairs, size_t count, double smoothing, double *out);
#endif
