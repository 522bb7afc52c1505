#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/msprof.h"

/* step_trace (research page ascend-formats 3): one row an iteration. The pair "Reduce Start(us)", "Reduce
 * Duration(us)" stands in the header as often as an iteration may have collectives, always under the same two
 * names. */

#define REDUCES_MAX 128

static const char *const MARKS[] = {"Iteration ID", "Iteration Time(us)", "FP to BP Time(us)", NULL};
static const char *const NEEDED[] = {"Iteration ID", "Iteration Time(us)", NULL};
/* CANN before 2022 left the unit out */
static const char *const END[] = {"Iteration End(us)", "Iteration End", NULL};

struct columns {
	int id, end, time, device;
	struct clock_range range;
	size_t count;
	struct {
		int start, dur;
	} reduces[REDUCES_MAX];
};

static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "step_trace", ".csv");

	if (!sniff_columns(s, MARKS))
		return SNIFF_NO;
	return named ? SNIFF_SURE : SNIFF_CONTENT;
}

static bool starts(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(text, with, n) == 0;
}

/* The header is the present record. */
static void find_columns(const struct csv *c, struct columns *k)
{
	int start = -1;

	*k = (struct columns){.id = csv_column(c, "Iteration ID"),
	                      .end = csv_column_any(c, END),
	                      .time = csv_column(c, "Iteration Time(us)"),
	                      .device = csv_column(c, "Device_id")};
	for (size_t i = 0; i < csv_header_count(c); i++) {
		size_t len;
		const char *text = csv_trimmed(c, (int)i, &len);

		if (starts(text, len, "Reduce Start"))
			start = (int)i;
		if (!starts(text, len, "Reduce Duration") || start < 0 || k->count == REDUCES_MAX)
			continue;
		k->reduces[k->count].start = start;
		k->reduces[k->count++].dur = (int)i;
		start = -1;
	}
}

/* Nothing was recorded: N/A, 0, or a counter at its end (one of 64 bits is beyond any time). */
static bool unset(const struct csv *c, int column, int64_t *out_ns)
{
	return csv_us(c, column, out_ns) != SB_OK || *out_ns <= 0 || *out_ns == UINT32_MAX * INT64_C(1000);
}

static int add_reduce(struct capture *cap, const struct csv *c, const struct columns *k, size_t i,
                      int64_t step)
{
	struct kernel r = kernel_unknown();
	int64_t ns;
	char name[32];
	int rc;

	/* an iteration may have fewer than there are columns */
	if (unset(c, k->reduces[i].start, &r.start_ns) || csv_us(c, k->reduces[i].dur, &ns) != SB_OK ||
	    ns < 0)
		return SB_OK;
	r.step = step;
	r.dur_ns = ns;
	r.communication = true;
	r.device = msprof_device(c, k->device);
	r.origin = KERNEL_REDUCE;
	snprintf(name, sizeof(name), "Reduce %zu", i);
	rc = sb_strings_add(cap->trace.strings, name, strlen(name), &r.name);
	if (rc == SB_OK)
		rc = sb_strings_add(cap->trace.strings, "Reduce", 6, &r.type);
	if (rc == SB_OK)
		rc = sb_strings_add(cap->trace.strings, "COMMUNICATION", 13, &r.core);
	if (rc == SB_OK)
		rc = capture_add_kernel(cap, &r);
	return rc;
}

static int read_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                    const struct stream *in, struct columns *k)
{
	struct step s = {.number = SB_NULL};
	int64_t end;
	int rc = SB_OK;

	if (csv_int(c, k->id, &s.number) != SB_OK || s.number < 0) {
		ascend_bad_value(ctx, c, in, "Iteration ID", "the row is left out");
		return SB_OK;
	}
	if (!ascend_time(ctx, c, in, k->end, "Iteration End(us)", &end) ||
	    !ascend_time(ctx, c, in, k->time, "Iteration Time(us)", &s.dur_ns))
		return SB_OK;
	if (end <= 0 || s.dur_ns < 0 || s.dur_ns > end) {
		ascend_bad_value(ctx, c, in, "Iteration Time(us)", "the row is left out");
		return SB_OK;
	}
	s.start_ns = end - s.dur_ns;
	clock_see(&k->range, s.start_ns, s.dur_ns, csv_line(c));
	if (sb_grow(&cap->steps, cap->step_count, sizeof(s)) != SB_OK)
		return SB_ENOMEM;
	cap->steps[cap->step_count++] = s;
	for (size_t i = 0; rc == SB_OK && i < k->count; i++)
		rc = add_reduce(cap, c, k, i, s.number);
	return rc;
}

static int read_steps(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	struct columns cols;
	bool more = true;
	int rc = ascend_csv_open(in, NEEDED, &c, err);

	if (rc == SB_OK)
		rc = msprof_capture(ctx, in, &cap, err);
	if (rc != SB_OK)
		return rc;
	find_columns(c, &cols);
	while (more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc != SB_OK)
			return rc;
		if (more && read_row(ctx, cap, c, in, &cols) != SB_OK)
			return sb_no_memory(err);
	}
	ascend_table_clock(ctx, in, cap, &cols.range, true);
	return SB_OK;
}

const struct format_reader MSPROF_STEPS_READER = {
    .name = "step_trace", .format = FORMAT_MSPROF_TEXT, .sniff = sniff, .read = read_steps};
