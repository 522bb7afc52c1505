#ifndef SB_PROFILER_READ_ASCEND_KIND_H
#define SB_PROFILER_READ_ASCEND_KIND_H
#include "profiler/read/chrome.h"

/* What an event of trace_view.json is. Its lane decides, but the lane's name may come after the event, so an
 * event gets a first kind from itself, and the final one at the end of the file. */

enum ascend_process {
	ASCEND_PROCESS_UNKNOWN, /* no process_name was given */
	ASCEND_PROCESS_HOST,    /* Python, MindSpore */
	ASCEND_PROCESS_CANN,
	ASCEND_PROCESS_HARDWARE,
	ASCEND_PROCESS_COMMUNICATION, /* HCCL, Communication */
	ASCEND_PROCESS_OVERLAP,
	ASCEND_PROCESS_OTHER /* counters and what is not known */
};

/* Members of args that the reader asks for: indices into chrome_event.args. */
enum ascend_arg {
	ARG_TASK_TYPE,
	ARG_CONNECTION,
	ARG_DATA_SIZE,
	ARG_DIRECTION,
	ARG_PLANE_TASK,
	ARG_TRANSPORT,
	ARG_LINK,
	ARG_SIZE,
	ARG_COUNT,
	ARG_DATA_TYPE,
	ARG_LEVEL,
	ARG_NAME,
	ARG_LABELS,
	ARG_MHZ, /* of the clock's counter */
	ARG_STACK,
	ARG_COUNT_OF
};
extern const char *const ASCEND_ARGS[ARG_COUNT_OF + 1];

enum ascend_process ascend_process_of(const char *name);
/* A row of a stream by its task type and name. What is not known to compute is not counted as work: the tasks
 * of a collective appear here a second time, under the types of its transfers. */
enum event_kind ascend_hardware_kind(const char *type, const char *name);
/* What the event says about itself. */
enum event_kind ascend_first_kind(const struct chrome_event *e);
/* The final kind, from the first one, the event's name and its lane. */
enum event_kind ascend_final_kind(enum event_kind first, const char *name, enum ascend_process process,
                                  const char *thread);
/* Bytes of `count` elements of a data type of the collective library; SB_NULL when unknown. */
int64_t ascend_data_bytes(int64_t count, const char *type);
/* What the name of a collective tells, hcom_allReduce__586_0_1: operator, last digits of the group, number
 * inside the group, iteration. Fills type, group and sequence of *d. SB_ENOMEM, SB_ELIMIT. */
int ascend_collective(struct sb_strings *strings, const char *name, struct event_detail *d);
/* The length of the pipe's name in a counter's name such as aic_mac_ratio, aiv_mte2_ratio (without prefix on
 * old chips, mac_exe_ratio there too): without "_ratio". 0 when it is no ratio of a pipe: other ratios (fp16
 * share, cache misses) are none. */
size_t ascend_pipe_name(const char *text, size_t len);
#endif
