#include <string.h>

#include "profiler/read/cluster_analysis.h"
#include "profiler/read/mindinsight.h"
#include "profiler/read/msprof.h"

/* A table whose first line is data gets its own reader, so that the answer names what is missing. */
static int sniff_headless(const struct sniff *s)
{
	return sniff_no_header(s) ? 1 : SNIFF_NO;
}

static int read_headless(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	(void)ctx;
	return sb_fail_at(err, SB_EFORMAT, "no_header", in->path, 1, 0,
	                  "the table has no header: its first line must name the columns");
}

static const struct format_reader HEADLESS_READER = {.name = "table without a header",
                                                     .format = FORMAT_ASCEND_TEXT,
                                                     .sniff = sniff_headless,
                                                     .read = read_headless};

const struct format_reader *const FORMAT_READERS[] = {
    &KINETO_READER,
    &SIGNALBOX_READER,
    &DATABASE_READER,
    &DATABASE_LOG_READER,
    &ASCEND_TRACE_READER,
    &ASCEND_KERNELS_READER,
    &ASCEND_STEPS_READER,
    &ASCEND_OP_STATISTIC_READER,
    &ASCEND_API_STATISTIC_READER,
    &ASCEND_COMMUNICATION_READER,
    &ASCEND_MEMORY_READER,
    &ASCEND_MODULE_MEMORY_READER,
    &ASCEND_MEMORY_USAGE_READER,
    &ASCEND_OPERATOR_MEMORY_READER,
    &ASCEND_INFO_READER,
    &ASCEND_METADATA_READER,
    &MSPROF_OP_SUMMARY_READER,
    &MSPROF_TASK_TIME_READER,
    &MSPROF_COMMUNICATION_READER,
    &MSPROF_STEPS_READER,
    &MSPROF_QUEUE_READER,
    &MSPROF_INFO_READER,
    &CLUSTER_STEPS_READER,
    &CLUSTER_COMMUNICATION_READER,
    &CLUSTER_GROUPS_READER,
    &MINDINSIGHT_STEPS_READER,
    &MINDINSIGHT_POINTS_READER,
    &MINDINSIGHT_INFO_READER,
    &MINDINSIGHT_PIPELINE_READER,
    &MINDINSIGHT_OPERATOR_READER,
    &MINDINSIGHT_QUEUE_READER,
    &MINDINSIGHT_GET_NEXT_READER,
    &MINDINSIGHT_TYPES_READER,
    &MINDINSIGHT_DETAILS_READER,
    &MINDINSIGHT_FRAMEWORK_READER,
    &MINDINSIGHT_AICPU_READER,
    &MINDINSIGHT_HCCL_READER,
    &MINDINSIGHT_CLUSTER_READER,
    &MINDINSIGHT_TIMELINE_READER,
    &HEADLESS_READER,
    NULL,
};
