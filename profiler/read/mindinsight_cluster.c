#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* ascend_cluster_analyse_{mode}_{stages}_{size}_{rank}.csv: one row a step and, behind them where there is
 * more than one row, the average. Its "computation" is the step without the communication that nothing
 * covers, so idle time counts as well: it is no compute time, and serves for the step's length only. Its
 * "stage" is the step without the receives that nothing covers. In ms, of four digits after the point; the
 * data-parallel form has the parts of the step trace in ticks. */

static const char *const COMPUTATION[] = {"computation_time", "computation", NULL};
static const char *const ALONE_MARKS[] = {"communication_alone_time", NULL};
static const char *const TICK_MARKS[] = {"iteration_interval", "fp_and_bp", "tail", NULL};
static const char *const STEP_TRACE_MARK[] = {"step_num", NULL};

static int sniff(const struct sniff *s)
{
	if (sniff_columns(s, ALONE_MARKS))
		return SNIFF_SURE;
	/* the step trace has these columns, too */
	return sniff_columns(s, TICK_MARKS) && !sniff_columns(s, STEP_TRACE_MARK) ? SNIFF_SURE : SNIFF_NO;
}

struct row {
	struct iteration iteration;
	struct step_trace trace;
	bool ticks;
};

static int64_t time_at(const struct csv *c, int column, bool ticks)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	return ticks ? mindinsight_ticks(text, len) : mindinsight_ms(text, len);
}

static int64_t plus(int64_t a, int64_t b)
{
	return a == SB_NULL || b == SB_NULL ? SB_NULL : sb_add_sat(a, b);
}

/* The name of the column that cannot be used, or NULL. */
static const char *read_row(const struct csv *c, struct row *r)
{
	struct iteration *i = &r->iteration;
	struct step_trace *t = &r->trace;

	i->interval_ns = i->forward_backward_ns = i->tail_ns = i->start_ns = SB_NULL;
	if (r->ticks) {
		i->interval_ns = time_at(c, csv_column(c, "iteration_interval"), true);
		i->forward_backward_ns = time_at(c, csv_column(c, "fp_and_bp"), true);
		i->tail_ns = time_at(c, csv_column(c, "tail"), true);
		i->total_ns = plus(plus(i->interval_ns, i->forward_backward_ns), i->tail_ns);
		return i->total_ns == SB_NULL ? "iteration_interval" : NULL;
	}
	t->computing = t->overlapped = t->communication = t->free = t->preparing = SB_NULL;
	t->exposed = time_at(c, csv_column(c, "communication_alone_time"), false);
	t->stage = time_at(c, csv_column(c, "stage_time"), false);
	t->bubble = time_at(c, csv_column(c, "receive_alone_time"), false);
	i->total_ns = plus(time_at(c, csv_column_any(c, COMPUTATION), false), t->exposed);
	return t->exposed == SB_NULL ? "communication_alone_time" : NULL;
}

static int add_row(struct capture *cap, const struct row *r)
{
	if (r->iteration.total_ns != SB_NULL) {
		if (sb_grow(&cap->iterations, cap->iteration_count, sizeof(r->iteration)) != SB_OK)
			return SB_ENOMEM;
		cap->iterations[cap->iteration_count++] = r->iteration;
	}
	return r->ticks ? SB_OK : capture_add_step_trace(cap, &r->trace);
}

static int read_rows(struct read_context *ctx, struct csv *c, struct stream *in, struct capture *cap,
                     bool ticks, struct sb_error *err)
{
	struct row held = {0};
	bool more = true, holding = false;

	for (int64_t step = 1; more; step++) {
		struct row r = {.ticks = ticks};
		const char *bad;
		int rc = ascend_csv_row(ctx, c, in, &more, err);

		if (rc != SB_OK)
			return rc;
		/* a row is a step's once another one follows; the only one is a step's as well */
		if (holding && (more || held.trace.step == 1) && add_row(cap, &held) != SB_OK)
			return sb_no_memory(err);
		if (!more)
			break;
		r.iteration.step = r.trace.step = step;
		bad = read_row(c, &r);
		if (bad)
			ascend_bad_value(ctx, c, in, bad, "the row is left out");
		held = r;
		holding = !bad;
	}
	return SB_OK;
}

static int read_cluster(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	static const char *const none[] = {NULL};
	CSV_AUTO c = NULL;
	struct capture *cap;
	bool ticks;
	int rc = ascend_csv_open(in, none, &c, err);

	if (rc != SB_OK)
		return rc;
	ticks = csv_column(c, ALONE_MARKS[0]) < 0;
	if (ticks && csv_column(c, TICK_MARKS[0]) < 0)
		return sb_fail_at(err, SB_EFORMAT, "missing_column", in->path, csv_line(c), 0,
		                  "the table has no column \"%s\"", ALONE_MARKS[0]);
	rc = mindinsight_capture(ctx, in, &cap, err);
	return rc == SB_OK ? read_rows(ctx, c, in, cap, ticks, err) : rc;
}

const struct format_reader MINDINSIGHT_CLUSTER_READER = {.name = "ascend_cluster_analyse_*.csv",
                                                         .format = FORMAT_MINDINSIGHT,
                                                         .sniff = sniff,
                                                         .read = read_cluster};
