#include <string.h>

#include "profiler/read/cluster_analysis.h"
#include "profiler/read/mindinsight.h"

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
    {"dataset.csv: sums of the data pipeline, no check uses them", {"Operation", "Stage", "Occurrences"}},
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

const char *ascend_unused(const struct sniff *s)
{
	char first = sniff_first(s);

	if (ascend_raw_path(s->path))
		return "raw data of the profiler, not its output: not read";
	if (first == '{')
		return unused_object(s);
	/* a timeline without categories: nothing in it could be told apart */
	if (first == '[' && path_is(s->path, "gpu_timeline_", "") && !sniff_has(s, "\"cat\""))
		return mindinsight_unused(s);
	return first == '[' || first == 0 ? NULL : unused_table(s);
}
