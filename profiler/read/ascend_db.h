#ifndef SB_PROFILER_READ_ASCEND_DB_H
#define SB_PROFILER_READ_ASCEND_DB_H
#include "profiler/read/ascend.h"
#include "profiler/read/database.h"
#include "profiler/read/id_map.h"

/* Parts of the reader of the databases that msprof, torch_npu and MindSpore export (research page
 * ascend-formats 1.13). Times are ns, sizes bytes, texts numbers of STRING_IDS or of an ENUM_ table. They are
 * read into the same rows and events as the text files, so that all that follows is the same. */

extern const struct database_format ASCEND_PROFILER_DATABASE;  /* ascend_pytorch_profiler_*.db, msprof_*.db */
extern const struct database_format ASCEND_ANALYSIS_DATABASE;  /* analysis.db, communication_analyzer.db */
extern const struct database_format CLUSTER_ANALYSIS_DATABASE; /* cluster_analysis.db */

/* The key of the capture that a database belongs to, as ascend_key() and msprof_key() give it for text. */
void db_capture_key(const char *path, enum capture_format format, char *out, size_t size);

/* Where a number stands for a text. Exporters without an ENUM_ table write numbers of STRING_IDS. */
enum db_names {
	NAMES_STRING,
	NAMES_API,
	NAMES_DATA_TYPE,
	NAMES_TRANSPORT,
	NAMES_LINK,
	NAMES_MEMCPY,
	NAMES_COUNT
};

/* The processes of the timeline, named as trace_view.json names them. */
enum db_process { DB_HOST, DB_CANN, DB_GC, DB_MSTX, DB_HARDWARE, DB_GROUP, DB_PLANE, DB_PROCESS_COUNT };

/* One database on its way into one capture. */
struct ascend_db {
	struct read_context *ctx;
	struct database *db;
	struct sb_error *err;
	struct capture *cap;
	enum capture_format format;
	int64_t device;                     /* the NPU of the capture; SB_NULL = rows of any */
	bool many_devices;                  /* the database holds others too */
	bool named[NAMES_COUNT];            /* the table is there */
	struct id_map ids;                  /* several maps in one: see db_map */
	uint32_t process[DB_PROCESS_COUNT]; /* text ids */
	struct clock_range range;
	uint32_t group_count; /* communication groups seen so far */
	struct {
		enum db_process process;
		int64_t number;
		uint32_t lane;
		bool set;
	} last; /* the lane of the event before, which mostly is that of the next */
};

/* The maps inside ascend_db.ids; the names of db_names come first. */
enum db_map { MAP_LANE = NAMES_COUNT, MAP_GROUP = MAP_LANE + DB_PROCESS_COUNT, MAP_API, MAP_COLLECTIVE };
/* A number up to 64 bits in one of the maps. */
struct id_key db_key(int64_t id, unsigned map);

/* Reads STRING_IDS and the ENUM_ tables. Texts lose the quotes around them; N/A is no text. */
int db_names_load(struct ascend_db *r);
/* The text id of a number, 0 when there is no such text. */
uint32_t db_name(const struct ascend_db *r, enum db_names names, int64_t id);
/* … the text itself, "" when there is none. */
const char *db_text(const struct ascend_db *r, enum db_names names, int64_t id);
/* The text id of a text of ours. */
int db_add_text(struct ascend_db *r, const char *text, uint32_t *out_id);

/* `column` where the table has it, else "NULL", for the list of a SELECT. */
const char *db_column(struct ascend_db *r, const char *table, const char *column);
/* A WHERE clause that keeps the rows of the capture's device, "" where there is only one or no such column.
 */
void db_where(struct ascend_db *r, const char *table, char *out, size_t size);
/* Start and duration from the first two columns of a row. False when the row cannot be used, with a warning;
 * a row that ends before it starts lasts 0, with a warning. table is static text. */
bool db_times(struct ascend_db *r, const struct database_rows *rows, const char *table, int64_t *out_start,
              int64_t *out_dur);
/* Adds an event to the lane of a process: its stream, thread, group, or group and plane (group << 32 |
 * plane). d may be NULL; its `event` is set here. */
int db_event(struct ascend_db *r, enum db_process process, int64_t number, struct event *e,
             struct event_detail *d);
/* A connection between launch and device work, -1 for none. */
int64_t db_link(int64_t connection);
/* Turns a code of memory or limits into an error that names the file. */
int db_fail(struct ascend_db *r, int rc);

/* Rows of one table by their task: globalTaskId, and where the row went. */
struct task_index {
	struct task_key {
		int64_t task;
		uint32_t at;
	} * items;
	size_t count, next;
};
int task_index_add(struct task_index *x, int64_t task, uint32_t at);
/* Sorts and drops repeated tasks: the first row stays. Returns how many were dropped. */
size_t task_index_sort(struct task_index *x);
/* Tables mostly go by task, so the neighbour of the last found is looked at first. */
bool task_index_find(struct task_index *x, int64_t task, uint32_t *out_at);
void task_index_free(struct task_index *x);

/* TASK with COMPUTE_TASK_INFO and COMMUNICATION_TASK_INFO: kernels and the hardware lanes. */
int db_read_tasks(struct ascend_db *r);
/* COMPUTE_TASK_INFO: kernels still without a time (start is SB_NULL), found by task. */
int db_read_compute(struct ascend_db *r, struct task_index *kernels);
/* TASK_PMU_INFO: the largest pipe ratio of each kernel, its operations and bytes. */
int db_read_counters(struct ascend_db *r, struct task_index *kernels);
/* AICORE_FREQ: the clock of the cores. */
int db_read_clocks(struct ascend_db *r);
/* COMMUNICATION_OP: kernels and the group lanes. */
int db_read_collectives(struct ascend_db *r);
/* The number of a communication group, by first appearance of its name's number. SB_ENOMEM. */
int db_group(struct ascend_db *r, int64_t name, uint32_t *out_group);
/* Drops the kernels without a time, and puts the others in the order of kernel_details.csv. */
void db_order_kernels(struct ascend_db *r);
/* MEMORY_RECORD, OP_MEMORY, NPU_MODULE_MEM: series of memory and allocations. */
int db_read_memory(struct ascend_db *r);
/* The call stacks of those operators whose stacks are kept (call_stack.h). */
struct db_stacks {
	int64_t *chains; /* numbers of the stacks, rising */
	size_t chain_count;
	struct db_frame {
		int64_t chain, depth; /* 0 = the innermost */
		uint32_t name;
	} * frames; /* by chain and depth */
	size_t frame_count;
};
/* Reads the stacks that `table` (of operators) refers to; none where the database has none. */
int db_stacks_load(struct ascend_db *r, const char *table, struct db_stacks *out);
/* Is the stack of an operator of this name kept? */
bool db_stack_wanted(const struct ascend_db *r, uint32_t name);
/* A stack as trace_view.json writes it: the innermost frame first. *out_text stays when there is none. */
int db_stack_text(struct ascend_db *r, const struct db_stacks *s, int64_t chain, uint32_t *out_text);
void db_stacks_free(struct db_stacks *s);
/* CANN_API, PYTORCH_API, GC_RECORD, MSTX_EVENTS: host lanes, sums by API, steps where STEP_TIME has none. */
int db_read_host(struct ascend_db *r);
#endif
