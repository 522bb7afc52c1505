#include <string.h>

#include "profiler/read/ascend.h"

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
    {"a table of a whole cluster: known, not used yet", {"Step", "Type", "Index"}},
    {"data_preprocess.csv: known, not used yet", {"Timestamp(us)", "Node", "Compute_time(us)"}},
    {"static_op_mem.csv: known, not used yet", {"Op Name", "Graph ID", "Size(KB)"}},
    {"task_time of an old msprof: it holds sums only, send op_summary or msprof_*.json",
     {"Time(%)", "Count"}},
    {"queue sizes of GetNext (aicpu_mi): known, not used yet", {"Node Name", "Start Time(us)", "Queue Size"}},
    {"queue of the data preprocessing (dp): known, not used yet", {"Action", "Source", "Cached Buffer Size"}},
    {"fusion_op: how operators were fused, it holds no times", {"Fusion Name", "Fusion op Nums"}},
    {"MindInsight step trace: known, not used yet", {"step_num", "start_point", "end_point"}},
    {"MindInsight table: known, not used yet", {"full_kernel_name"}},
    {"MindInsight pipeline table: known, not used yet", {"op_id", "op_type", "output_queue_size"}},
    {"a link or memory counter table: known, not used yet", {"Device_id", "Mode"}},
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

/* The first key of an object: its text in the head, up to `want` bytes of it compared. */
static bool first_key_is(const struct sniff *s, const char *want)
{
	const char *quote = memchr(s->head, '"', s->len);
	size_t n = strlen(want);

	return quote && s->len - (size_t)(quote - s->head) > n && memcmp(quote + 1, want, n) == 0;
}

static const char *unused_object(const struct sniff *s)
{
	bool communication =
	    sniff_has(s, "\"Communication Time Info\"") || sniff_has(s, "\"Communication Bandwidth Info\"");
	bool matrix = sniff_has(s, "\"Transport Type\"") && !communication;

	/* "(0, 1)" names a set of ranks; the files of one rank begin with the step */
	if (first_key_is(s, "(") ||
	    (communication && (first_key_is(s, "p2p") || first_key_is(s, "collective"))))
		return "a file of a whole cluster: known, not used yet";
	if (matrix)
		return "communication_matrix.json: known, not used yet";
	if (sniff_has(s, "\"comm_group_parallel_info\"") || path_is(s->path, "communication_group", ".json"))
		return "communication_group.json: known, not used yet";
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
