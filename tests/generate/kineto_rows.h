#ifndef SB_TESTS_GENERATE_KINETO_ROWS_H
#define SB_TESTS_GENERATE_KINETO_ROWS_H
#include "tests/generate/kineto.h"
#include "tests/generate/out.h"

enum {
	KINETO_PID = 41007,
	KINETO_MAIN = 41007,
	KINETO_AUTOGRAD = 41388,
	KINETO_STREAM = 7,
	KINETO_LINK = 20,
	KINETO_EXCHANGE = 24,
	KINETO_SIDE = 28,
	KINETO_RECORD = 80000000, /* correlations of the calls that record events and wait for them */
	KINETO_WAIT = 90000000,
	KINETO_GRAPH = 70000000 /* correlation of the first step's graph */
};

/* Bytes of the device's memory: all, what the framework holds, and what it has given out after the index-th
 * unit. */
#define KINETO_CAPACITY INT64_C(85024112640)
#define KINETO_RESERVED INT64_C(47244640256)
int64_t kineto_allocated(int64_t index);

struct writer {
	struct out *out;
	const struct kineto_options *o;
	const struct kineto_rank *r;
	int64_t left; /* events still to be written */
	bool begun;   /* a row was written already: the next needs a comma */
};

int64_t kineto_correlation(const struct unit *u, int64_t index);
/* The stream that a unit runs on. */
int64_t kineto_stream(const struct unit *u);
int64_t kineto_device(const struct kineto_rank *r);
/* The ranks of a group, without the brackets. */
void kineto_ranks(struct out *out, const struct kineto_group *g);
/* Ranks of the job: a single rank is one of eight. */
int64_t kineto_world(const struct kineto_options *o);
/* Starts a row up to its name; cat may be "". */
void row_begin(struct writer *w, const char *ph, const char *cat, const char *name);
/* The comma, the brace and the count of a row that is written by hand. */
void row_open(struct writer *w);
/* A point in time in the dialect's form. */
void row_time(struct writer *w, int64_t ns);
void row_dur(struct writer *w, int64_t ns);
/* A complete event up to the first of its args. */
void row_span(struct writer *w, const char *cat, const char *name, int64_t pid, int64_t tid, int64_t start,
              int64_t dur);
/* Ends args and row. */
void row_close(struct writer *w);

/* index is the unit's place in the rank: ids come from it. */
void rows_operator(struct writer *w, const struct unit *u, int64_t index, bool named);
void rows_launch(struct writer *w, const struct unit *u, int64_t index);
/* The calls by which streams wait for one another, and what CUPTI says of them. */
void rows_events(struct writer *w, const struct unit *u, int64_t index);
/* Rows that these are. */
int64_t kineto_event_rows(const struct unit *u);
void row_memory(struct writer *w, const struct unit *u, int64_t index);
/* Is the Python stack around the unit recorded? Of the fault that it explains only: a capture with all stacks
 * has a slow host. */
bool kineto_has_stack(const struct kineto_options *o, const struct unit *u);
/* A frame of the Python stack around the operator; depth 0 is the innermost. */
void row_frame(struct writer *w, const struct unit *u, int64_t id, int64_t depth);
#endif
