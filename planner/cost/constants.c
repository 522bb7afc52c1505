#include "planner/cost/constants.h"

#include <math.h>
#include <stddef.h>

/* Ampere: fitted by least squares (soft L1) of log(predicted / measured) on 84 published and recorded runs of
 * GPT models on A100 clusters: Narayanan et al. 2021, table 1; Korthikanti et al. 2022, tables 3 and 5;
 * MegaScale 2024, table 2, Megatron-LM rows; vTrain, MICRO 2024, multi-node measurements. model_error is the
 * mean error on them. Given, not fitted: node_share, nccl-tests reach 229 of 300 GB/s on eight A100;
 * memory_share, the usual stream share of HBM; gather_exposed, the fit of the research prototype;
 * overlap_slowdown, measured by Galvatron; flash_share, the range quoted for FlashAttention-2 and -3 kernels.
 * Hopper reuses the fit; its error is that on six H100 runs of Megatron-Core whose micro-batch is not
 * published. Other families have no measured run. */
static const struct constants ampere = {
    .gemm_share = 0.76,
    .gemm_half_flop = 15e9,
    .launch_seconds = 14e-6,
    .memory_share = 0.8,
    .element_passes = 4.2,
    .score_share = 0.74,
    .score_bytes = 12,
    .flash_share = 0.5,
    .node_share = 0.77,
    .supernode_share = 0.77,
    .network_share = 0.71,
    .node_latency = 4e-6,
    .network_latency = 10e-6,
    .gather_exposed = 0.84,
    .overlap_slowdown = 1.126,
    .straggler = 0.0019,
    .step_seconds = 0,
    .fragmentation = 1.05,
    .context_bytes = 1.5e9,
    .model_error = 0.048,
};

struct constants constants_for(const struct cluster *c)
{
	struct constants k = ampere;

	if (c->device.family == FAMILY_HOPPER)
		k.flash_share = 0.6;
	if (c->device.family != FAMILY_AMPERE)
		k.model_error = c->device.family == FAMILY_HOPPER ? 0.15 : NAN;
	if (!isnan(c->compute_efficiency)) {
		k.gemm_share = c->compute_efficiency;
		k.score_share = c->compute_efficiency;
		k.flash_share = fmin(k.flash_share, c->compute_efficiency);
	}
	if (!isnan(c->memory_efficiency))
		k.memory_share = c->memory_efficiency;
	if (!isnan(c->link_efficiency[LINK_NODE]))
		k.node_share = c->link_efficiency[LINK_NODE];
	if (!isnan(c->link_efficiency[LINK_SUPERNODE]))
		k.supernode_share = c->link_efficiency[LINK_SUPERNODE];
	if (!isnan(c->link_efficiency[LINK_CLUSTER]))
		k.network_share = c->link_efficiency[LINK_CLUSTER];
	return k;
}

int constants_check(const struct constants *k, struct sb_error *err)
{
	const struct {
		const char *name;
		double value, low, high;
	} rows[] = {
	    {"gemm_share", k->gemm_share, 0.001, 1},
	    {"gemm_half_flop", k->gemm_half_flop, 0, 1e15},
	    {"launch_seconds", k->launch_seconds, 0, 1},
	    {"memory_share", k->memory_share, 0.001, 1},
	    {"element_passes", k->element_passes, 0, 1000},
	    {"score_share", k->score_share, 0.001, 1},
	    {"score_bytes", k->score_bytes, 0, 1000},
	    {"flash_share", k->flash_share, 0.001, 1},
	    {"node_share", k->node_share, 0.001, 1},
	    {"supernode_share", k->supernode_share, 0.001, 1},
	    {"network_share", k->network_share, 0.001, 1},
	    {"node_latency", k->node_latency, 0, 1},
	    {"network_latency", k->network_latency, 0, 1},
	    {"gather_exposed", k->gather_exposed, 0, 1},
	    {"overlap_slowdown", k->overlap_slowdown, 1, 10},
	    {"straggler", k->straggler, 0, 1},
	    {"step_seconds", k->step_seconds, 0, 1e6},
	    {"fragmentation", k->fragmentation, 1, 10},
	    {"context_bytes", k->context_bytes, 0, 1e15},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!isfinite(rows[i].value) || rows[i].value < rows[i].low || rows[i].value > rows[i].high)
			return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", rows[i].name,
			                     "must lie between %g and %g", rows[i].low, rows[i].high);
	}
	return SB_OK;
}
