#ifndef SB_PLANNER_INTRA_RESHARD_H
#define SB_PLANNER_INTRA_RESHARD_H
#include <stdint.h>

#include "planner/network/link_rate.h"

/* How a tensor lies over the devices of one group: whole on each, as sums that are still to be added up, or
 * split along something (equal numbers: along the same). */
enum lie { LIE_REPLICATED, LIE_PARTIAL, LIE_SPLIT };
struct lying {
	enum lie lie;
	uint32_t along;
};
/* Bytes that a device sends to go from one to the other, of a tensor of `bytes` over `devices`: all-gather,
 * all-reduce, reduce-scatter, all-to-all; taking a part of what is whole is free. Nothing becomes a partial
 * sum: INFINITY. systems.md 3.4. */
double reshard_bytes(struct lying from, struct lying to, double bytes, int64_t devices);
#endif
