#ifndef SB_PROFILER_GRADIENTS_H
#define SB_PROFILER_GRADIENTS_H
#include "profiler/profile.h"

/* The reductions of gradients of one rank in one step, as a planner that fuses them needs them. */

/* One all-reduce or reduce-scatter, times from the origin of the capture. */
struct gradient_reduce {
	int64_t bytes;
	int64_t ready_ns; /* when it was launched; SB_NULL = not known */
	int64_t start_ns, end_ns;
	double transit_us; /* without the wait for other ranks; NaN = not told apart */
};
struct gradient_reduces {
	struct gradient_reduce *items; /* by start */
	size_t count;
	int64_t step;                               /* number; SB_NULL = no steps */
	int64_t backward_start_ns, backward_end_ns; /* of the compute before and between them */
};

/* Those of the step with the most of them, the last of equals; one whose size is not known is left out. Sizes
 * and transmission come from the event or, by name and step, from communication.json. backward_start is the
 * start of the step's first compute: without marks forward and backward are not told apart, which moves all
 * ready times alike. count 0: there are none. *out is to be freed by gradient_reduces_free(). O(n log n).
 * SB_ENOMEM. */
int gradient_reduces_find(const struct capture *c, struct gradient_reduces *out);
void gradient_reduces_free(struct gradient_reduces *r);
#define GRADIENT_REDUCES_AUTO __attribute__((cleanup(gradient_reduces_free))) struct gradient_reduces
#endif
