#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/cluster_analysis.h"

/* Files that belong to captures and are not read yet. They are known by their columns or keys, whatever they
 * are called. */

#define COLUMNS_MAX 4
static const struct {
	const char *reason;
	const char *columns[COLUMNS_MAX];
} TABLES[] = {
    {"memory_record.csv: known, not used yet", {"Component", "Timestamp(us)", "Total Allocated(MB)"}},
    {"npu_module_mem.csv: known, not used yet", {"Component", "Timestamp(us)"}},
    {"operator_memory.csv: known, not used yet", {"Name", "Size(KB)", "Allocation Time(us)"}},
    {"operator_details.csv: known, not used yet", {"Name", "Call Stack", "Host Self Duration(us)"}},
    {"operator_details.csv: known, not used yet", {"Name", "Host Self Duration(us)"}},
    {"l2_cache.csv: known, not used yet", {"Hit Rate", "Victim Rate"}},
    {"data_preprocess.csv: known, not used yet", {"Timestamp(us)", "Node", "Compute_time(us)"}},
    {"static_op_mem.csv: known, not used yet", {"Op Name", "Graph ID", "Size(KB)"}},
    {"task_time of an old msprof: it holds sums only, send op_summary or msprof_*.json",
     {"Time(%)", "Count"}},
    {"queue of the data preprocessing (dp): known, not used yet", {"Action", "Source", "Cached Buffer Size"}},
    {"fusion_op: how operators were fused, it holds no times", {"Fusion Name", "Fusion op Nums"}},
    {"MindInsight step trace: known, not used yet", {"step_num", "start_point", "end_point"}},
    {"MindInsight table: known, not used yet", {"full_kernel_name"}},
    {"MindInsight pipeline table: known, not used yet", {"op_id", "op_type", "output_queue_size"}},
    {"a link or memory counter table: known, not used yet", {"Device_id", "Mode"}},
    {"a network counter table (nic, roce): known, not used yet", {"Rx Bandwidth efficiency(%)"}},
    {"a memory counter table (npu_mem): known, not used yet", {"Event", "HBM(KB)"}},
    {"a CPU counter table: known, not used yet", {"Cpu Type"}},
    {"a CPU counter table: known, not used yet", {"PID", "CPU(%)"}},
    {"a link or memory counter table: known, not used yet", {"Device_id", "Metric"}},
};

static const char *unused_table(const struct sniff *s)
{
	for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
		const char *columns[COLUMNS_MAX + 1] = {NULL};

		memcpy(columns, TABLES[i].columns, sizeof(TABLES[i].columns));
		if (sniff_columns(s, columns))
			return TABLES[i].reason;
	}
	return NULL;
}

static const char *unused_object(const struct sniff *s)
{
	bool communication =
	    sniff_has(s, "\"Communication Time Info\"") || sniff_has(s, "\"Communication Bandwidth Info\"");

	/* "(0, 1)" names a set of ranks; the files of one rank begin with the step */
	if (cluster_matrix(s) && !communication)
		return sniff_key(s, "(") || sniff_key(s, "p2p\"")
		           ? "cluster_communication_matrix.json: links between ranks, known, not used yet"
		           : "communication_matrix.json: known, not used yet";
	return NULL;
}

/* The output of MindInsight's profiler has no mark inside: it is known by its names only. */
bool mindinsight_path(const char *path)
{
	static const char *const stems[] = {"ascend_timeline_",
	                                    "gpu_timeline_",
	                                    "timeline_display_",
	                                    "timeline_summary_",
	                                    "device_queue_profiling_",
	                                    "dataset_iterator_profiling_",
	                                    "minddata_",
	                                    "pipeline_profiling_",
	                                    "aicore_intermediate_",
	                                    "aicpu_intermediate_",
	                                    "ascend_cluster_analyse_",
	                                    "step_trace_raw_",
	                                    "step_trace_point_info",
	                                    "parallel_strategy_",
	                                    "dynamic_shape_info_",
	                                    "output_op_compute_time_",
	                                    "output_timeline_data_",
	                                    "output_format_data_hwts_",
	                                    "output_data_preprocess_aicpu_",
	                                    "min_cycle_counter_",
	                                    "flops_"};

	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
		if (path_is(path, stems[i], ""))
			return true;
	return false;
}

const char *ascend_unused(const struct sniff *s)
{
	char first = sniff_first(s);

	if (ascend_raw_path(s->path))
		return "raw data of the profiler, not its output: not read";
	if (first == '{')
		return unused_object(s);
	/* a timeline without categories: nothing in it could be told apart */
	if (first == '[' && mindinsight_path(s->path) && !sniff_has(s, "\"cat\""))
		return "MindInsight timeline: known, not used yet";
	return first == '[' || first == 0 ? NULL : unused_table(s);
}
