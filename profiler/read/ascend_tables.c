#include "profiler/read/ascend.h"
#include "profiler/read/msprof.h"

/* step_trace_time.csv, op_statistic.csv and api_statistic.csv (research page ascend-formats 1.1, 1.3, 1.5).
 */

/* One row of a table into the capture. SB_ENOENT: a needed value is missing, *out_column names it. */
typedef int (*row_reader)(struct capture *cap, const struct csv *c, const char **out_column);

static const char *const STEP_MARKS[] = {"Step", "Computing", "Communication", "Free", "Stage", NULL};
static const char *const CLUSTER_MARKS[] = {"Step", "Type", "Index", "Computing", NULL};
static const char *const OP_MARKS[] = {"OP Type", "Core Type", "Count", "Total Time(us)", NULL};
static const char *const API_MARKS[] = {"Level", "API Name", "Time(us)", "Count", NULL};

static int sniff_table(const struct sniff *s, const char *stem, const char *const *marks)
{
	bool named = path_is(s->path, stem, ".csv");

	if (sniff_columns(s, marks))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return named && sniff_first(s) != 0 ? SNIFF_PATH : SNIFF_NO;
}

static int read_table(struct read_context *ctx, struct stream *in, const char *const *needed,
                      size_t (*count)(const struct capture *), row_reader read, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	const char *column = "";
	bool more = true;
	int rc = ascend_csv_open(in, needed, &c, err);

	if (rc != SB_OK)
		return rc;
	rc = ascend_capture(ctx, in, &cap, err);
	if (rc != SB_OK)
		return rc;
	if (count(cap) > 0 && !msprof_path(in->path))
		return sb_fail_at(err, SB_EFORMAT, "duplicate_file", in->path, 0, -1,
		                  "the capture has such a table already");
	while (more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK)
			return rc;
		rc = more ? read(cap, c, &column) : SB_OK;
		if (rc == SB_ENOENT)
			ascend_bad_value(ctx, c, in, column, "the row is left out");
		else if (rc != SB_OK)
			return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	}
	return SB_OK;
}

/* A time that may be missing. */
static int64_t time_or_null(const struct csv *c, const char *column)
{
	int64_t v;

	return csv_us(c, csv_column(c, column), &v) == SB_OK ? v : SB_NULL;
}

/* The column of a time below zero, which no step can have; NULL when there is none. */
static const char *negative_time(const struct step_trace *t)
{
	const struct {
		int64_t ns;
		const char *column;
	} times[] = {{t->computing, "Computing"},
	             {t->exposed, "Communication(Not Overlapped)"},
	             {t->overlapped, "Overlapped"},
	             {t->communication, "Communication"},
	             {t->free, "Free"},
	             {t->stage, "Stage"},
	             {t->bubble, "Bubble"},
	             {t->preparing, "Preparing"}};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].ns != SB_NULL && times[i].ns < 0)
			return times[i].column;
	return NULL;
}

static int step_row(struct capture *cap, const struct csv *c, const char **out_column)
{
	struct step_trace t = {
	    .step = SB_NULL,
	    .computing = time_or_null(c, "Computing"),
	    .exposed = time_or_null(c, "Communication(Not Overlapped)"),
	    .overlapped = time_or_null(c, "Overlapped"),
	    .communication = time_or_null(c, "Communication"),
	    .free = time_or_null(c, "Free"),
	    .stage = time_or_null(c, "Stage"),
	    .bubble = time_or_null(c, "Bubble"),
	    .preparing = time_or_null(c, "Preparing"),
	};
	size_t len;
	int64_t v;

	if (csv_int(c, csv_column(c, "Step"), &v) == SB_OK)
		t.step = v;
	csv_trimmed(c, csv_column(c, "Step"), &len);
	*out_column = "Step";
	if (t.step == SB_NULL && len > 0)
		return SB_ENOENT;
	*out_column = "Computing";
	if (t.computing == SB_NULL)
		return SB_ENOENT;
	*out_column = negative_time(&t);
	if (*out_column)
		return SB_ENOENT;
	if (sb_grow(&cap->step_traces, cap->step_trace_count, sizeof(t)) != SB_OK)
		return SB_ENOMEM;
	cap->step_traces[cap->step_trace_count++] = t;
	return SB_OK;
}

static size_t step_count(const struct capture *cap)
{
	return cap->step_trace_count;
}

static int sniff_steps(const struct sniff *s)
{
	/* the table of a whole cluster is another one: its stage rows mix ranks */
	return sniff_columns(s, CLUSTER_MARKS) ? SNIFF_NO : sniff_table(s, "step_trace_time", STEP_MARKS);
}

static int read_steps(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return read_table(ctx, in, STEP_MARKS, step_count, step_row, err);
}

static int op_row(struct capture *cap, const struct csv *c, const char **out_column)
{
	struct op_statistic o = {.min_ns = time_or_null(c, "Min Time(us)"),
	                         .max_ns = time_or_null(c, "Max Time(us)")};
	int rc;

	*out_column = "Count";
	if (csv_int(c, csv_column(c, "Count"), &o.count) != SB_OK || o.count < 0)
		return SB_ENOENT;
	*out_column = "Total Time(us)";
	if (csv_us(c, csv_column(c, "Total Time(us)"), &o.total_ns) != SB_OK || o.total_ns < 0)
		return SB_ENOENT;
	rc = ascend_text(cap, c, csv_column(c, "OP Type"), &o.type);
	if (rc == SB_OK)
		rc = ascend_text(cap, c, csv_column(c, "Core Type"), &o.core);
	if (rc == SB_OK)
		rc = sb_grow(&cap->op_statistics, cap->op_statistic_count, sizeof(o));
	if (rc == SB_OK)
		cap->op_statistics[cap->op_statistic_count++] = o;
	return rc;
}

static size_t op_count(const struct capture *cap)
{
	return cap->op_statistic_count;
}

static int sniff_ops(const struct sniff *s)
{
	return sniff_table(s, "op_statistic", OP_MARKS);
}

static int read_ops(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return read_table(ctx, in, OP_MARKS, op_count, op_row, err);
}

static int api_row(struct capture *cap, const struct csv *c, const char **out_column)
{
	struct api_row a = {0};
	int rc;

	*out_column = "Count";
	if (csv_int(c, csv_column(c, "Count"), &a.count) != SB_OK || a.count < 0)
		return SB_ENOENT;
	*out_column = "Time(us)";
	if (csv_us(c, csv_column(c, "Time(us)"), &a.time_ns) != SB_OK || a.time_ns < 0)
		return SB_ENOENT;
	rc = ascend_text(cap, c, csv_column(c, "Level"), &a.level);
	if (rc == SB_OK)
		rc = ascend_text(cap, c, csv_column(c, "API Name"), &a.name);
	if (rc == SB_OK)
		rc = sb_grow(&cap->apis, cap->api_count, sizeof(a));
	if (rc == SB_OK)
		cap->apis[cap->api_count++] = a;
	return rc;
}

static size_t api_count(const struct capture *cap)
{
	return cap->api_count;
}

static int sniff_apis(const struct sniff *s)
{
	return sniff_table(s, "api_statistic", API_MARKS);
}

static int read_apis(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return read_table(ctx, in, API_MARKS, api_count, api_row, err);
}

const struct format_reader ASCEND_STEPS_READER = {
    .name = "step_trace_time.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_steps, .read = read_steps};
const struct format_reader ASCEND_OP_STATISTIC_READER = {
    .name = "op_statistic.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_ops, .read = read_ops};
const struct format_reader ASCEND_API_STATISTIC_READER = {
    .name = "api_statistic.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_apis, .read = read_apis};
