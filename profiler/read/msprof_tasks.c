#include <math.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_kind.h"
#include "profiler/read/msprof.h"

/* task_time and communication_statistic (research page ascend-formats 3). */

static const char *const TASK_MARKS[] = {"kernel_name", "kernel_type", "task_time(us)", NULL};
static const char *const TASK_NEEDED[] = {"kernel_name", "kernel_type", "task_time(us)", "task_start(us)",
                                          NULL};
static const char *const STATISTIC_MARKS[] = {"OP Type", "Count", "Total Time(us)", "Ratio(%)", NULL};
static const char *const STATISTIC_NOT[] = {"Core Type", NULL};

static int sniff_tasks(const struct sniff *s)
{
	bool named = path_is(s->path, "task_time", ".csv");

	if (!sniff_columns(s, TASK_MARKS))
		return SNIFF_NO;
	return named ? SNIFF_SURE : SNIFF_CONTENT;
}

struct task_columns {
	int name, type, start, dur, device;
};

/* Only kernels are taken: the waits, records and transfers are no work of their own. */
static int task_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                    const struct stream *in, const struct task_columns *at, struct clock_range *range)
{
	struct kernel k = kernel_unknown();
	size_t len;
	const char *type = csv_trimmed(c, at->type, &len);
	int rc;

	if (ascend_hardware_kind(type, "") != EVENT_KERNEL)
		return SB_OK;
	if (!ascend_time(ctx, c, in, at->start, "task_start(us)", &k.start_ns) ||
	    !ascend_time(ctx, c, in, at->dur, "task_time(us)", &k.dur_ns))
		return SB_OK;
	if (k.dur_ns < 0) {
		warnings_add(&ctx->profile->warnings, "negative_duration", in->path, csv_line(c), -1,
		             "A task with a negative duration is left out.");
		return SB_OK;
	}
	clock_see(range, k.start_ns, k.dur_ns, csv_line(c));
	k.origin = KERNEL_TASK;
	k.device = msprof_device(c, at->device);
	rc = ascend_text(cap, c, at->name, &k.name);
	if (rc == SB_OK)
		rc = ascend_text(cap, c, at->type, &k.core);
	if (rc == SB_OK)
		rc = capture_add_kernel(cap, &k);
	return rc;
}

static int read_tasks(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	struct clock_range range = {.count = 0};
	bool more = true;
	int rc = ascend_csv_open(in, TASK_NEEDED, &c, err);

	if (rc == SB_OK)
		rc = msprof_capture(ctx, in, &cap, err);
	if (rc != SB_OK)
		return rc;
	const struct task_columns at = {csv_column(c, "kernel_name"), csv_column(c, "kernel_type"),
	                                csv_column(c, "task_start(us)"), csv_column(c, "task_time(us)"),
	                                csv_column(c, "Device_id")};

	while (more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK)
			return rc;
		if (more && task_row(ctx, cap, c, in, &at, &range) != SB_OK)
			return sb_no_memory(err);
	}
	cap->cut |= csv_cut(c) ? CUT_KERNELS : 0;
	ascend_table_clock(ctx, in, cap, &range, false);
	return SB_OK;
}

static int sniff_statistic(const struct sniff *s)
{
	bool named = path_is(s->path, "communication_statistic", ".csv");

	/* with a core it is op_statistic */
	if (!sniff_columns(s, STATISTIC_MARKS) || sniff_columns(s, STATISTIC_NOT))
		return SNIFF_NO;
	return named ? SNIFF_SURE : SNIFF_CONTENT;
}

static int statistic_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                         const struct stream *in)
{
	struct op_statistic o = {.min_ns = SB_NULL, .max_ns = SB_NULL};
	int rc;

	if (csv_int(c, csv_column(c, "Count"), &o.count) != SB_OK || o.count < 0) {
		ascend_bad_value(ctx, c, in, "Count", "the row is left out");
		return SB_OK;
	}
	(void)csv_us(c, csv_column(c, "Min Time(us)"), &o.min_ns);
	(void)csv_us(c, csv_column(c, "Max Time(us)"), &o.max_ns);
	if (!ascend_time(ctx, c, in, csv_column(c, "Total Time(us)"), "Total Time(us)", &o.total_ns))
		return SB_OK;
	if (o.total_ns < 0) {
		ascend_bad_value(ctx, c, in, "Total Time(us)", "the row is left out");
		return SB_OK;
	}
	rc = ascend_text(cap, c, csv_column(c, "OP Type"), &o.type);
	if (rc == SB_OK)
		rc = sb_strings_add(cap->trace.strings, "COMMUNICATION", 13, &o.core);
	if (rc == SB_OK)
		rc = sb_grow(&cap->op_statistics, cap->op_statistic_count, sizeof(o));
	if (rc == SB_OK)
		cap->op_statistics[cap->op_statistic_count++] = o;
	return rc;
}

static int read_statistic(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return msprof_rows(ctx, in, STATISTIC_MARKS, statistic_row, err);
}

const struct format_reader MSPROF_TASK_TIME_READER = {
    .name = "task_time", .format = FORMAT_MSPROF_TEXT, .sniff = sniff_tasks, .read = read_tasks};
const struct format_reader MSPROF_COMMUNICATION_READER = {.name = "communication_statistic",
                                                          .format = FORMAT_MSPROF_TEXT,
                                                          .sniff = sniff_statistic,
                                                          .read = read_statistic};
