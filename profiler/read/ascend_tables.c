#include "profiler/read/ascend.h"

/* step_trace_time.csv, op_statistic.csv and api_statistic.csv (research page ascend-formats 1.1, 1.3, 1.5).
 */

/* What differs between the tables. */
struct table {
	const char *const *needed;
	/* One row into the capture. SB_ENOENT: a needed value is missing, *out_column names it. */
	int (*row)(struct capture *cap, const struct csv *c, const char **out_column);
	enum ascend_table columns;
};

/* what the rounding through a double may cost (research page, 1.1) */
#define STEP_TOLERANCE_NS 500

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

static int read_rows(struct read_context *ctx, struct csv *c, struct stream *in, const struct table *t,
                     struct capture *cap, struct sb_error *err)
{
	const char *column = "";
	bool more = true;
	int rc;

	ascend_columns(ctx, c, in, t->columns);
	while (more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK)
			return rc;
		if (!more)
			break;
		rc = t->row(cap, c, &column);
		if (rc == SB_ENOENT)
			ascend_bad_value(ctx, c, in, column, "the row is left out");
		else if (rc != SB_OK)
			return sb_no_memory(err);
		else if (t->columns == ASCEND_STEPS)
			ascend_step_check(ctx, c, in, cap, STEP_TOLERANCE_NS);
	}
	if (t->columns == ASCEND_STEPS && csv_cut(c))
		cap->cut |= CUT_STEP_TRACES;
	return SB_OK;
}

static int read_table(struct read_context *ctx, struct stream *in, const struct table *t,
                      struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	int rc = ascend_csv_open(in, t->needed, &c, err);

	if (rc != SB_OK)
		return rc;
	rc = ascend_capture(ctx, in, &cap, err);
	return rc == SB_OK ? read_rows(ctx, c, in, t, cap, err) : rc;
}

/* A time that may be missing. */
static int64_t time_or_null(const struct csv *c, const char *column)
{
	int64_t v;

	return csv_us(c, csv_column(c, column), &v) == SB_OK ? v : SB_NULL;
}

static const char *const STEP_TIMES[] = {"Computing",  "Communication(Not Overlapped)",
                                         "Overlapped", "Communication",
                                         "Free",       "Stage",
                                         "Bubble",     "Preparing",
                                         NULL};

/* The column of a time that has lost its digits; NULL when there is none. */
static const char *lost_time(const struct csv *c)
{
	for (size_t i = 0; STEP_TIMES[i]; i++) {
		size_t len;
		const char *text = csv_trimmed(c, csv_column(c, STEP_TIMES[i]), &len);

		if (ascend_precision_lost(text, len))
			return STEP_TIMES[i];
	}
	return NULL;
}

const char *ascend_step_negative(const struct step_trace *t)
{
	/* receives that wait side by side add up to more than the step (Stage is the rest) */
	bool bubbles = t->stage != SB_NULL && t->bubble != SB_NULL && sb_add_sat(t->stage, t->bubble) >= 0;
	const int64_t times[] = {t->computing,           t->exposed, t->overlapped, t->communication, t->free,
	                         bubbles ? 0 : t->stage, t->bubble,  t->preparing};

	for (size_t i = 0; STEP_TIMES[i]; i++)
		if (times[i] != SB_NULL && times[i] < 0)
			return STEP_TIMES[i];
	return NULL;
}

int ascend_step_row(struct capture *cap, const struct csv *c, const char **out_column)
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
	*out_column = lost_time(c);
	if (*out_column)
		return SB_ENOENT;
	*out_column = "Computing";
	if (t.computing == SB_NULL)
		return SB_ENOENT;
	*out_column = ascend_step_negative(&t);
	if (*out_column)
		return SB_ENOENT;
	return capture_add_step_trace(cap, &t);
}

static int64_t apart(int64_t sum, int64_t whole)
{
	int64_t d = sb_add_sat(sum, -whole);

	return d < 0 ? -d : d;
}

void ascend_step_check(struct read_context *ctx, const struct csv *c, const struct stream *in,
                       const struct capture *cap, int64_t tolerance)
{
	const struct step_trace *t = &cap->step_traces[cap->step_trace_count - 1];
	/* old versions have no such column, and mean that there was none */
	int64_t bubble = t->bubble == SB_NULL ? 0 : t->bubble;
	const char *broken = NULL;

	if (t->exposed == SB_NULL)
		return;
	if (t->communication != SB_NULL && t->overlapped != SB_NULL &&
	    apart(sb_add_sat(t->exposed, t->overlapped), t->communication) > tolerance)
		broken = "Communication is not the sum of its overlapped and its other part";
	else if (t->stage != SB_NULL && t->free != SB_NULL &&
	         apart(sb_add_sat(sb_add_sat(t->computing, t->exposed), t->free),
	               sb_add_sat(t->stage, bubble)) > tolerance)
		broken =
		    "Stage and Bubble are not the sum of Computing, Communication(Not Overlapped) and Free";
	if (broken)
		warnings_add(&ctx->profile->warnings, "contradiction", in->path, csv_line(c), -1, "%s.",
		             broken);
}

static int sniff_steps(const struct sniff *s)
{
	/* the table of a whole cluster is another one: its stage rows mix ranks */
	return sniff_columns(s, CLUSTER_MARKS) ? SNIFF_NO : sniff_table(s, "step_trace_time", STEP_MARKS);
}

static int read_steps(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct table table = {STEP_MARKS, ascend_step_row, ASCEND_STEPS};

	return read_table(ctx, in, &table, err);
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
	if (ascend_exact_us(c, csv_column(c, "Total Time(us)"), &o.total_ns) != SB_OK || o.total_ns < 0)
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

static int sniff_ops(const struct sniff *s)
{
	return sniff_table(s, "op_statistic", OP_MARKS);
}

static int read_ops(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct table table = {OP_MARKS, op_row, ASCEND_OPERATORS};

	return read_table(ctx, in, &table, err);
}

static int api_row(struct capture *cap, const struct csv *c, const char **out_column)
{
	struct api_row a = {0};
	int rc;

	*out_column = "Count";
	if (csv_int(c, csv_column(c, "Count"), &a.count) != SB_OK || a.count < 0)
		return SB_ENOENT;
	*out_column = "Time(us)";
	if (ascend_exact_us(c, csv_column(c, "Time(us)"), &a.time_ns) != SB_OK || a.time_ns < 0)
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

static int sniff_apis(const struct sniff *s)
{
	return sniff_table(s, "api_statistic", API_MARKS);
}

static int read_apis(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const struct table table = {API_MARKS, api_row, ASCEND_APIS};

	return read_table(ctx, in, &table, err);
}

const struct format_reader ASCEND_STEPS_READER = {
    .name = "step_trace_time.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_steps, .read = read_steps};
const struct format_reader ASCEND_OP_STATISTIC_READER = {
    .name = "op_statistic.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_ops, .read = read_ops};
const struct format_reader ASCEND_API_STATISTIC_READER = {
    .name = "api_statistic.csv", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_apis, .read = read_apis};
