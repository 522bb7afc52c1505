#ifndef SB_PROFILER_MONITOR_H
#define SB_PROFILER_MONITOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profile.h"

/* Step fluctuation (Hermes 3.1): a step that takes more than a tenth longer than the median of the steps
 * before it. The limit is the paper's only number (GPT-3 case); window and warm-up are ours. */

struct monitor_rule {
	double limit;   /* share above the median, 0.10 */
	size_t window;  /* steps that the median is taken of, at most MONITOR_WINDOW_MAX */
	size_t warm_up; /* first steps that are neither judged nor counted */
};
#define MONITOR_WINDOW_MAX 64
#define MONITOR_BASE_LEAST 3                      /* the median of fewer steps is no base */
extern const struct monitor_rule MONITOR_DEFAULT; /* 10 %, 20 steps, 1 step */

/* Marks the steps that stand out. `excluded` (a checkpoint, say) may be NULL; such a step is neither judged
 * nor counted, and so is one of no length. A step is judged once three are before it. Returns how many stand
 * out. O(count * window). */
size_t monitor_steps(const struct monitor_rule *rule, const int64_t *dur_ns, const bool *excluded,
                     size_t count, bool *out_slow);
/* The same for the steps of a capture in their order: its step windows, else its iterations; a step in which
 * the host saves a checkpoint is left out. *out_slow has one flag a step (of *out_count) and is to be freed;
 * NULL when the capture has none. SB_ENOMEM. */
int monitor_capture(const struct monitor_rule *rule, const struct capture *c, bool **out_slow,
                    size_t *out_count);
#endif
