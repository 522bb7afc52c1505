#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* step_trace_raw_{id}_detail_time.csv: one row an iteration, times in ticks of 10 ns, behind them three
 * columns for each communication operator. The last row, of step "-" or 0, is an average. */

#define START_MARK "_start_point"
#define END_MARK "_end_point"

static const char *const MARKS[] = {"step_num", "start_point", "end_point", "fp_point", NULL};

struct reduce {
	int start, end; /* columns */
	uint32_t name, lane;
};

struct reading {
	struct read_context *ctx;
	const struct stream *in;
	struct capture *cap;
	struct csv *csv;
	struct reduce *reduces;
	size_t reduce_count;
	int step, start, end, total, interval, forward_backward, tail;
	struct clock_range range;
};

static void reading_free(struct reading *r)
{
	csv_free(&r->csv);
	free(r->reduces);
}

static int sniff(const struct sniff *s)
{
	if (sniff_columns(s, MARKS))
		return SNIFF_SURE;
	return SNIFF_NO;
}

/* "stream_520_parallel_0": the lane is the stream. */
static int lane_of(struct reading *r, const char *name, size_t len, uint32_t *out_lane)
{
	struct trace *t = &r->cap->trace;
	struct lane lane = {.device = -1};
	size_t end = 7;
	int rc =
	    sb_strings_add(t->strings, MINDINSIGHT_STEP_TRACE, strlen(MINDINSIGHT_STEP_TRACE), &lane.process);

	if (len > end && memcmp(name, "stream_", end) == 0) {
		while (end < len && name[end] >= '0' && name[end] <= '9')
			end++;
		len = end;
	}
	if (rc == SB_OK)
		rc = sb_strings_add(t->strings, name, len, &lane.thread);
	/* the columns of one stream follow each other */
	if (rc == SB_OK && t->lane_count > 0 && r->reduce_count > 0 &&
	    t->lanes[t->lane_count - 1].thread == lane.thread) {
		*out_lane = (uint32_t)t->lane_count - 1;
		return SB_OK;
	}
	return rc == SB_OK ? trace_add_lane(t, &lane, out_lane) : rc;
}

static int add_reduce(struct reading *r, size_t column, const char *name, size_t len)
{
	struct reduce new = {.start = (int)column, .end = (int)column + 1};
	int rc = sb_strings_add(r->cap->trace.strings, name, len, &new.name);

	if (rc == SB_OK)
		rc = lane_of(r, name, len, &new.lane);
	if (rc == SB_OK)
		rc = sb_grow(&r->reduces, r->reduce_count, sizeof(new));
	if (rc == SB_OK)
		r->reduces[r->reduce_count++] = new;
	return rc;
}

/* The name of a communication operator in front of the mark of its column; 0 when it is no such column. */
static size_t stem_of(const char *text, size_t len, const char *mark)
{
	size_t n = strlen(mark);

	return len > n && memcmp(text + len - n, mark, n) == 0 ? len - n : 0;
}

/* The present record is the header: pairs of columns with one name in front of their marks. */
static int find_columns(struct reading *r)
{
	const struct csv *c = r->csv;
	int rc = SB_OK;

	for (size_t i = 0; i + 1 < csv_count(c) && rc == SB_OK; i++) {
		size_t len, next_len;
		const char *name = csv_trimmed(c, (int)i, &len);
		const char *next = csv_trimmed(c, (int)i + 1, &next_len);
		size_t stem = stem_of(name, len, START_MARK);

		if (stem > 0 && stem_of(next, next_len, END_MARK) == stem && memcmp(name, next, stem) == 0)
			rc = add_reduce(r, i, name, stem);
	}
	r->step = csv_column(c, "step_num");
	r->start = csv_column(c, "start_point");
	r->end = csv_column(c, "end_point");
	r->total = csv_column(c, "total");
	r->interval = csv_column(c, "iteration_interval");
	r->forward_backward = csv_column(c, "fp_and_bp");
	r->tail = csv_column(c, "tail");
	return rc;
}

static int64_t ticks(const struct reading *r, int column)
{
	size_t len;
	const char *text = csv_trimmed(r->csv, column, &len);

	return mindinsight_ticks(text, len);
}

static int read_reduces(struct reading *r)
{
	for (size_t i = 0; i < r->reduce_count; i++) {
		const struct reduce *at = &r->reduces[i];
		struct event e = {.start_ns = ticks(r, at->start),
		                  .link = -1,
		                  .name = at->name,
		                  .lane = at->lane,
		                  .kind = EVENT_COMMUNICATION};
		int64_t end = ticks(r, at->end);
		int rc;

		/* an operator that did not run in this iteration has zeros */
		if (e.start_ns == 0 && end == 0)
			continue;
		if (e.start_ns == SB_NULL || end == SB_NULL) {
			ascend_bad_value(r->ctx, r->csv, r->in, trace_text(&r->cap->trace, at->name, NULL),
			                 "the operator is left out of this iteration");
			continue;
		}
		if (end < e.start_ns) {
			warnings_add(&r->ctx->profile->warnings, "negative_duration", r->in->path,
			             csv_line(r->csv), -1,
			             "A communication operator with a negative duration is left out.");
			continue;
		}
		e.dur_ns = end - e.start_ns;
		rc = trace_append(&r->cap->trace, &e);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int add_iteration(struct reading *r, const struct iteration *i)
{
	struct capture *cap = r->cap;
	struct step s = {.number = i->step, .start_ns = i->start_ns, .dur_ns = i->total_ns};

	if (sb_grow(&cap->iterations, cap->iteration_count, sizeof(*i)) != SB_OK ||
	    sb_grow(&cap->steps, cap->step_count, sizeof(s)) != SB_OK)
		return SB_ENOMEM;
	cap->iterations[cap->iteration_count++] = *i;
	cap->steps[cap->step_count++] = s;
	return read_reduces(r);
}

/* "-", in older files 0: the row of the averages. */
static bool is_average(const struct reading *r)
{
	size_t len;
	const char *text = csv_trimmed(r->csv, r->step, &len);

	return len == 1 && (text[0] == '-' || text[0] == '0');
}

static int read_row(struct reading *r)
{
	struct iteration i = {.start_ns = ticks(r, r->start),
	                      .total_ns = ticks(r, r->total),
	                      .interval_ns = ticks(r, r->interval),
	                      .forward_backward_ns = ticks(r, r->forward_backward),
	                      .tail_ns = ticks(r, r->tail)};
	int64_t end = ticks(r, r->end);

	if (is_average(r))
		return SB_OK;
	if (csv_int(r->csv, r->step, &i.step) != SB_OK || i.step < 0) {
		ascend_bad_value(r->ctx, r->csv, r->in, "step_num", "the row is left out");
		return SB_OK;
	}
	if (i.start_ns == SB_NULL || end == SB_NULL || end < i.start_ns) {
		ascend_bad_value(r->ctx, r->csv, r->in, i.start_ns == SB_NULL ? "start_point" : "end_point",
		                 "the row is left out");
		return SB_OK;
	}
	if (i.total_ns != SB_NULL && i.total_ns != end - i.start_ns)
		warnings_add(&r->ctx->profile->warnings, "inconsistent", r->in->path, csv_line(r->csv), -1,
		             "The total of an iteration is not its end less its start: the latter is used.");
	i.total_ns = end - i.start_ns;
	clock_see(&r->range, i.start_ns, i.total_ns, csv_line(r->csv));
	return add_iteration(r, &i);
}

static int read_steps(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(reading_free))) struct reading r = {.ctx = ctx, .in = in};
	bool more = true;
	int rc = ascend_csv_open(in, MARKS, &r.csv, err);

	if (rc == SB_OK)
		rc = mindinsight_capture(ctx, in, &r.cap, err);
	if (rc != SB_OK)
		return rc;
	if (find_columns(&r) != SB_OK)
		return sb_no_memory(err);
	while (more) {
		rc = ascend_csv_row(ctx, r.csv, in, &more, err);
		if (rc != SB_OK)
			return rc;
		if (more && read_row(&r) != SB_OK)
			return sb_no_memory(err);
	}
	ascend_table_clock(ctx, in, r.cap, &r.range, true);
	return SB_OK;
}

const struct format_reader MINDINSIGHT_STEPS_READER = {
    .name = "step_trace_raw_*.csv", .format = FORMAT_MINDINSIGHT, .sniff = sniff, .read = read_steps};
