#ifndef SB_PROFILER_READ_ASCEND_H
#define SB_PROFILER_READ_ASCEND_H
#include "base/grow.h"
#include "profiler/read/clock.h"
#include "profiler/read/csv.h"
#include "profiler/read/json.h"
#include "profiler/read/reader.h"

/* What the readers of Ascend's text captures share. Layout and traps: research page ascend-formats, sections
 * 0 and 1. */

extern const struct format_reader ASCEND_TRACE_READER;           /* trace_view.json */
extern const struct format_reader ASCEND_KERNELS_READER;         /* kernel_details.csv */
extern const struct format_reader ASCEND_STEPS_READER;           /* step_trace_time.csv */
extern const struct format_reader ASCEND_OP_STATISTIC_READER;    /* op_statistic.csv */
extern const struct format_reader ASCEND_API_STATISTIC_READER;   /* api_statistic.csv */
extern const struct format_reader ASCEND_COMMUNICATION_READER;   /* communication.json */
extern const struct format_reader ASCEND_MEMORY_READER;          /* memory_record.csv */
extern const struct format_reader ASCEND_MODULE_MEMORY_READER;   /* npu_module_mem.csv */
extern const struct format_reader ASCEND_MEMORY_USAGE_READER;    /* npu_mem.csv */
extern const struct format_reader ASCEND_OPERATOR_MEMORY_READER; /* operator_memory.csv */
extern const struct format_reader ASCEND_INFO_READER;            /* profiler_info_*.json */
extern const struct format_reader ASCEND_METADATA_READER;        /* profiler_metadata.json */

/* Scores of sniff(): the content says so; the content fits and the path agrees; only the path says so. */
enum { SNIFF_NO = 0, SNIFF_PATH = 30, SNIFF_CONTENT = 80, SNIFF_SURE = 95 };

/* The last part of a path. */
const char *path_base(const char *path);
/* The number from 0 on that these digits are, with `end` right behind them; SB_NULL when that is not so. */
int64_t path_number(const char *digits, char end);
/* Does the last part of the path begin with `stem` and end with `suffix`, ".gz" aside? */
bool path_is(const char *path, const char *stem, const char *suffix);
/* The length of the path through its last *_ascend_pt or *_ascend_ms directory; 0 when there is none. */
size_t ascend_directory(const char *path);
/* Is the file raw data inside a capture directory (FRAMEWORK, logs, PROF_* but for what msprof exported)? */
bool ascend_raw_path(const char *path);
/* The key of the capture that a file belongs to, NUL-terminated in out: the path of its *_ascend_pt (or
 * *_ascend_ms) directory; else the directory around ASCEND_PROFILER_OUTPUT; else, for a file with one of the
 * exporter's own names, its directory ("." at the root); else the file itself. */
void ascend_key(const char *path, char *out, size_t size);
/* The capture of the file that `in` reads. */
int ascend_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                   struct sb_error *err);

/* Does the first record of a text file hold all these columns? names ends with NULL. */
bool sniff_columns(const struct sniff *s, const char *const *names);
/* Is the first record one of data: at least four fields, two of them numbers? */
bool sniff_no_header(const struct sniff *s);
/* The first byte that is no blank, 0 when there is none. */
char sniff_first(const struct sniff *s);
/* Does the first key of an object, or the first text of a list, begin with this text? */
bool sniff_key(const struct sniff *s, const char *begin);
/* Does the head hold this text? */
bool sniff_has(const struct sniff *s, const char *text);

/* Opens a CSV file and keeps its header. SB_EFORMAT "no_header" when one of `needed` (ends with NULL) is
 * missing and the first row holds data, else "missing_column". */
int ascend_csv_open(struct stream *in, const char *const *needed, struct csv **out, struct sb_error *err);
/* Warns of columns of the header, which is the present record, that are not known, and of those that stand
 * there twice: once a file each. Counters may be called anything. */
enum ascend_table { ASCEND_KERNELS, ASCEND_STEPS, ASCEND_OPERATORS, ASCEND_APIS };
void ascend_columns(struct read_context *ctx, const struct csv *c, const struct stream *in,
                    enum ascend_table table);
/* The next whole row; false in *out_more at the end. Short rows are left out with a warning, a file that
 * breaks off ends with one. */
int ascend_csv_row(struct read_context *ctx, struct csv *c, const struct stream *in, bool *out_more,
                   struct sb_error *err);
/* Warns of a value of the present row that cannot be used, or that has lost its digits. */
void ascend_bad_value(struct read_context *ctx, const struct csv *c, const struct stream *in,
                      const char *column, const char *what);
/* Adds the present row of step_trace_time.csv, or of a table with its columns, to the step traces. SB_ENOENT:
 * a value is missing or cannot be, *out_column names it, and nothing is added. SB_ENOMEM. */
int ascend_step_row(struct capture *cap, const struct csv *c, const char **out_column);
/* The column of a time below zero, which no step can have; NULL when there is none. Stage may be: it is what
 * Bubble, a sum of operators that may run side by side, leaves of the step (research page, 1.1). */
const char *ascend_step_negative(const struct step_trace *t);
/* Warns when the parts of the row added last contradict each other by more than `tolerance` ns. */
void ascend_step_check(struct read_context *ctx, const struct csv *c, const struct stream *in,
                       const struct capture *cap, int64_t tolerance);
/* Adds a field as a string of the capture; N/A and a column of -1 are id 0. Quotes around it are taken off.
 * SB_ENOMEM; SB_ELIMIT as sb_strings_add(). */
int ascend_text(struct capture *cap, const struct csv *c, int column, uint32_t *out_id);
/* The same, faster when the field holds the text of the id `like`. */
int ascend_text_like(struct capture *cap, const struct csv *c, int column, uint32_t like, uint32_t *out_id);
/* As csv_us(), but SB_EINVAL for a time that has lost its digits. */
int ascend_exact_us(const struct csv *c, int column, int64_t *out_ns);
/* Microseconds of the present row that it is of no use without: false, with a warning, when they are missing,
 * no number, or have lost their digits. */
bool ascend_time(struct read_context *ctx, const struct csv *c, const struct stream *in, int column,
                 const char *name, int64_t *out_ns);
/* Looks for jumps of the clock in a table (of steps, or not) that has been read, the times of which r has
 * seen line by line. */
void ascend_table_clock(struct read_context *ctx, const struct stream *in, struct capture *cap,
                        const struct clock_range *r, bool of_steps);
/* A time was written with too few digits to be one (a spreadsheet's 1.69512E+15). */
bool ascend_precision_lost(const char *text, size_t len);

/* Walks the members of an object: true while there is a next one, with its key in *out_key (valid until the
 * next token). *more is what object_enter() gave; *rc holds the result of the body of the loop and ends it
 * when it is an error, then as jpull_next() gives it. */
bool object_member(struct jpull *j, int *rc, bool *more, struct jpull_value *out_key, struct sb_error *err);
/* The next token must be the beginning of an object; anything else is skipped, and *out_is false. */
int object_enter(struct jpull *j, bool *out_is, struct sb_error *err);
/* Skips the next value, whatever it is. */
int value_skip(struct jpull *j, struct sb_error *err);
/* The next value when it is a number or a text; anything else is skipped and leaves *out_text empty. The text
 * is valid until the next token. */
int value_scalar(struct jpull *j, const char **out_text, size_t *out_len, struct sb_error *err);
/* Is the key this text? */
bool key_is(const struct jpull_value *key, const char *text);
/* The end of a JSON file that broke off or is broken: a warning when something was read before, else the
 * error as it is. */
int ascend_json_end(struct read_context *ctx, const struct stream *in, int rc, bool any,
                    const struct sb_error *got, struct sb_error *err);

/* The next value is parallel_group_info of profiler_metadata.json: what each group is for, and the stage of
 * the pipeline. Errors as of jpull_next(); SB_ENOMEM. */
int ascend_groups(struct jpull *j, struct capture *cap, struct sb_error *err);
/* The next value is ENV_VARIABLES of profiler_metadata.json: name → value. Errors as of jpull_next();
 * SB_ENOMEM. */
int ascend_environment(struct jpull *j, struct capture *cap, struct sb_error *err);
/* Once all files of a capture are there: steps that only the tables know, order, and string ids that do not
 * depend on the order in which the files were read. */
int ascend_finish(struct read_context *ctx, struct capture *c, struct sb_error *err);
/* Drops work of the device that was written twice, and warns with how much: same stream, start, duration and
 * name. Rows of no length are left alone. SB_ENOMEM. */
int ascend_drop_repeated(struct read_context *ctx, struct capture *c);
/* Drops all rows of a step in the step table but the first, and warns with how many. SB_ENOMEM. */
int ascend_drop_repeated_steps(struct read_context *ctx, struct capture *c);
/* Of captures as the files brought them: a database of events that is the only one in its folder, where other
 * files have a capture of that folder, gets its key and so becomes a part of it. SB_ENOMEM, SB_ELIMIT. */
int db_adopt_folders(struct capture **captures, size_t count);
/* Why a known file is not read; NULL when it is not known. */
const char *ascend_unused(const struct sniff *s);
#endif
