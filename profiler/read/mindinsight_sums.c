#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* Sums by operator: aicore_intermediate_{id}_type.csv and _detail.csv, aicpu_intermediate_{id}.csv (one row a
 * call), and framework_raw_{id}.csv, which tells the type of each operator. All times are ms. The column of
 * operator names has had three names. */

static const char *const NAMES[] = {"full_kernel_name", "full_op_name", "full_kernel_time", NULL};
static const char *const TYPES[] = {"kernel_type", "op_type", NULL};
static const char *const TYPE_TIMES[] = {"total_time", "execution_time", NULL};

/* The columns of a table, found once; -1 = not there. */
struct columns {
	int name, type, time, count;
};

/* A row of a table into the sum; the column that cannot be used, or NULL. */
typedef const char *(*row_reader)(const struct csv *c, const struct columns *at, struct op_statistic *out);

struct table {
	const char *const *needed;
	const char *const *times; /* names of its column of times; NULL = none */
	bool named;               /* by operator */
	const char *core;
	row_reader read;
};

static bool any_of(const struct sniff *s, const char *const *names, const char *const *with)
{
	for (; *names; names++) {
		const char *columns[5] = {*names};

		for (size_t i = 0; i < 3 && with[i]; i++)
			columns[i + 1] = with[i];
		if (sniff_columns(s, columns))
			return true;
	}
	return false;
}

static int64_t time_at(const struct csv *c, int column)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	return mindinsight_ms(text, len);
}

static const char *type_row(const struct csv *c, const struct columns *at, struct op_statistic *out)
{
	out->total_ns = time_at(c, at->time);
	if (out->total_ns == SB_NULL)
		return "total_time";
	return csv_int(c, at->count, &out->count) == SB_OK && out->count > 0 ? NULL : "execution_frequency";
}

/* The time is that of one call, often a fraction of a nanosecond off: it is multiplied in picoseconds. */
static const char *detail_row(const struct csv *c, const struct columns *at, struct op_statistic *out)
{
	size_t len;
	const char *text = csv_trimmed(c, at->time, &len);
	int64_t ps, total;

	if (sb_parse_scaled(text, len, 9, &ps) != SB_OK || ps < 0)
		return "execution_time";
	/* older tables count no calls: the time is that of one step */
	out->count = 1;
	if (at->count >= 0 && (csv_int(c, at->count, &out->count) != SB_OK || out->count <= 0))
		return "execution_frequency";
	if (__builtin_mul_overflow(ps, out->count, &total))
		return "execution_frequency";
	out->total_ns = total / 1000 + (total % 1000 >= 500);
	return NULL;
}

static const char *call_row(const struct csv *c, const struct columns *at, struct op_statistic *out)
{
	out->count = 1;
	out->total_ns = out->min_ns = out->max_ns = time_at(c, at->time);
	return out->total_ns == SB_NULL ? "total_time" : NULL;
}

/* No time: only the type of a name. */
static const char *framework_row(const struct csv *c, const struct columns *at, struct op_statistic *out)
{
	(void)c;
	out->total_ns = out->count = 0;
	return at->type < 0 ? "kernel_type" : NULL;
}

/* A pipeline calls a handful of types. */
#define TYPES_LOOKED_AT 64

/* Calls of one type are one sum; a type that is far back gets a second one, which does no harm. */
static int add_sum(struct capture *cap, size_t first, const struct op_statistic *s)
{
	size_t from = first;

	if (cap->op_statistic_count - first > TYPES_LOOKED_AT)
		from = cap->op_statistic_count - TYPES_LOOKED_AT;
	for (size_t i = from; i < cap->op_statistic_count && s->min_ns != SB_NULL; i++) {
		struct op_statistic *to = &cap->op_statistics[i];

		if (to->type != s->type)
			continue;
		to->count++;
		to->total_ns = sb_add_sat(to->total_ns, s->total_ns);
		to->min_ns = s->min_ns < to->min_ns ? s->min_ns : to->min_ns;
		to->max_ns = s->max_ns > to->max_ns ? s->max_ns : to->max_ns;
		return SB_OK;
	}
	if (sb_grow(&cap->op_statistics, cap->op_statistic_count, sizeof(*s)) != SB_OK)
		return SB_ENOMEM;
	cap->op_statistics[cap->op_statistic_count++] = *s;
	return SB_OK;
}

static int add_row(struct capture *cap, size_t first, const struct table *t, const struct csv *c,
                   const struct columns *at, struct op_statistic *s)
{
	int rc = ascend_text(cap, c, at->type, &s->type);

	if (rc == SB_OK && t->named)
		rc = ascend_text(cap, c, at->name, &s->name);
	if (rc == SB_OK)
		rc = sb_strings_add(cap->trace.strings, t->core, strlen(t->core), &s->core);
	return rc == SB_OK ? add_sum(cap, first, s) : rc;
}

static int read_table(struct read_context *ctx, struct stream *in, const struct table *t,
                      struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	struct columns at;
	size_t first = 0;
	bool more = true;
	int rc = ascend_csv_open(in, t->needed, &c, err);

	if (rc == SB_OK)
		rc = mindinsight_capture(ctx, in, &cap, err);
	if (rc != SB_OK)
		return rc;
	first = cap->op_statistic_count;
	at = (struct columns){.name = csv_column_any(c, NAMES),
	                      .type = csv_column_any(c, TYPES),
	                      .time = t->times ? csv_column_any(c, t->times) : -1,
	                      .count = csv_column(c, "execution_frequency")};
	while (more) {
		struct op_statistic s = {.min_ns = SB_NULL, .max_ns = SB_NULL};
		const char *bad;

		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK || !more)
			return rc;
		bad = t->read(c, &at, &s);
		if (bad)
			ascend_bad_value(ctx, c, in, bad, "the row is left out");
		else if (add_row(cap, first, t, c, &at, &s) != SB_OK)
			return sb_no_memory(err);
	}
	return SB_OK;
}

static int sniff_types(const struct sniff *s)
{
	static const char *const with[] = {"execution_frequency", "percent", NULL};

	return any_of(s, TYPES, with) ? SNIFF_SURE : SNIFF_NO;
}

static int read_types(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const char *const needed[] = {"execution_frequency", NULL};
	static const struct table t = {needed, TYPE_TIMES, false, "AI_CORE", type_row};

	return read_table(ctx, in, &t, err);
}

static int sniff_details(const struct sniff *s)
{
	static const char *const with[] = {"execution_time", NULL};

	return any_of(s, NAMES, with) ? SNIFF_SURE : SNIFF_NO;
}

static int read_details(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const char *const needed[] = {"execution_time", NULL};
	static const struct table t = {needed, needed, true, "AI_CORE", detail_row};

	return read_table(ctx, in, &t, err);
}

static int sniff_framework(const struct sniff *s)
{
	static const char *const with[] = {"task_id", "stream_id", "block_dim", NULL};

	return any_of(s, NAMES, with) ? SNIFF_SURE : SNIFF_NO;
}

static int read_framework(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const char *const needed[] = {"task_id", "stream_id", NULL};
	static const struct table t = {needed, NULL, true, "", framework_row};

	return read_table(ctx, in, &t, err);
}

static int sniff_calls(const struct sniff *s)
{
	static const char *const with[] = {"serial_number", "total_time", "dispatch_time", NULL};

	return any_of(s, TYPES, with) ? SNIFF_SURE : SNIFF_NO;
}

static int read_calls(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const char *const needed[] = {"serial_number", "total_time", NULL};
	static const struct table t = {needed, TYPE_TIMES, false, "AI_CPU", call_row};

	return read_table(ctx, in, &t, err);
}

const struct format_reader MINDINSIGHT_TYPES_READER = {.name = "aicore_intermediate_*_type.csv",
                                                       .format = FORMAT_MINDINSIGHT,
                                                       .sniff = sniff_types,
                                                       .read = read_types};
const struct format_reader MINDINSIGHT_DETAILS_READER = {.name = "aicore_intermediate_*_detail.csv",
                                                         .format = FORMAT_MINDINSIGHT,
                                                         .sniff = sniff_details,
                                                         .read = read_details};
const struct format_reader MINDINSIGHT_FRAMEWORK_READER = {.name = "framework_raw_*.csv",
                                                           .format = FORMAT_MINDINSIGHT,
                                                           .sniff = sniff_framework,
                                                           .read = read_framework};
const struct format_reader MINDINSIGHT_AICPU_READER = {.name = "aicpu_intermediate_*.csv",
                                                       .format = FORMAT_MINDINSIGHT,
                                                       .sniff = sniff_calls,
                                                       .read = read_calls};
