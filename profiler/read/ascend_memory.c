#include <stdio.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/memory_rows.h"

/* memory_record.csv, operator_memory.csv, npu_module_mem.csv (research page ascend-formats 1.6) and
 * npu_mem.csv (https://www.hiascend.com/document, "npu_mem"). Their MB and KB are 2^20 and 2^10 bytes. */

#define MB 1048576.0
#define KB 1024.0

static const char *const RECORD_MARKS[] = {"Component", "Timestamp(us)", "Total Allocated(MB)", NULL};
static const char *const MODULE_MARKS[] = {"Component", "Timestamp(us)", NULL};
static const char *const USAGE_MARKS[] = {"event", "memory(KB)", "timestamp(us)", NULL};
static const char *const OPERATOR_MARKS[] = {"Name", "Size(KB)", "Allocation Time(us)", NULL};

/* Bytes of a column; SB_NULL when it is empty, no number or below zero (only frees were seen). */
static int64_t bytes_of(const struct csv *c, const char *column, double unit)
{
	double v;

	if (csv_double(c, csv_column(c, column), &v) != SB_OK || !(v >= 0) || v * unit > 4e18)
		return SB_NULL;
	return (int64_t)(v * unit + 0.5);
}

/* "NPU:3" is device 3. */
static int64_t device_of(const struct csv *c, int column)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);
	const char *colon = memchr(text, ':', len);
	int64_t v;

	if (len >= 3 && memcmp(text, "CPU", 3) == 0)
		return MEMORY_HOST;
	if (colon) {
		len -= (size_t)(colon + 1 - text);
		text = colon + 1;
	}
	return sb_parse_int(text, len, &v) == SB_OK && v >= 0 && v <= INT32_MAX ? v : SB_NULL;
}

static int record_row(struct capture *cap, const struct csv *c, int64_t time)
{
	struct memory_series *s;
	uint32_t component = 0;
	int rc = ascend_text(cap, c, csv_column(c, "Component"), &component);

	if (rc == SB_OK)
		rc = memory_series(cap, device_of(c, csv_column(c, "Device Type")), component, &s);
	return rc == SB_OK ? memory_add(s, time, bytes_of(c, "Total Allocated(MB)", MB),
	                                bytes_of(c, "Total Reserved(MB)", MB))
	                   : rc;
}

/* The series of "module HCCL" or "driver APP": what is counted has names like those of the allocators. */
static int counted_series(struct capture *cap, const struct csv *c, const char *by, const char *column,
                          struct memory_series **out)
{
	static const char *const devices[] = {"Device", "Device_id", NULL};
	uint32_t id = 0;
	char name[64];
	size_t len;
	const char *text = csv_trimmed(c, csv_column(c, column), &len);
	int n = snprintf(name, sizeof(name), "%s %.*s", by, (int)(len < 40 ? len : 40), text);
	int rc = sb_strings_add(cap->trace.strings, name, (size_t)n, &id);

	return rc == SB_OK ? memory_series(cap, device_of(c, csv_column_any(c, devices)), id, out) : rc;
}

static int module_row(struct capture *cap, const struct csv *c, int64_t time)
{
	bool kilo = csv_column(c, "Total Reserved(KB)") >= 0;
	int64_t reserved =
	    kilo ? bytes_of(c, "Total Reserved(KB)", KB) : bytes_of(c, "Total Reserved(MB)", MB);
	struct memory_series *s;
	int rc = counted_series(cap, c, "module", "Component", &s);

	return rc == SB_OK ? memory_add(s, time, SB_NULL, reserved) : rc;
}

/* What the driver counts: of the process (APP), and of the whole device, other processes included. On parts
 * with one kind of memory the other is 0; `memory` is both. */
static int usage_row(struct capture *cap, const struct csv *c, int64_t time)
{
	struct memory_series *s;
	int rc = counted_series(cap, c, "driver", "event", &s);

	return rc == SB_OK ? memory_add(s, time, SB_NULL, bytes_of(c, "memory(KB)", KB)) : rc;
}

/* What was freed only had been allocated before the capture: it has no size or a negative one. */
static int operator_row(struct capture *cap, const struct csv *c, int64_t time)
{
	int64_t device = device_of(c, csv_column(c, "Device Type"));
	struct allocation a = {.start_ns = time, .end_ns = SB_NULL, .bytes = bytes_of(c, "Size(KB)", KB)};
	int rc = ascend_text(cap, c, csv_column(c, "Name"), &a.name);

	if (rc != SB_OK || a.bytes == SB_NULL)
		return rc;
	(void)csv_us(c, csv_column(c, "Release Time(us)"), &a.end_ns);
	a.device = device == SB_NULL ? 0 : (int32_t)device;
	return memory_allocated(cap, &a);
}

struct memory_table {
	const char *const *marks;
	const char *time; /* column that a row is of no use without */
	bool may_lack_time;
	const char *end; /* column that may be empty, but must be a time when it is not; NULL = none */
	int (*row)(struct capture *cap, const struct csv *c, int64_t time);
};

/* Has the present row all the times that it needs? */
static bool times_of(struct read_context *ctx, const struct csv *c, const struct stream *in,
                     const struct memory_table *t, int64_t *out_time)
{
	int column = csv_column(c, t->time), end = t->end ? csv_column(c, t->end) : -1;
	int64_t unused;
	size_t len;
	const char *text;

	csv_trimmed(c, column, &len);
	if ((t->may_lack_time && len == 0) || !ascend_time(ctx, c, in, column, t->time, out_time))
		return false;
	text = csv_trimmed(c, end, &len);
	/* what has no end is still held; of what has one that is lost nobody knows for how long it was */
	return csv_missing(text, len) || ascend_time(ctx, c, in, end, t->end, &unused);
}

static int read_table(struct read_context *ctx, struct stream *in, const struct memory_table *t,
                      struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	bool more = true;
	int rc = ascend_csv_open(in, t->marks, &c, err);

	if (rc == SB_OK)
		rc = ascend_capture(ctx, in, &cap, err);
	while (rc == SB_OK && more) {
		int64_t time;

		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK || !more)
			break;
		if (times_of(ctx, c, in, t, &time) && t->row(cap, c, time) != SB_OK)
			return sb_no_memory(err);
	}
	return rc;
}

static int sniff_marks(const struct sniff *s, const char *stem, const char *const *marks)
{
	if (!sniff_columns(s, marks))
		return SNIFF_NO;
	return path_is(s->path, stem, ".csv") ? SNIFF_SURE : SNIFF_CONTENT;
}

static int sniff_records(const struct sniff *s)
{
	return sniff_marks(s, "memory_record", RECORD_MARKS);
}

static int sniff_modules(const struct sniff *s)
{
	static const char *const mega[] = {"Component", "Timestamp(us)", "Total Reserved(MB)", NULL};
	static const char *const kilo[] = {"Component", "Timestamp(us)", "Total Reserved(KB)", NULL};

	if (sniff_columns(s, RECORD_MARKS))
		return SNIFF_NO;
	return sniff_marks(s, "npu_module_mem", sniff_columns(s, kilo) ? kilo : mega);
}

static int sniff_usage(const struct sniff *s)
{
	return sniff_marks(s, "npu_mem", USAGE_MARKS);
}

static int sniff_operators(const struct sniff *s)
{
	return sniff_marks(s, "operator_memory", OPERATOR_MARKS);
}

static int read_records(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct memory_table t = {RECORD_MARKS, "Timestamp(us)", false, NULL, record_row};

	return read_table(ctx, in, &t, err);
}

static int read_modules(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct memory_table t = {MODULE_MARKS, "Timestamp(us)", false, NULL, module_row};

	return read_table(ctx, in, &t, err);
}

static int read_usage(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct memory_table t = {USAGE_MARKS, "timestamp(us)", false, NULL, usage_row};

	return read_table(ctx, in, &t, err);
}

static int read_operators(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct memory_table t = {OPERATOR_MARKS, "Allocation Time(us)", true, "Release Time(us)",
	                                      operator_row};

	return read_table(ctx, in, &t, err);
}

const struct format_reader ASCEND_MEMORY_READER = {
    .name = "memory_record.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_records, .read = read_records};
const struct format_reader ASCEND_MODULE_MEMORY_READER = {
    .name = "npu_module_mem.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_modules, .read = read_modules};
const struct format_reader ASCEND_MEMORY_USAGE_READER = {
    .name = "npu_mem.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_usage, .read = read_usage};
const struct format_reader ASCEND_OPERATOR_MEMORY_READER = {.name = "operator_memory.csv",
                                                            .format = FORMAT_ASCEND_TEXT,
                                                            .sniff = sniff_operators,
                                                            .read = read_operators};
