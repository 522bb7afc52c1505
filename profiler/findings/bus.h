#ifndef SB_PROFILER_FINDINGS_BUS_H
#define SB_PROFILER_FINDINGS_BUS_H
#include "profiler/findings/findings.h"

/* Collectives of GPUs: what they are, and what their bytes mean for the links. */
enum collective_kind {
	COLLECTIVE_OTHER,
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_ALL_TO_ALL
};
/* By the name of the collective or of its kernel: case, and what stands around it, does not matter. */
enum collective_kind collective_kind_of(const char *name);
/* Bytes on each rank's link over the bytes of the collective among n ranks, as nccl-tests defines the bus
 * bandwidth (research page analyses 8): 2 (n - 1) / n for an all-reduce, 1 for a broadcast. */
double bus_factor(enum collective_kind k, double n);
/* The parts of the link checks for timelines without communication.json. */
void check_slow_bus(struct check_context *ctx, bool *out_judged);
void check_small_collectives(struct check_context *ctx, bool *out_judged);
#endif
