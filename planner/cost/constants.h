#ifndef SB_PLANNER_COST_CONSTANTS_H
#define SB_PLANNER_COST_CONSTANTS_H
#include "planner/cluster.h"

/* The calibration of the cost model: shares of the hardware's peak that software reaches, and overheads. Each
 * may be replaced by a measured value. */
struct constants {
	double gemm_share;         /* largest share of peak_flops that a matrix product reaches */
	double gemm_half_flop;     /* FLOP at which a matrix product reaches half of that */
	double launch_seconds;     /* added to each matrix product */
	double memory_share;       /* of memory_bandwidth, for element-wise work */
	double element_passes;     /* passes over the layer's activation in norms, residuals, dropout */
	double score_share;        /* of peak_flops, batched products of an unfused attention core */
	double score_bytes;        /* memory traffic a score element, unfused attention, forward */
	double flash_share;        /* of peak_flops, fused attention core */
	double node_share;         /* of the link inside a node */
	double supernode_share;    /* of the supernode link */
	double network_share;      /* of the link between nodes */
	double adapter_conflict;   /* 0 to 1: what groups lose that share a node's adapters, see
	                              ring_bandwidth() */
	double collective_seconds; /* to start an all-reduce or all-to-all; a gather or scatter takes half */
	double node_latency;       /* seconds a hop */
	double network_latency;    /* seconds a hop */
	double overlap_slowdown;   /* kappa_o: how much two overlapped streams slow each other, >= 1 */
	double straggler;          /* share of the step lost each time the devices double beyond 8 */
	double step_seconds;       /* host work once a step */
	double fragmentation;      /* factor on the memory that comes and goes, >= 1 */
	double context_bytes;      /* device memory of the runtime and its communicators */
	double model_error; /* mean relative error on the measured runs of this family; NaN = unmeasured */
};

/* The shipped constants of a device family with the cluster's own efficiencies applied. The sources are at
 * the table in constants.c. */
struct constants constants_for(const struct cluster *c);
/* SB_EIMPOSSIBLE with the constant's name in err->field when one is out of its physical range. */
int constants_check(const struct constants *k, struct sb_error *err);
#endif
