#include "profiler/thresholds.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* Defaults: research page advisor-rules, section 4. The one place where limits of checks stand. */
const struct thresholds THRESHOLDS_DEFAULT = {{
    /* severity, from the share of the step that a finding costs; msprof-analyze calls 3 % medium */
    {"severity_critical_share", "share", 0.10, ORIGIN_DEFAULT,
     "a finding that costs this share of the step or more is critical"},
    {"severity_warning_share", "share", 0.03, ORIGIN_MSPROF_ANALYZE,
     "a finding that costs this share of the step or more is a warning, below it info"},
    {"unexplained_share", "share", 0.20, ORIGIN_DEFAULT,
     "exposed communication beyond this share of the step that no check explains is told as unexplained"},
    {"steps_for_high_confidence", "steps", 3, ORIGIN_DEFAULT,
     "a finding seen in fewer steps is of medium confidence at most"},
    {"confidence_margin", "ratio", 1.1, ORIGIN_DEFAULT,
     "a measure less than this many times beyond its threshold lowers the confidence by one"},
    {"confidence_agreement", "share", 0.6, ORIGIN_DEFAULT,
     "a finding that fewer of the steps or ranks agree with loses one of confidence"},
    /* overlap: the paper's cases put the limit between 4.3 % and 8.8 % of the step */
    {"overlap_share", "share", 0.05, ORIGIN_PAPER,
     "compute and communication that run together for less of the step overlap poorly"},
    {"exposed_share", "share", 0.05, ORIGIN_DEFAULT,
     "communication that nothing hides matters beyond this share of the step"},
    /* nsys-ai calls communication poorly overlapped when less of it is hidden (overlap_breakdown) */
    {"hidden_share", "share of communication", 0.30, ORIGIN_DEFAULT,
     "with less of its communication hidden, a rank's last collective of a step is taken as one that can be "
     "cut"},
    /* below it there is nothing to recover: no finding of time that could be moved */
    {"recoverable_share", "share", 0.02, ORIGIN_DEFAULT,
     "time that could be won below this share of the step makes no finding"},
    {"bubble_share", "share", 0.10, ORIGIN_DEFAULT,
     "waiting for other stages of the pipeline beyond this share of the step is a bubble to report"},
    {"slow_rank_share", "share", 0.05, ORIGIN_MSPROF_ANALYZE,
     "a rank for which the others wait this share of the step, or are this much longer in collectives, is "
     "slow"},
    {"slow_rank_least_share", "share", 0.02, ORIGIN_DEFAULT,
     "waiting of the others below this share of the step is not put down to a slow rank"},
    {"slow_rank_votes", "share of steps", 0.6, ORIGIN_DEFAULT,
     "a slow rank is the late one in at least this share of the steps"},
    {"free_share", "share", 0.10, ORIGIN_MSPROF_ANALYZE,
     "idle time of the device without a known cause beyond this share of the step is the host's"},
    {"dataloader_us", "us", 10000, ORIGIN_MSPROF_ANALYZE,
     "a call of the data loader that takes this long or longer is slow"},
    /* the TensorBoard plugin's rule for short calls of the loader */
    {"loading_share", "share", 0.05, ORIGIN_DEFAULT,
     "calls of the loader that are all short count when the device idles meanwhile for this share of the "
     "step"},
    {"loading_operators_share", "share of loading", 0.5, ORIGIN_DEFAULT,
     "operators that take more of the loader's time make its preparation the slow part, else its stage is "
     "unknown"},
    {"queue_empty_share", "share of looks", 0.3, ORIGIN_MINDINSIGHT,
     "a queue that is empty at more of the looks starves what takes from it"},
    {"queue_low_usage", "share of capacity", 0.6, ORIGIN_MINDINSIGHT,
     "the slow operator of the data pipeline has a queue behind it that is filled less"},
    {"queue_high_usage", "share of capacity", 0.8, ORIGIN_MINDINSIGHT,
     "the slow operator of the data pipeline has a queue before it that is filled more"},
    {"iteration_interval_us", "us", 500, ORIGIN_MINDINSIGHT,
     "a longer mean interval between iterations is waiting for data"},
    {"fetching_share", "share", 0.05, ORIGIN_DEFAULT,
     "copies from host to device that nothing hides matter beyond this share of the step"},
    {"synchronization_share", "share", 0.02, ORIGIN_DEFAULT,
     "calls that wait for the device matter when they cost more of the step"},
    {"compilation_events", "events", 20, ORIGIN_MSPROF_ANALYZE,
     "so many operators compiled during the capture are reported (Ascend)"},
    {"compilation_share", "share", 0.02, ORIGIN_DEFAULT,
     "compiling while the device idles is reported beyond this share of the step (elsewhere)"},
    {"syncbatchnorm_events", "events", 20, ORIGIN_MSPROF_ANALYZE,
     "so many calls of SyncBatchNorm are reported"},
    {"launch_blocking_ratio", "ratio", 0.5, ORIGIN_MSPROF_ANALYZE,
     "launches that wait for their kernel: beyond this part of them, launching is taken as blocking"},
    /* shorter gaps are dispatch, longer ones something else that the host did */
    {"dispatch_gap_us", "us", 1000, ORIGIN_DEFAULT, "longer gaps between kernels are not those of a launch"},
    {"dispatch_share", "share", 0.05, ORIGIN_DEFAULT,
     "gaps that wait for a launch are reported beyond this share of the step, where kernels are tiny"},
    /* about what it takes to launch an operator: no host hides the launches of smaller ones */
    {"tiny_kernel_us", "us", 10, ORIGIN_DEFAULT,
     "a kernel no longer than this is tiny: no host launches the next one in time"},
    {"fusible_share", "share", 0.01, ORIGIN_MSPROF_ANALYZE,
     "a sequence of operators worth fusing takes at least this share of the step"},
    {"fusible_occurrences", "events", 5, ORIGIN_MSPROF_ANALYZE,
     "a sequence of operators worth fusing occurs more often"},
    {"fusible_host_ratio", "ratio", 0.4, ORIGIN_MSPROF_ANALYZE,
     "a sequence in which the device works for less of the time is bound by the host"},
    {"fusible_memory_ratio", "ratio", 0.8, ORIGIN_MSPROF_ANALYZE,
     "a sequence whose memory traffic takes more of its work is bound by memory"},
    {"garbage_collection_us", "us", 1000, ORIGIN_MSPROF_ANALYZE,
     "a collection of garbage by Python that takes this long is counted"},
    {"conjectured_gc_us", "us", 200000, ORIGIN_MSPROF_ANALYZE,
     "where Python's collections are not recorded, a gap of the device this long may be one (Ascend)"},
    {"conjectured_gc_calls", "calls per us", 0.0001, ORIGIN_MSPROF_ANALYZE,
     "such a gap is a collection only if the host makes fewer calls in it"},
    {"conjectured_gc_busy_share", "share", 0.01, ORIGIN_MSPROF_ANALYZE,
     "such a gap is a collection only if the host is busy with calls for less of it"},
    {"contention_ratio", "ratio", 1.5, ORIGIN_DEFAULT,
     "host calls this many times longer than in other steps or ranks, under the same kernels, contend for "
     "the CPU"},
    {"step_fluctuation", "share", 0.10, ORIGIN_PAPER,
     "a step longer than the median of those before it by more than this share is slow"},
    {"aicpu_us", "us", 20, ORIGIN_MSPROF_ANALYZE, "operators on AICPU are reported when one takes this long"},
    {"format_conversion_share", "share of compute", 0.05, ORIGIN_DEFAULT,
     "operators that only convert formats are reported from this share of compute"},
    {"pipe_ratio", "ratio", 0.8, ORIGIN_MSPROF_ANALYZE,
     "a kernel one of whose pipes is busy for this part of its time or more is bound by that pipe"},
    /* the paper gives no number for U_thr: msprof-analyze's limit of a pipe */
    {"roofline_utilization", "ratio", 0.8, ORIGIN_DEFAULT,
     "a kernel that reaches this part of the peak of compute or memory is bound by it"},
    /* good matrix products reach 60 to 70 % of the data sheet's peak, attention and other shapes less: more
     * than this is not promised */
    {"roofline_reachable", "ratio", 0.5, ORIGIN_DEFAULT,
     "what a kernel bound by nothing is assumed to reach of the peak of compute"},
    /* elementwise operators at the memory's limit are part of every model */
    {"memory_bound_share", "share of compute", 0.30, ORIGIN_DEFAULT,
     "kernels bound by memory are reported from this share of compute"},
    {"blocks_per_sm", "blocks", 0.5, ORIGIN_DEFAULT,
     "a kernel with fewer blocks for each multiprocessor leaves the device idle"},
    {"downclock_share", "share", 0.05, ORIGIN_PAPER,
     "compute lost to a lower clock, or to a rank's kernels all being slower, is reported from this share"},
    {"affinity_share", "share of compute", 0.05, ORIGIN_DEFAULT,
     "products and attention of unfit shapes are reported from this share of compute"},
    {"affinity_product_bytes", "bytes", 100e6, ORIGIN_MSPROF_ANALYZE,
     "a matrix product of fewer bytes (two an element) is not judged by its shape"},
    {"affinity_inner_axis", "elements", 256, ORIGIN_PAPER,
     "the inner axes of a product's operands should be multiples of this"},
    {"affinity_attention_axis", "elements", 128, ORIGIN_MSPROF_ANALYZE,
     "head size and sequence of an attention should be multiples of this"},
    {"fusible_calls", "calls", 20, ORIGIN_DEFAULT, "so many calls that have a fused form are reported"},
    {"underutilized_share", "share of compute", 0.20, ORIGIN_DEFAULT,
     "kernels that use neither compute nor memory well are reported from this share of compute"},
    {"r_wait", "ratio", 0.2, ORIGIN_MSPROF,
     "a domain whose slowest sender sends so much longer than the mean (1 - mean / longest) has a slow rank"},
    {"wait_ratio", "ratio", 0.2, ORIGIN_MSPROF,
     "waiting of a rank in collectives beyond this part of waiting and sending means that another one is "
     "late"},
    {"link_utilization", "ratio", 0.8, ORIGIN_MSPROF, "a link that reaches less of its nominal rate is slow"},
    {"link_dominance", "share of the other side", 0.25, ORIGIN_MSPROF,
     "small packets on a kind of link matter when it takes at least this part of the other kind's time"},
    {"retransmission_us", "us", 4e6, ORIGIN_PAPER, "an RDMA transfer that takes longer has been sent again"},
    {"link_gap", "ratio", 0.2, ORIGIN_MINDINSIGHT,
     "a link or group slower than the others of its kind by this part is slow"},
    {"link_least_bytes", "bytes", 32e6, ORIGIN_DEFAULT,
     "the rate of a link is judged from this many bytes on"},
    /* nccl-tests reach 0.55 of the NVLink's rate with 64 MB on two A100, 0.6 to 0.9 with more of both */
    {"contention_least_bytes", "bytes", 1e6, ORIGIN_DEFAULT,
     "for packets that never travel alone, contention is judged by the nominal rate only above this size"},
    {"bus_utilization", "ratio", 0.5, ORIGIN_DEFAULT,
     "a group of GPUs whose collectives reach less of the nominal rate has a slow link"},
    {"bus_least_bytes", "bytes", 64e6, ORIGIN_DEFAULT,
     "collectives of fewer bytes are left out of that rate"},
    {"small_collective_bytes", "bytes", 1e6, ORIGIN_MSPROF_ANALYZE,
     "a smaller collective is mostly latency (a larger size where the capture shows one)"},
    {"small_collectives_a_step", "events", 16, ORIGIN_DEFAULT,
     "with fewer small collectives a step, fusing them is not worth it"},
    {"large_packet_share", "share", 0.8, ORIGIN_MSPROF,
     "where at least this share of the packets is large, small ones are no cause"},
    {"large_packet_bytes", "bytes", 32e6, ORIGIN_PAPER,
     "a packet within a node is large from here on (a chip's own size comes first)"},
    {"large_packet_rdma_bytes", "bytes", 0.5e6, ORIGIN_MSPROF,
     "a packet over RDMA is large from here on (a chip's own size comes first)"},
    {"allocation_us", "us", 10000, ORIGIN_MSPROF_ANALYZE,
     "calls that allocate or free device memory are reported when together they take this long"},
    {"fragmentation_share", "share of reserved", 0.3, ORIGIN_DEFAULT,
     "reserved memory of which more is unused at the peak is fragmented"},
    /* the TensorBoard plugin's rule */
    {"memory_limit_share", "share of capacity", 0.9, ORIGIN_DEFAULT,
     "the memory of a device of which more is reserved is nearly full"},
    /* all-to-all: LAER-MoE has 40 % under imbalance, EfficientMoE 75 % and 70 % of the tokens on two experts;
     * an expert is hot from 1.2 times the mean; half of the rows being padding is waste (research pages
     * systems 4 and moe). A capacity of 1.25 times the mean is the usual one: a fifth is padding by intent.
     */
    {"all_to_all_info_share", "share", 0.10, ORIGIN_DEFAULT,
     "all-to-all beyond this share of the step is told as info"},
    {"all_to_all_share", "share", 0.40, ORIGIN_PAPER,
     "all-to-all beyond this share of the step is a warning at most"},
    {"all_to_all_critical_share", "share", 0.75, ORIGIN_PAPER,
     "all-to-all from this share of the step on may be critical"},
    {"expert_imbalance", "ratio", 1.2, ORIGIN_DEFAULT,
     "a rank whose experts take this many times the mean of the ranks is out of balance"},
    {"hot_experts_share", "share", 0.70, ORIGIN_PAPER,
     "what the two busiest ranks take of all experts' time is held against this"},
    {"padding_info_share", "share", 0.20, ORIGIN_DEFAULT,
     "rows of experts that no token fills are told as info beyond this share"},
    {"padding_share", "share", 0.50, ORIGIN_PAPER,
     "rows of experts that no token fills are weighed by what they cost from this share on"},
    {"alignment_bytes", "bytes", 512, ORIGIN_PAPER,
     "packets whose size is not a multiple of this are misaligned; 0 switches the check off"},
    {NULL, NULL, 0, ORIGIN_DEFAULT, NULL},
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
