#ifndef SB_PROFILER_EFFICIENCY_EFFICIENCY_H
#define SB_PROFILER_EFFICIENCY_EFFICIENCY_H
#include "profiler/findings/bus.h"
#include "profiler/intervals.h"
#include "profiler/profile.h"

/* What the hardware reached in a profile: what a planner is calibrated by. Only what the events themselves
 * show; a quantity that they do not show is NaN, or has no calls. */

/* seconds = overhead + amount / rate over calls of many sizes. */
struct rate_fit {
	double rate;       /* amount a second; NaN = too few sizes, or no line fits */
	double overhead;   /* seconds, >= 0 */
	double mean_error; /* mean |fitted / measured - 1| over the sizes; NaN = two sizes, which any line
	                      fits */
};

/* Calls of one size. */
struct rate_point {
	double amount;  /* FLOP, or bytes; > 0 */
	double seconds; /* > 0 */
	double calls;
};
/* Makes one of the points of equal amount: the mean of their calls, or the shortest. Returns how many are
 * left, by amount. */
size_t rate_points_merge(struct rate_point *p, size_t count, bool shortest);
/* The line through merged points, by least squares of the relative errors. Sizes that do not even
 * differ by a factor of two give none: overhead and rate cannot be told apart. */
struct rate_fit rate_fit_of(const struct rate_point *p, size_t count);

struct work_sum {
	int64_t calls;
	double seconds, amount; /* of all calls; FLOP or bytes */
};

/* Matrix products by FLOP a call: class i begins at product_class_least(i) and ends where the next begins;
 * two classes a decade. */
#define PRODUCT_CLASSES 16
double product_class_least(int i);

/* Collectives of one kind among so many ranks, so far apart. */
struct collective_rate {
	enum collective_kind kind;
	int64_t ranks;
	int64_t span; /* from the lowest rank to the highest; -1 = not known */
	int64_t
	    stride; /* every stride-th rank of a block of ranks x stride that begins at a multiple of its
	               size, as groups of parallel training lie; -1 = they lie otherwise, or are not known */
	int64_t calls;
	double largest_bytes;        /* on each rank's link (bus bytes of nccl-tests) */
	double bus_bytes_per_second; /* of that size */
	struct rate_fit fit;         /* over the sizes, bytes on the link; none where the ranks waited */
};
#define COLLECTIVE_RATES_MAX 64

struct efficiency {
	char chip[64];            /* "" = not named, or several */
	struct work_sum products; /* matrix products in 16 bit */
	struct work_sum product_class[PRODUCT_CLASSES];
	struct rate_fit product_fit;
	int64_t other_products; /* calls in another precision, not in the sums */
	struct work_sum
	    attention; /* fused attention, large calls only; FLOP of the causal half where that is told */
	bool attention_whole;         /* the captures do not tell what is causal: the whole square counts */
	struct work_sum element_wise; /* bytes of large element-wise operators on separate vector cores */
	int64_t gaps;                 /* between kernels, the later one launched before the first ended */
	double gap_seconds;           /* their median; NaN = none */
	int64_t overlapped;           /* products under communication whose like also ran alone */
	double overlap_slowdown;      /* how many times as long they took as alone; NaN = none */
	struct collective_rate collectives[COLLECTIVE_RATES_MAX]; /* by kind, ranks, span, stride */
	size_t collective_count;
	/* What went over each kind of link, where communication.json tells: while it was sent. */
	struct link_rate_sum {
		const char *name; /* static: HCCS, RDMA, … */
		struct work_sum sum;
	} links[LINKS_MAX];
	size_t link_count;
};

/* Measures all captures together. O(events x log n). SB_ENOMEM. */
int efficiency_measure(const struct profile *p, struct efficiency *out);

/* ---- the parts; private to this room ---- */

/* One call of a matrix product or of attention. */
struct product_call {
	double flops;
	int64_t start_ns, dur_ns; /* of its kernels, one after the other; > 0 */
	uint32_t name, shapes;    /* texts; calls alike in both, in FLOP and precision are of one product */
	uint8_t precision;        /* enum precision */
	bool attention, whole;    /* whole: of its square, for what is causal is not told */
};
/* The calls of a capture whose work is known. *out_calls is the caller's to free. SB_ENOMEM. */
int product_calls(const struct capture *c, struct product_call **out_calls, size_t *out_count);

/* The time that communication of a capture covers. SB_ENOMEM. */
int communication_covered(const struct capture *c, struct covered *out);

/* Adds what the calls took beside communication: seconds, and the seconds of as many calls alone. Sorts the
 * calls. */
struct overlap_sum {
	int64_t calls;
	double beside, alone;
};
void overlap_add(const struct covered *s, struct product_call *calls, size_t count, struct overlap_sum *io);

/* The median of the gaps that the device leaves between kernels which were launched in time. SB_ENOMEM. */
int gaps_measure(const struct profile *p, int64_t *out_count, double *out_seconds);
/* SB_ENOMEM. */
int collective_rates(const struct profile *p, struct efficiency *e);
#endif
