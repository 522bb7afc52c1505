#ifndef SB_PROFILER_FINDINGS_LINKS_H
#define SB_PROFILER_FINDINGS_LINKS_H
#include "profiler/findings/findings.h"

/* False for the SDMA entry of an operator whose HCCS, PCIE or SIO entry says the same in parts. */
bool link_counts(const struct communication_op *op, const struct link *l);
/* True when the chip is known and the side's links reach the share of their standard that the thresholds
 * ask for: then packets are not too small. */
bool link_is_well_used(const struct check_context *ctx, const struct rank_view *v, bool rdma);
#endif
