#include "profiler/read/mindinsight.h"

/* Files that have no mark inside: they are known by their names, once nothing else knows them. */

static const struct {
	const char *stem, *reason;
} FILES[] = {
    {"flops_", "FLOPs of MindInsight's operators: no check uses them"},
    {"parallel_strategy_", "MindInsight's plan of the graph over the devices: it holds no times"},
    {"dynamic_shape_info_", "MindInsight's shapes by step: no check uses them"},
    {"minddata_pipeline_summary_", "MindInsight's summary of minddata_pipeline_raw: that one is read"},
    {"minddata_cpu_utilization_", "MindInsight's CPU use of the data pipeline: no check uses it"},
    {"minddata_getnext_profiling_", "a file of MindInsight's for GPUs: these are not read"},
    {"gpu_timeline_", "a timeline of MindInsight's for GPUs: these are not read"},
    {"ascend_timeline_summary_", "MindInsight's counts of a timeline: the timeline is read"},
    {"timeline_summary_", "MindInsight's counts of a timeline: the timeline is read"},
    {"output_timeline_data_", "MindInsight's own step towards ascend_timeline_display: that one is read"},
    {"output_op_compute_time_", "MindInsight's own step towards aicore_intermediate: that one is read"},
    {"output_data_preprocess_aicpu_", "MindInsight's own step towards aicpu_intermediate: that one is read"},
    {"output_format_data_hwts_", "raw data of MindInsight's profiler, not its output"},
    {"min_cycle_counter_", "raw data of MindInsight's profiler, not its output"},
};

const char *mindinsight_unused(const struct sniff *s)
{
	for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++)
		if (path_is(s->path, FILES[i].stem, ""))
			return FILES[i].reason;
	return NULL;
}
