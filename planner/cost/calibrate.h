#ifndef SB_PLANNER_COST_CALIBRATE_H
#define SB_PLANNER_COST_CALIBRATE_H
#include <stddef.h>

#include "planner/cost/constants.h"

/* Constants of the cost model from what hardware was measured to do. */

/* What one profile shows. NaN = not shown. */
struct measured_line {
	double rate;     /* FLOP or bytes a second */
	double overhead; /* seconds a call */
	double error;    /* mean relative error of the line; NaN where it is a mean of calls */
	double calls;
};
struct measured {
	struct measured_line products;           /* matrix products in 16 bit */
	double product_flop;                     /* FLOP of their mean call; counts where there is no line */
	double product_most;                     /* FLOP of the largest, about */
	struct measured_line gaps;               /* overhead: what lies between two kernels */
	struct measured_line attention;          /* fused, FLOP of the causal half */
	struct measured_line element_wise;       /* bytes */
	struct measured_line overlap;            /* overhead: how many times as long as alone */
	struct measured_line links[LINK_SCOPES]; /* bytes on a rank's own link */
};

enum calibrated_constant {
	CALIBRATED_GEMM_SHARE,
	CALIBRATED_GEMM_HALF_FLOP,
	CALIBRATED_LAUNCH_SECONDS,
	CALIBRATED_MEMORY_SHARE,
	CALIBRATED_FLASH_SHARE,
	CALIBRATED_NODE_SHARE,
	CALIBRATED_SUPERNODE_SHARE,
	CALIBRATED_NETWORK_SHARE,
	CALIBRATED_OVERLAP_SLOWDOWN,
	CALIBRATED_CONSTANTS
};
/* Its name in struct constants. */
const char *calibrated_name(enum calibrated_constant k);

struct calibrated {
	double value; /* NaN = nothing tells it; weighted by calls where several profiles do */
	double error; /* mean relative error of the line, or how far the profiles are apart if that is more;
	                 NaN = one mean of calls */
	double calls;
};
/* The constants that the profiles tell, for devices and links as the cluster has them. A matrix product of F
 * FLOP takes gemm_full_flop(F, gemm_half_flop) / (peak x gemm_share) on the device (compute.h): a line
 * through products of several sizes tells what share large ones reach, and at how many FLOP half of it;
 * products of one size tell the share alone, with half_flop as it is. Products that are all below half_flop
 * say how they start, not what share large ones reach: they tell neither. A share may come out above 1 where
 * the cluster is not what was measured: constants_check() then refuses it. */
void calibrate(const struct cluster *c, const struct constants *now, const struct measured *profiles,
               size_t count, struct calibrated out[CALIBRATED_CONSTANTS]);
#endif
