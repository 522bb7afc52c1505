#ifndef SB_PROFILER_READ_CHROME_H
#define SB_PROFILER_READ_CHROME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/profile.h"
#include "profiler/read/json.h"
#include "profiler/read/reader.h"

/* Walks a document in Chrome's trace-event format: an object with "traceEvents" or a bare array of events.
 * Tolerates what real files do wrong and says so in warnings (truncated, broken_event, broken_metadata,
 * bad_value, control_character, trailing_comma, long_text, bad_utf8, bad_escape, big_integer, duplicate_key,
 * not_an_event): each once a file, with its count and the offset of the first. */

/* A value of an event. Numbers are kept as they stand in the file. Valid until the next chrome_next(). */
struct chrome_text {
	const char *text; /* NUL-terminated; "" when not usable */
	size_t len;
	enum jpull_token token; /* JPULL_END: the key is not there. JPULL_OBJECT and JPULL_ARRAY: a container,
	                           whose text is not kept */
};

enum chrome_time { CHROME_TIME_MISSING, CHROME_TIME_OK, CHROME_TIME_BAD };

#define CHROME_ARGS_MAX 32

struct chrome_event {
	char ph; /* 0 = missing */
	struct chrome_text name, cat, pid, tid, id;
	enum chrome_time ts, dur;
	int64_t ts_ns,
	    dur_ns; /* exact: "ts" and "dur" are decimal microseconds, number or text; 0 unless OK */
	struct chrome_text args[CHROME_ARGS_MAX]; /* in the order of chrome_options.args */
	int64_t offset;                           /* of the event in the (inflated) file */
};

struct chrome_options {
	const char *const
	    *args;      /* wanted members of "args", ends with NULL; at most CHROME_ARGS_MAX. NULL: none
	                 */
	uint32_t lists; /* bit i: where args[i] is a list, its text is kept, as [1,[2,"a"]], if it is short */
	void *self;     /* for the two calls below */
	/* Optional: true when the args of this event are of no interest, so that they are only skipped. Sees
	 * what came before "args" in the event (name and cat, as a rule; JPULL_END where not yet). */
	bool (*skip_args)(void *self, const struct chrome_event *e);
	/* Optional: a member of the top-level object other than traceEvents. Either reads the whole value
	 * from j and sets *out_read to true, or touches nothing. key is valid until it reads. */
	int (*member)(void *self, struct jpull *j, const char *key, size_t len, bool *out_read,
	              struct sb_error *err);
};

struct chrome_counts {
	uint64_t events; /* delivered */
	uint64_t lost;   /* broken events that were left out */
	bool cut;        /* the file ended too early */
};

struct chrome;
/* Starts a walk. in, warnings and what options point to are borrowed. SB_ENOMEM. */
int chrome_open(struct stream *in, struct warnings *warnings, const struct chrome_options *options,
                struct chrome **out);
void chrome_close(struct chrome **c);
#define CHROME_AUTO __attribute__((cleanup(chrome_close))) struct chrome *
/* The next event, in the order of the file; NULL in *out_event at the end, when the warnings have been
 * written and every member was given out. Empty events ({}) are passed over. SB_EFORMAT: "empty" (nothing in
 * the file), "not_a_trace" (no object with traceEvents, no list of events), "bad_json" (broken before the
 * first event), "too_deep"; errors of the stream but for a cut: that is a warning. */
int chrome_next(struct chrome *c, const struct chrome_event **out_event, struct sb_error *err);
const struct chrome_counts *chrome_counts(const struct chrome *c);

/* Warns of an event, at its place in the file. */
void chrome_warn(struct read_context *ctx, const struct stream *in, const struct chrome_event *e,
                 const char *code, const char *text);
/* Integer value of a text (number or quoted number), or SB_NULL. */
int64_t chrome_int(const struct chrome_text *t);
/* Does the text equal a NUL-terminated one? */
bool chrome_is(const struct chrome_text *t, const char *text);
/* Do the first bytes hold an event with one of Kineto's categories of work on a device or of calls of its
 * driver? Ascend's events of those kinds have no category. */
bool kineto_has_work(const struct sniff *s);
#endif
