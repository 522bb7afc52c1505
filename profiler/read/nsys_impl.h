#ifndef SB_PROFILER_READ_NSYS_IMPL_H
#define SB_PROFILER_READ_NSYS_IMPL_H
#include "profiler/read/clock.h"
#include "profiler/read/database.h"
#include "profiler/read/id_map.h"

/* Inside of the reader of Nsight Systems exports: the files nsys*.c only.
 * Tables and columns come and go with the version of the exporter, so all are looked up by name. Times are
 * ns since the start of the session. A globalTid is pid * 2^24 + tid below a number of the machine. */

/* What was tolerated, over all tables: the first place is told. */
enum nsys_flaw {
	NSYS_BAD_TIME,   /* no readable start or end */
	NSYS_NO_TIME,    /* start and end 0: "could not be collected" (CUPTI) */
	NSYS_NEGATIVE,   /* ends before it starts */
	NSYS_OPEN_RANGE, /* an annotation that never ended */
	NSYS_NO_NAME,    /* an id that StringIds does not hold */
	NSYS_FLAW_COUNT
};

/* A text of StringIds, and what became of it. */
struct nsys_text {
	int64_t id;
	uint32_t text;             /* in nsys.texts */
	uint32_t plain, versioned; /* in the trace, as it is and without a version; 0 = not used yet */
	int8_t collective;         /* -1 = not looked at yet */
};

/* A training step, as an annotation told it. */
struct nsys_step {
	int64_t number, start_ns, end_ns;
	uint32_t event; /* its range */
};

/* Ways to name the range of a step: the first one that occurs is used. */
enum nsys_family { NSYS_PROFILER_STEP, NSYS_ITERATION, NSYS_STEP, NSYS_FAMILIES };

struct nsys_steps {
	struct nsys_step *items;
	size_t count;
};

struct nsys {
	struct read_context *ctx;
	struct database *db;
	const char *path;
	struct trace trace;
	int64_t event_count, base_ns, last_end;
	struct sb_strings *texts;
	struct nsys_text *names; /* by id */
	size_t name_count;
	struct id_map processes; /* pid → text */
	struct id_map threads;   /* tid, pid → text */
	struct id_map device_lanes, host_lanes;
	struct nsys_record *records; /* of events, by what waits name them by */
	size_t record_count;
	struct nsys_steps steps[NSYS_FAMILIES];
	struct clock_range range;
	struct {
		uint64_t count;
		char table[48];
		int64_t row; /* from 1 */
	} flaws[NSYS_FLAW_COUNT];
};

/* Where a row stands: for flaws. */
struct nsys_row {
	struct nsys *n;
	const struct database_rows *cells;
	const char *table;
	int64_t row;
	struct event span; /* start and duration are filled in; -1 = open */
};

/* A table of spans: the first two columns are start and end, then those that `take` asks for; one that the
 * table does not have reads as NULL. */
struct nsys_table {
	const char *name;
	const char *const *columns;                        /* ends with NULL */
	bool (*wanted)(const struct database_rows *cells); /* NULL: all */
	int (*take)(struct nsys_row *r);
	bool open_ends; /* an end of NULL is none, not a flaw */
};

/* nsys_rows.c */
/* The table of this name, or of the name with the highest suffix _V2 … _V9; NULL when there is none. */
const char *nsys_find(struct database *db, const char *name, char *out, size_t size);
/* Selects columns of the table that nsys_find() finds, in its own order; a column that is not there is NULL.
 * *out stays NULL when there is no such table. */
int nsys_select(struct database *db, const char *table, const char *const *columns,
                struct database_rows **out, struct sb_error *err);
/* Takes all spans of a table, if it is there. */
int nsys_spans(struct nsys *n, const struct nsys_table *t, struct sb_error *err);
void nsys_note(struct nsys_row *r, enum nsys_flaw flaw);
/* Adds the warnings of all flaws. */
void nsys_report(struct nsys *n);
/* Appends the span, and remembers where the trace ends. */
int nsys_append(struct nsys_row *r);

/* nsys_names.c */
int nsys_read_names(struct nsys *n, struct sb_error *err);
/* The text of column i: the text itself, or one of StringIds by its id. *out_text may be NULL when only the
 * id of the trace is wanted. */
int nsys_name(struct nsys_row *r, int i, bool versioned, uint32_t *out_id, struct nsys_text **out_text);
void nsys_names_free(struct nsys *n);
/* The pid of a globalTid or globalPid; 0 when unknown. */
uint32_t nsys_pid(int64_t global);
/* Lanes of a device's stream and of a thread. */
int nsys_device_lane(struct nsys *n, int64_t device, int64_t stream, int64_t global_pid, uint32_t *out_lane);
int nsys_host_lane(struct nsys *n, int64_t global_tid, uint32_t *out_lane);
/* What the lane of a device's stream is called. SB_ENOMEM. */
int nsys_stream_name(struct nsys *n, int64_t stream, int64_t global_pid, uint32_t *out_name);

/* nsys_waits.c */
/* What a row says of the event that it waits for; SB_NULL = nothing. */
struct nsys_wait {
	int64_t event_id, sync_id, context, correlation;
};
/* Reads the records of events, if they are there. Call before waits are added. */
int nsys_read_records(struct nsys *n, struct sb_error *err);
/* Notes for the row appended last which record it waits for, where that is known. SB_ENOMEM. */
int nsys_add_wait(struct nsys *n, int64_t global_pid, const struct nsys_wait *w);
/* Makes links of the records' correlations, once the rows have their processes. */
void nsys_link_waits(struct trace *t);

/* nsys_device.c, nsys_host.c */
int nsys_read_device(struct nsys *n, struct sb_error *err);
int nsys_read_host(struct nsys *n, struct sb_error *err);
/* Process and correlation as one number, -1 = none. */
int64_t nsys_link(int64_t global, int64_t correlation);

/* nsys_steps.c */
/* Notes a range if its name is that of a step. */
int nsys_see_step(struct nsys *n, const char *name, const struct event *span, uint32_t event);
/* Forgets the ranges that are to be left out, before they are; the others' indexes become those of then. */
void nsys_drop_steps(struct nsys *n, const struct clock_judge *j);
/* Makes the capture's steps of them. SB_ENOMEM. */
int nsys_make_steps(struct nsys *n, struct step **out, size_t *out_count);
void nsys_steps_free(struct nsys *n);

/* nsys_memory.c */
/* The series of memory of all devices. */
int nsys_read_memory(struct nsys *n, struct capture *c, struct sb_error *err);

/* nsys_links.c */
/* In a container the pid of a kernel's row may differ from that of the call that launched it. Gives such
 * device rows the process of the host with which they share most correlations. SB_ENOMEM. */
int nsys_match_processes(struct trace *t);

/* nsys_collectives.c */
/* NCCL sends, receives and exchanges with all by one kernel. The range in which it was launched tells which
 * it was: NCCL marks its calls itself ("ncclRecv"), and PyTorch its own ("nccl:recv 1<-0"). SB_ENOMEM. */
int nsys_name_collectives(struct trace *t);
#endif
