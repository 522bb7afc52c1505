#include "profiler/thresholds.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* Defaults: research page advisor-rules, section 4. The one place where limits of checks stand. */
const struct thresholds THRESHOLDS_DEFAULT = {{
    /* severity, from the share of the step that a finding costs; msprof-analyze calls 3 % medium */
    {"severity_critical_share", "share", 0.10, ORIGIN_DEFAULT},
    {"severity_warning_share", "share", 0.03, ORIGIN_MSPROF_ANALYZE},
    {"unexplained_share", "share", 0.20, ORIGIN_DEFAULT},
    {"steps_for_high_confidence", "steps", 3, ORIGIN_DEFAULT},
    {"confidence_margin", "ratio", 1.1, ORIGIN_DEFAULT},
    {"confidence_agreement", "share", 0.6, ORIGIN_DEFAULT},
    /* overlap: the paper's cases put the limit between 4.3 % and 8.8 % of the step */
    {"overlap_share", "share", 0.05, ORIGIN_PAPER},
    {"exposed_share", "share", 0.05, ORIGIN_DEFAULT},
    /* nsys-ai calls communication poorly overlapped when less of it is hidden (overlap_breakdown) */
    {"hidden_share", "share of communication", 0.30, ORIGIN_DEFAULT},
    /* below it there is nothing to recover: no finding of time that could be moved */
    {"recoverable_share", "share", 0.02, ORIGIN_DEFAULT},
    {"bubble_share", "share", 0.10, ORIGIN_DEFAULT},
    {"slow_rank_share", "share", 0.05, ORIGIN_MSPROF_ANALYZE},
    {"slow_rank_least_share", "share", 0.02, ORIGIN_DEFAULT},
    {"slow_rank_votes", "share of steps", 0.6, ORIGIN_DEFAULT},
    {"free_share", "share", 0.10, ORIGIN_MSPROF_ANALYZE},
    {"dataloader_us", "us", 10000, ORIGIN_MSPROF_ANALYZE},
    /* the TensorBoard plugin's rule for short calls of the loader */
    {"loading_share", "share", 0.05, ORIGIN_DEFAULT},
    {"loading_operators_share", "share of loading", 0.5, ORIGIN_DEFAULT},
    {"queue_empty_share", "share of looks", 0.3, ORIGIN_MINDINSIGHT},
    {"queue_low_usage", "share of capacity", 0.6, ORIGIN_MINDINSIGHT},
    {"queue_high_usage", "share of capacity", 0.8, ORIGIN_MINDINSIGHT},
    {"iteration_interval_us", "us", 500, ORIGIN_MINDINSIGHT},
    {"fetching_share", "share", 0.05, ORIGIN_DEFAULT},
    {"synchronization_share", "share", 0.02, ORIGIN_DEFAULT},
    {"compilation_events", "events", 20, ORIGIN_MSPROF_ANALYZE},
    {"compilation_share", "share", 0.02, ORIGIN_DEFAULT},
    {"syncbatchnorm_events", "events", 20, ORIGIN_MSPROF_ANALYZE},
    {"launch_blocking_ratio", "ratio", 0.5, ORIGIN_MSPROF_ANALYZE},
    /* shorter gaps are dispatch, longer ones something else that the host did */
    {"dispatch_gap_us", "us", 1000, ORIGIN_DEFAULT},
    {"dispatch_share", "share", 0.05, ORIGIN_DEFAULT},
    /* about what it takes to launch an operator: no host hides the launches of smaller ones */
    {"tiny_kernel_us", "us", 10, ORIGIN_DEFAULT},
    {"fusible_share", "share", 0.01, ORIGIN_MSPROF_ANALYZE},
    {"fusible_occurrences", "events", 5, ORIGIN_MSPROF_ANALYZE},
    {"fusible_host_ratio", "ratio", 0.4, ORIGIN_MSPROF_ANALYZE},
    {"fusible_memory_ratio", "ratio", 0.8, ORIGIN_MSPROF_ANALYZE},
    {"garbage_collection_us", "us", 1000, ORIGIN_MSPROF_ANALYZE},
    {"conjectured_gc_us", "us", 200000, ORIGIN_MSPROF_ANALYZE},
    {"conjectured_gc_calls", "calls per us", 0.0001, ORIGIN_MSPROF_ANALYZE},
    {"conjectured_gc_busy_share", "share", 0.01, ORIGIN_MSPROF_ANALYZE},
    {"contention_ratio", "ratio", 1.5, ORIGIN_DEFAULT},
    {"step_fluctuation", "share", 0.10, ORIGIN_PAPER},
    {"aicpu_us", "us", 20, ORIGIN_MSPROF_ANALYZE},
    {"format_conversion_share", "share of compute", 0.05, ORIGIN_DEFAULT},
    {"pipe_ratio", "ratio", 0.8, ORIGIN_MSPROF_ANALYZE},
    /* the paper gives no number for U_thr: msprof-analyze's limit of a pipe */
    {"roofline_utilization", "ratio", 0.8, ORIGIN_DEFAULT},
    /* good matrix products reach 60 to 70 % of the data sheet's peak, attention and other shapes less: more
     * than this is not promised */
    {"roofline_reachable", "ratio", 0.5, ORIGIN_DEFAULT},
    /* elementwise operators at the memory's limit are part of every model */
    {"memory_bound_share", "share of compute", 0.30, ORIGIN_DEFAULT},
    {"blocks_per_sm", "blocks", 0.5, ORIGIN_DEFAULT},
    {"downclock_share", "share", 0.05, ORIGIN_PAPER},
    {"affinity_share", "share of compute", 0.05, ORIGIN_DEFAULT},
    {"affinity_product_bytes", "bytes", 100e6, ORIGIN_MSPROF_ANALYZE},
    {"affinity_inner_axis", "elements", 256, ORIGIN_PAPER},
    {"affinity_attention_axis", "elements", 128, ORIGIN_MSPROF_ANALYZE},
    {"fusible_calls", "calls", 20, ORIGIN_DEFAULT},
    {"underutilized_share", "share of compute", 0.20, ORIGIN_DEFAULT},
    {"r_wait", "ratio", 0.2, ORIGIN_MSPROF},
    {"wait_ratio", "ratio", 0.2, ORIGIN_MSPROF},
    {"link_utilization", "ratio", 0.8, ORIGIN_MSPROF},
    {"link_dominance", "share of the other side", 0.25, ORIGIN_MSPROF},
    {"retransmission_us", "us", 4e6, ORIGIN_PAPER},
    {"link_gap", "ratio", 0.2, ORIGIN_MINDINSIGHT},
    {"link_least_bytes", "bytes", 32e6, ORIGIN_DEFAULT},
    /* nccl-tests reach 0.55 of the NVLink's rate with 64 MB on two A100, 0.6 to 0.9 with more of both */
    {"contention_least_bytes", "bytes", 1e6, ORIGIN_DEFAULT},
    {"bus_utilization", "ratio", 0.5, ORIGIN_DEFAULT},
    {"bus_least_bytes", "bytes", 64e6, ORIGIN_DEFAULT},
    {"small_collective_bytes", "bytes", 1e6, ORIGIN_MSPROF_ANALYZE},
    {"small_collectives_a_step", "events", 16, ORIGIN_DEFAULT},
    {"large_packet_share", "share", 0.8, ORIGIN_MSPROF},
    {"large_packet_bytes", "bytes", 32e6, ORIGIN_PAPER},
    {"large_packet_rdma_bytes", "bytes", 0.5e6, ORIGIN_MSPROF},
    {"allocation_us", "us", 10000, ORIGIN_MSPROF_ANALYZE},
    {"fragmentation_share", "share of reserved", 0.3, ORIGIN_DEFAULT},
    /* the TensorBoard plugin's rule */
    {"memory_limit_share", "share of capacity", 0.9, ORIGIN_DEFAULT},
    /* all-to-all: LAER-MoE has 40 % under imbalance, EfficientMoE 75 % and 70 % of the tokens on two experts;
     * an expert is hot from 1.2 times the mean; half of the rows being padding is waste (research pages
     * systems 4 and moe). A capacity of 1.25 times the mean is the usual one: a fifth is padding by intent.
     */
    {"all_to_all_info_share", "share", 0.10, ORIGIN_DEFAULT},
    {"all_to_all_share", "share", 0.40, ORIGIN_PAPER},
    {"all_to_all_critical_share", "share", 0.75, ORIGIN_PAPER},
    {"expert_imbalance", "ratio", 1.2, ORIGIN_DEFAULT},
    {"hot_experts_share", "share", 0.70, ORIGIN_PAPER},
    {"padding_info_share", "share", 0.20, ORIGIN_DEFAULT},
    {"padding_share", "share", 0.50, ORIGIN_PAPER},
    {"alignment_bytes", "bytes", 512, ORIGIN_PAPER},
    {NULL, NULL, 0, ORIGIN_DEFAULT},
}};

const struct threshold *threshold_get(const struct thresholds *t, const char *name)
{
	for (size_t i = 0; i < THRESHOLDS_MAX && t->items[i].name; i++)
		if (strcmp(t->items[i].name, name) == 0)
			return &t->items[i];
	return NULL;
}

int threshold_set(struct thresholds *t, const char *name, double value)
{
	for (size_t i = 0; i < THRESHOLDS_MAX && t->items[i].name; i++) {
		if (strcmp(t->items[i].name, name) == 0) {
			t->items[i].value = value;
			t->items[i].origin = ORIGIN_CONFIGURED;
			return SB_OK;
		}
	}
	return SB_ENOENT;
}

int threshold_set_text(struct thresholds *t, const char *text, struct sb_error *err)
{
	const char *equals = strchr(text, '=');
	char name[64];
	double value;

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name))
		return sb_fail(err, SB_EINVAL, "usage", "a threshold is given as NAME=VALUE, not \"%.80s\"",
		               text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	if (sb_parse_double(equals + 1, strlen(equals + 1), &value) != SB_OK || !(value >= 0))
		return sb_fail(err, SB_EINVAL, "usage", "threshold %s takes a number of at least 0", name);
	if (threshold_set(t, name, value) != SB_OK)
		return sb_fail(err, SB_EINVAL, "usage",
		               "there is no threshold \"%s\"; GET /v1/thresholds of a service lists them",
		               name);
	return SB_OK;
}

const char *origin_name(enum origin o)
{
	static const char *const names[] = {"paper",       "msprof-analyze", "msprof",
	                                    "mindinsight", "default",        "configured"};

	return names[o];
}
