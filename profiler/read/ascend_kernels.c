#include <math.h>
#include <stddef.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/ascend_counters.h"
#include "profiler/read/ascend_kind.h"
#include "profiler/read/msprof.h"

/* kernel_details.csv (research page ascend-formats 1.2): columns come and go with version, profiling level
 * and counters, so they are found by name. */

#define PIPES_MAX 32
#define COUNTERS_MAX 16

struct pipe {
	int column;
	uint32_t name; /* the column without "_ratio" */
	bool inner;
};

struct counter_column {
	int column;
	struct counter counter;
};

#define ALIASES_MAX 4

/* The columns of texts, and where their ids stand in a kernel. op_summary has other names for some. */
static const struct {
	const char *names[ALIASES_MAX];
	size_t place;
} TEXTS[] = {
    {{"Name", "Op Name"}, offsetof(struct kernel, name)},
    {{"Type", "OP Type"}, offsetof(struct kernel, type)},
    {{"Accelerator Core", "Task Type"}, offsetof(struct kernel, core)},
    {{"OP State"}, offsetof(struct kernel, state)},
    {{"Input Shapes"}, offsetof(struct kernel, input_shapes)},
    {{"Input Data Types"}, offsetof(struct kernel, input_types)},
    {{"Input Formats"}, offsetof(struct kernel, input_formats)},
    {{"Output Shapes"}, offsetof(struct kernel, output_shapes)},
    {{"Output Data Types"}, offsetof(struct kernel, output_types)},
    {{"Output Formats"}, offsetof(struct kernel, output_formats)},
};
#define TEXT_COUNT (sizeof(TEXTS) / sizeof(TEXTS[0]))

struct columns {
	int step, start, dur, wait, block_dim, device, stream;
	int64_t first_device; /* SB_NULL = none yet */
	struct clock_range range;
	bool one_device; /* kernels of several devices are no fault of the file, where it is false */
	int texts[TEXT_COUNT];
	uint32_t last[TEXT_COUNT]; /* the id that the row before had: mostly the next one too */
	struct pipe pipes[PIPES_MAX];
	size_t pipe_count;
	struct counter_column counters[COUNTERS_MAX];
	size_t counter_count;
};

static const char *const NEEDED[] = {"Name", "Start Time(us)", "Duration(us)", NULL};
static const char *const MARKS[] = {"Name", "Accelerator Core", "Start Time(us)", "Duration(us)", NULL};
static const char *const SUMMARY_MARKS[] = {"Op Name", "OP Type", "Task Type", "Task Duration(us)", NULL};
static const char *const SUMMARY_NEEDED[] = {"Op Name", "Task Duration(us)", NULL};
static const char *const START[] = {"Start Time(us)", "Task Start Time(us)", "Task Start Time", NULL};
static const char *const DURATION[] = {"Duration(us)", "Task Duration(us)", NULL};
static const char *const WAIT[] = {"Wait Time(us)", "Task Wait Time(us)", NULL};
static const char *const BLOCK_DIM[] = {"Block Dim", "Block Num", NULL};
/* before 2023 msprof called the iteration so */
static const char *const STEP[] = {"Step Id", "Infer ID", NULL};

static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "kernel_details", ".csv");

	if (sniff_columns(s, MARKS))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return named && sniff_first(s) != 0 ? SNIFF_PATH : SNIFF_NO;
}

static int sniff_summary(const struct sniff *s)
{
	bool named = path_is(s->path, "op_summary", ".csv");

	if (sniff_columns(s, SUMMARY_MARKS))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return named && sniff_first(s) != 0 ? SNIFF_PATH : SNIFF_NO;
}

static int find_pipes(const struct csv *c, struct capture *cap, struct columns *k)
{
	for (size_t i = 0; i < csv_count(c) && k->pipe_count < PIPES_MAX; i++) {
		size_t len;
		const char *text = csv_trimmed(c, (int)i, &len);
		size_t keep = ascend_pipe_name(text, len);
		struct pipe *p = &k->pipes[k->pipe_count];

		if (keep == 0)
			continue;
		p->column = (int)i;
		if (sb_strings_add(cap->trace.strings, text, keep, &p->name) != SB_OK)
			return SB_ENOMEM;
		p->inner = pipe_is_inner(trace_text(&cap->trace, p->name, NULL));
		k->pipe_count++;
	}
	return SB_OK;
}

static void find_counters(const struct csv *c, struct columns *k)
{
	for (size_t i = 0; i < csv_count(c) && k->counter_count < COUNTERS_MAX; i++) {
		size_t len;
		const char *text = csv_trimmed(c, (int)i, &len);
		struct counter found = counter_of(text, len);

		if (found.kind != COUNTER_NONE)
			k->counters[k->counter_count++] = (struct counter_column){(int)i, found};
	}
}

static void find_columns(const struct csv *c, struct columns *k)
{
	*k = (struct columns){
	    .step = csv_column_any(c, STEP),
	    .start = csv_column_any(c, START),
	    .dur = csv_column_any(c, DURATION),
	    .wait = csv_column_any(c, WAIT),
	    .block_dim = csv_column_any(c, BLOCK_DIM),
	    .device = csv_column(c, "Device_id"),
	    .stream = csv_column(c, "Stream ID"),
	    .first_device = SB_NULL,
	};
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		const char *names[ALIASES_MAX + 1] = {NULL};

		memcpy(names, TEXTS[i].names, sizeof(TEXTS[i].names));
		k->texts[i] = csv_column_any(c, names);
	}
}

static int read_texts(struct capture *cap, const struct csv *c, struct columns *k, struct kernel *out)
{
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		int rc = ascend_text_like(cap, c, k->texts[i], k->last[i], &k->last[i]);

		if (rc != SB_OK)
			return rc;
		memcpy((char *)out + TEXTS[i].place, &k->last[i], sizeof(k->last[i]));
	}
	return SB_OK;
}

static void read_pipes(const struct csv *c, const struct columns *k, struct kernel *out)
{
	double largest = NAN, inner = NAN, v;

	for (size_t i = 0; i < k->pipe_count; i++) {
		int rc = csv_double(c, k->pipes[i].column, &v);

		if (rc == SB_ENOENT)
			continue;
		/* the one that cannot be read may be the largest */
		if (rc != SB_OK || v < 0) {
			out->pipe = 0;
			return;
		}
		if (k->pipes[i].inner && !(v <= inner))
			inner = v;
		if (v <= largest)
			continue;
		largest = v;
		out->pipe = v > 0 ? k->pipes[i].name : 0;
	}
	out->pipe_ratio = (float)largest;
	out->inner_ratio = (float)inner;
}

static void read_counters(const struct csv *c, const struct columns *k, struct kernel *out)
{
	struct counter_sums sums = COUNTERS_NONE;
	double v;

	for (size_t i = 0; i < k->counter_count; i++) {
		int rc = csv_double(c, k->counters[i].column, &v);

		if (rc != SB_ENOENT)
			counter_add(&sums, &k->counters[i].counter, rc == SB_OK ? v : NAN);
	}
	counter_finish(&sums, out);
}

/* Start and duration; false when the row cannot be used. */
static bool read_times(struct read_context *ctx, const struct csv *c, const struct stream *in,
                       const struct columns *k, struct kernel *out)
{
	if (!ascend_time(ctx, c, in, k->start, "Start Time(us)", &out->start_ns) ||
	    !ascend_time(ctx, c, in, k->dur, "Duration(us)", &out->dur_ns))
		return false;
	if (out->dur_ns < 0) {
		warnings_add(&ctx->profile->warnings, "negative_duration", in->path, csv_line(c), -1,
		             "A kernel with a negative duration is left out.");
		return false;
	}
	return true;
}

static bool is_communication(const struct capture *cap, const struct kernel *k)
{
	const char *core = trace_text(&cap->trace, k->core, NULL);
	const char *name = trace_text(&cap->trace, k->name, NULL);

	/* level 0 names no core */
	return strcmp(core, "HCCL") == 0 || strcmp(core, "COMMUNICATION") == 0 ||
	       strncmp(name, "hcom_", 5) == 0;
}

/* msprof of a process with several devices puts them into one table. */
static void check_device(struct read_context *ctx, const struct csv *c, const struct stream *in,
                         struct columns *cols)
{
	int64_t device;

	if (csv_int(c, cols->device, &device) != SB_OK)
		return;
	if (cols->first_device == SB_NULL)
		cols->first_device = device;
	if (device != cols->first_device)
		warnings_add(&ctx->profile->warnings, "several_devices", in->path, csv_line(c), -1,
		             "The table holds kernels of devices %lld and %lld: times of several devices are "
		             "put together as if they were one.",
		             (long long)cols->first_device, (long long)device);
}

static int read_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                    const struct stream *in, struct columns *cols)
{
	struct kernel k = kernel_unknown();
	int64_t v;
	int rc;

	if (!read_times(ctx, c, in, cols, &k))
		return SB_OK;
	k.device = msprof_device(c, cols->device);
	if (cols->one_device)
		check_device(ctx, c, in, cols);
	rc = csv_int(c, cols->step, &v);
	if (rc == SB_OK)
		k.step = v;
	else if (rc != SB_ENOENT)
		ascend_bad_value(ctx, c, in, "Step Id", "the kernel belongs to no step");
	if (csv_us(c, cols->wait, &v) == SB_OK)
		k.wait_ns = v;
	if (csv_int(c, cols->block_dim, &v) == SB_OK && v >= 0 && v <= INT32_MAX)
		k.block_dim = (int32_t)v;
	if (csv_int(c, cols->stream, &v) == SB_OK && v >= 0 && v <= INT32_MAX)
		k.stream = (int32_t)v;
	rc = read_texts(cap, c, cols, &k);
	if (rc != SB_OK)
		return rc;
	k.communication = is_communication(cap, &k);
	clock_see(&cols->range, k.start_ns, k.dur_ns, csv_line(c));
	read_pipes(c, cols, &k);
	read_counters(c, cols, &k);
	return capture_add_kernel(cap, &k);
}

static int read_rows(struct read_context *ctx, struct capture *cap, struct csv *c, struct stream *in,
                     struct sb_error *err)
{
	struct columns cols;
	bool more = true;
	int rc;

	find_columns(c, &cols);
	/* what msprof wrote is taken apart once all its files are there */
	cols.one_device = cap->format != FORMAT_MSPROF_TEXT || ascend_directory(cap->source) > 0;
	if (cols.start < 0)
		return sb_fail_at(err, SB_EFORMAT, "missing_column", in->path, csv_line(c), 0,
		                  "the table has no column with the start of a kernel");
	ascend_columns(ctx, c, in, ASCEND_KERNELS);
	find_counters(c, &cols);
	if (find_pipes(c, cap, &cols) != SB_OK)
		return sb_no_memory(err);
	while (more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK)
			return rc;
		if (!more)
			break;
		rc = read_row(ctx, cap, c, in, &cols);
		if (rc == SB_ELIMIT)
			return sb_fail_at(err, SB_EFORMAT, "too_many_texts", in->path, csv_line(c), -1,
			                  "the file holds too many different texts");
		if (rc != SB_OK)
			return sb_fail(err, rc, "no_memory", "out of memory");
	}
	cap->cut |= csv_cut(c) ? CUT_KERNELS : 0;
	ascend_table_clock(ctx, in, cap, &cols.range, false);
	return SB_OK;
}

static int read_kernels(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	int rc = ascend_csv_open(in, NEEDED, &c, err);

	if (rc != SB_OK)
		return rc;
	rc = ascend_capture(ctx, in, &cap, err);
	return rc == SB_OK ? read_rows(ctx, cap, c, in, err) : rc;
}

/* A large table is cut into slices, each with its own header: the rows of all of them belong together. */
static int read_summary(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	int rc = ascend_csv_open(in, SUMMARY_NEEDED, &c, err);

	if (rc != SB_OK)
		return rc;
	rc = msprof_capture(ctx, in, &cap, err);
	return rc == SB_OK ? read_rows(ctx, cap, c, in, err) : rc;
}

const struct format_reader ASCEND_KERNELS_READER = {
    .name = "kernel_details.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff, .read = read_kernels};
const struct format_reader MSPROF_OP_SUMMARY_READER = {
    .name = "op_summary", .format = FORMAT_MSPROF_TEXT, .sniff = sniff_summary, .read = read_summary};
