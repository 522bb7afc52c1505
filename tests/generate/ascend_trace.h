#ifndef SB_TESTS_GENERATE_ASCEND_TRACE_H
#define SB_TESTS_GENERATE_ASCEND_TRACE_H
#include "tests/generate/ascend.h"
#include "tests/generate/out.h"

/* Processes of the trace: the host's id times 1024 and a number for the kind, as the exporter builds them. */
enum { HOST_PID = 3100412, DEQUEUE_TID = 3100955 };
#define CANN_PID (HOST_PID * INT64_C(1024) + 96)
#define DEVICE_PID (HOST_PID * INT64_C(1024) + 288)
#define FREQUENCY_PID (HOST_PID * INT64_C(1024) + 320)
#define LINK_PID (HOST_PID * INT64_C(1024) + 352)
#define MEMORY_PID (HOST_PID * INT64_C(1024) + 416)
#define GARBAGE_PID (HOST_PID * INT64_C(1024) + 480)
#define OVERLAP_PID (HOST_PID * INT64_C(1024) + 608)

struct trace_writer {
	struct out *out;
	const struct ascend_options *o;
	const struct ascend_rank *r;
	int64_t rows;
	const char *dims;  /* of the operator that is being written, or NULL */
	const char *stack; /* its call stack; NULL = that of any operator */
	bool msprof;       /* without the framework */
	bool old;          /* times as numbers */
	int64_t shift;     /* ns between the epoch and the clock that the file counts by */
};

/* "ts" and its value. */
void trace_time(struct trace_writer *w, int64_t ns);
/* The comma before a row and its brace. */
void trace_row(struct trace_writer *w);
/* A complete event up to its args. */
void trace_span(struct trace_writer *w, const char *name, int64_t pid, int64_t tid, int64_t start,
                int64_t dur);
/* A call into CANN; item is its item_id. */
void trace_cann(struct trace_writer *w, const char *name, const char *level, const char *item, int64_t id,
                int64_t tid, int64_t start, int64_t dur);
/* Collections, compilations, calls for memory, and copies. */
void trace_other_work(struct trace_writer *w);
/* The clock of the cores, and the memory that is taken. */
void trace_counters(struct trace_writer *w);
/* Names of all processes and threads. */
void trace_names(struct trace_writer *w);
#endif
