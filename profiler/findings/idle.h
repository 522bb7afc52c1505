#ifndef SB_PROFILER_FINDINGS_IDLE_H
#define SB_PROFILER_FINDINGS_IDLE_H
#include "profiler/findings/host_part.h"

/* The gaps of one device: times without any work on any of its streams, never the sum over streams. */

/* Whose doing a gap is (research page capabilities, 8.4): the host's when the work that ends it was launched
 * only after the work before it had ended, the device's when that work was in the queue by then. */
enum gap_cause { GAP_UNKNOWN, GAP_HOST, GAP_DEVICE };

struct gap {
	int64_t start, end;
	uint32_t next; /* the event that ends it; GAP_NO_EVENT = not known */
	uint8_t cause;
};
#define GAP_NO_EVENT UINT32_MAX

struct gaps {
	struct gap *items; /* by time */
	size_t count;
};

/* A gap for each of the intervals, which are a set. *out is to be freed by gaps_free(). SB_ENOMEM. */
int gaps_from(const struct interval_set *idle, struct gaps *out);
/* Tells a gap what ended it, when this piece of device work did. O(log n). */
void gaps_meet(struct gaps *g, const struct trace *t, const struct launches *l, size_t event);
/* The gaps of one cause as a set, freed by intervals_free(). SB_ENOMEM. */
int gaps_of_cause(const struct gaps *g, enum gap_cause cause, struct interval_set *out);
/* Sums up: how many and how long, the longest of them and the rest, and by whose doing. `left` is what no
 * known cause takes; gaps of the host shorter than short_ns count as starved by what is left of them.
 * out->starved_gaps is to be freed also after a failure. SB_ENOMEM. */
int gaps_sum(const struct gaps *g, const struct interval_set *left, int64_t short_ns, const struct trace *t,
             struct idle_sum *out);
void gaps_free(struct gaps *g);
/* Adds up the long idle times of `left` in which the host hardly makes a call, where the capture has no lane
 * of the garbage collector. SB_ENOMEM. */
int silence_find(const struct thresholds *t, const struct host_part *host, struct rank_view *v,
                 const struct interval_set *left);
#define GAPS_AUTO __attribute__((cleanup(gaps_free))) struct gaps
#endif
