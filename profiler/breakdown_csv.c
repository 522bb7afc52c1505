#include <stdio.h>
#include <string.h>

#include "profiler/breakdown_parts.h"

/* step_trace_time.csv is rounded through a double: its Stage may be off by this much. */
#define ROUNDING_NS 500

static int64_t known(int64_t v, int64_t fallback)
{
	return v != SB_NULL ? v : fallback;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a == SB_NULL || b == SB_NULL ? SB_NULL : sb_add_sat(a, b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return a == SB_NULL || b == SB_NULL ? SB_NULL : sb_add_sat(a, b == INT64_MAX ? -INT64_MAX : -b);
}

static void fill(const struct step_trace *s, struct warnings *warnings, const char *source,
                 struct breakdown_row *row)
{
	/* old versions have no such column: they count no bubble, which does not mean that there was none */
	int64_t bubble = known(s->bubble, 0), sum, off;

	row->compute_ns = s->computing;
	row->exposed_ns = s->exposed;
	row->communication_ns = known(s->communication, plus(s->exposed, s->overlapped));
	row->overlap_ns = known(s->overlapped, minus(row->communication_ns, s->exposed));
	/* each number was rounded on its own: within that, the whole and one part decide */
	off = minus(minus(row->communication_ns, s->exposed), row->overlap_ns);
	if (off != SB_NULL && off >= -ROUNDING_NS && off <= ROUNDING_NS)
		row->overlap_ns = minus(row->communication_ns, s->exposed);
	row->free_ns = s->free;
	row->bubble_ns = s->bubble;
	row->preparing_ns = s->preparing;
	row->span_ns = s->stage;
	/* the parts are exact and Stage is not: within the rounding, the parts decide */
	sum = minus(plus(plus(s->computing, s->exposed), s->free), bubble);
	off = minus(sum, s->stage);
	if (off == SB_NULL || (off >= -ROUNDING_NS && off <= ROUNDING_NS))
		row->span_ns = known(sum, s->stage);
	else
		warnings_add(warnings, "inconsistent", source, 0, -1,
		             "Stage and Bubble differ from the sum of the parts by %lld ns in "
		             "step_trace_time.csv.",
		             (long long)off);
	row->busy_ns = minus(plus(row->span_ns, bubble), row->free_ns);
	/* as for the timeline: receives that wait side by side leave nothing, and not less */
	if (row->span_ns != SB_NULL && row->span_ns < 0) {
		row->bubble_ns = plus(row->span_ns, bubble);
		row->span_ns = 0;
	}
}

static void warn_rounded(const struct capture *c, struct warnings *warnings)
{
	char file[sizeof(((struct warning *)NULL)->file)];
	const char *source = c->source ? c->source : "", *slash = strrchr(source, '/');

	if (capture_format_facts(c->format)->exact_steps)
		return;
	/* one table of a cluster analysis holds all ranks: one warning is enough */
	snprintf(file, sizeof(file), "%.*s",
	         (int)(capture_format_facts(c->format)->whole_cluster && slash ? (size_t)(slash - source)
	                                                                       : strlen(source)),
	         source);
	warnings_add(warnings, "rounded_source", file, 0, -1,
	             "The breakdown comes from step_trace_time.csv, whose Stage and Preparing are rounded "
	             "(up to 0.5 us).");
}

/* The step's own length comes from another file: no part of it takes much longer. */
static void check_length(const struct capture *c, const struct breakdown_row *row, struct warnings *warnings)
{
	const int64_t parts[] = {row->compute_ns, row->exposed_ns, row->span_ns};
	int64_t most = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] != SB_NULL && parts[i] > most)
			most = parts[i];
	if (row->step_ns == SB_NULL || most <= sb_add_sat(row->step_ns, row->step_ns / 10))
		return;
	warnings_add(
	    warnings, "contradiction", c->source ? c->source : "", 0, -1,
	    "Step %lld takes %lld us by one file, and a part of it %lld us by another: the files are of "
	    "different runs, or one is damaged.",
	    (long long)row->step, (long long)(row->step_ns / 1000), (long long)(most / 1000));
}

void row_of_csv(const struct capture *c, const struct step_trace *s, struct warnings *warnings,
                struct breakdown_row *row)
{
	int64_t communication = row->communication_ns;

	warn_rounded(c, warnings);
	fill(s, warnings, c->source ? c->source : "", row);
	row->communication_ns = known(row->communication_ns, communication);
	check_length(c, row, warnings);
}

/* The whole capture from the CSV: what lies in one step each can be added, the span between steps is not
 * known. */
void capture_of_csv(const struct capture *c, struct warnings *warnings, struct breakdown_row *row)
{
	const char *source = c->source ? c->source : "";

	warn_rounded(c, warnings);
	fill(&c->step_traces[0], warnings, source, row);
	for (size_t i = 1; i < c->step_trace_count; i++) {
		struct breakdown_row next = *row;

		fill(&c->step_traces[i], warnings, source, &next);
		row->compute_ns = plus(row->compute_ns, next.compute_ns);
		row->exposed_ns = plus(row->exposed_ns, next.exposed_ns);
		row->communication_ns = plus(row->communication_ns, next.communication_ns);
		row->overlap_ns = plus(row->overlap_ns, next.overlap_ns);
		row->bubble_ns = plus(row->bubble_ns, next.bubble_ns);
		row->span_ns = row->busy_ns = row->free_ns = row->preparing_ns = SB_NULL;
	}
}
