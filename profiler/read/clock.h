#ifndef SB_PROFILER_READ_CLOCK_H
#define SB_PROFILER_READ_CLOCK_H
#include <stdbool.h>

#include "profiler/profile.h"

/* Jumps of a clock: times more than a day from the others. One of them would make the span of the whole
 * capture. Readers show each span with its place while they read, and ask at the end of the file what cannot
 * be right: those more than a day from the median of their side (host or device). Left out is less than half
 * of a side, and a tenth of it at most (but one span in any case): more than that is no slip of a clock, and
 * is only told. */

/* Where the spans of a file lie. All zero: none yet. */
struct clock_range {
	const char *table; /* the present one of a database: static text; NULL elsewhere */
	size_t count;
	int64_t first, last;       /* the earliest start, the latest end */
	int64_t first_at, last_at; /* their places: byte, line or row */
	const char *first_table, *last_table;
	int64_t first_positive; /* the smallest start above 0 */
	int64_t zero_at;        /* of the first span that starts at exactly 0 */
	bool zero;              /* there is one */
};

static inline void clock_see(struct clock_range *r, int64_t start, int64_t dur, int64_t at)
{
	int64_t end = sb_add_sat(start, dur > 0 ? dur : 0);

	if (r->count == 0 || start < r->first) {
		r->first = start;
		r->first_at = at;
		r->first_table = r->table;
	}
	if (r->count == 0 || end > r->last) {
		r->last = end;
		r->last_at = at;
		r->last_table = r->table;
	}
	if (start == 0 && !r->zero) {
		r->zero = true;
		r->zero_at = at;
	}
	if (start > 0 && (r->first_positive == 0 || start < r->first_positive))
		r->first_positive = start;
	r->count++;
}

/* What the places of a file are, and where to tell. */
enum clock_unit { CLOCK_BYTE, CLOCK_LINE, CLOCK_ROW };
struct clock_file {
	struct warnings *warnings;
	const char *path;
	enum clock_unit unit;
	bool of_steps; /* a table of steps: they are what is judged */
	bool clamps;   /* the writer sets to 0 what began before its base: left out, too, when all else starts
	                  more than a minute later */
};

/* Host and device may have clocks of their own. */
enum clock_side { CLOCK_HOST, CLOCK_DEVICE, CLOCK_SIDES };
struct clock_judge {
	int64_t centre[CLOCK_SIDES];
	bool drop[CLOCK_SIDES];
	bool clamped; /* what starts at exactly 0 does not belong there */
};

/* Judges a trace whose spans were all shown to r and have not been moved since, and warns (clock_jump) with
 * the place of the farthest span. True: something is to be left out, and *out tells what. */
bool clock_judge_trace(const struct trace *t, const struct clock_range *r, const struct clock_file *f,
                       struct clock_judge *out);
/* Is a time to be left out? */
bool clock_is_out(const struct clock_judge *j, enum clock_side side, int64_t start, int64_t dur);
/* … the event i of the trace? */
bool clock_event_is_out(const struct clock_judge *j, const struct trace *t, size_t i);
/* Take out what is to be left out; the order of the rest stays. */
void clock_drop_events(const struct clock_judge *j, struct trace *t);
void clock_drop_steps(const struct clock_judge *j, struct step *steps, size_t *count);
/* All of this for a capture that one file has filled: judged by its events, else by its kernels. */
void clock_settle(struct capture *c, const struct clock_range *r, const struct clock_file *f);
#endif
