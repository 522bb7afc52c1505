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
    {"host operators, with call stacks or without: no check uses them yet",
     {"Name", "Call Stack", "Host Self Duration(us)"}},
    {"host operators, with call stacks or without: no check uses them yet",
     {"Name", "Host Self Duration(us)"}},
    {"hit rates of the L2 cache: no check uses them yet", {"Hit Rate", "Victim Rate"}},
    {"data preprocessing by node: no check uses it yet", {"Timestamp(us)", "Node", "Compute_time(us)"}},
    {"memory of static operators: no check uses it yet", {"Op Name", "Graph ID", "Size(KB)"}},
    {"task_time of an old msprof: it holds sums only, send op_summary or msprof_*.json",
     {"Time(%)", "Count"}},
    {"queue of the data preprocessing (dp): no check uses it yet",
     {"Action", "Source", "Cached Buffer Size"}},
    {"fusion_op: how operators were fused, it holds no times", {"Fusion Name", "Fusion op Nums"}},
    {"fusion_op: how operators were fused, it holds no times", {"Fusion Op", "Original Ops"}},
    {"dataset.csv: sums of the data pipeline, no check uses them", {"Operation", "Stage", "Occurrences"}},
    {"counters of links or memory: no check uses them yet", {"Device_id", "Mode"}},
    {"counters of links or memory: no check uses them yet", {"Mode", "Max", "Min"}},
    {"counters of the network (nic, roce): no check uses them yet", {"Rx Bandwidth efficiency(%)"}},
    {"memory over time (npu_mem): no check uses it yet", {"Event", "HBM(KB)"}},
    {"use of the CPU: no check uses it yet", {"Cpu Type"}},
    {"use of the CPU: no check uses it yet", {"PID", "CPU(%)"}},
    {"use of the CPU: no check uses it yet", {"Total Cpu Numbers", "Occupied Cpu Numbers"}},
    {"use of the disk: no check uses it yet", {"Peak Disk Read(KB/s)", "Peak Disk Write(KB/s)"}},
    {"use of the network: no check uses it yet", {"Netcard Speed(KB/s)", "Peak Used Speed(KB/s)"}},
    {"counters of links or memory: no check uses them yet", {"Device_id", "Metric"}},
    {"counters of links or memory: no check uses them yet", {"Metric", "Read(MB/s)", "Write(MB/s)"}},
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
		           ? "traffic between pairs of ranks in a cluster: no check uses it yet"
		           : "traffic between pairs of ranks: no check uses it yet";
	return NULL;
}

const char *ascend_unused(const struct sniff *s)
{
	char first = sniff_first(s);

	if (ascend_raw_path(s->path))
		return "raw data of the profiler, only its export is read (torch_npu: analyse(), msprof: "
		       "--export=on)";
	if (first == '{')
		return unused_object(s);
	/* a timeline without categories: nothing in it could be told apart */
	if (first == '[' && path_is(s->path, "gpu_timeline_", "") && !sniff_has(s, "\"cat\""))
		return mindinsight_unused(s);
	return first == '[' || first == 0 ? NULL : unused_table(s);
}
