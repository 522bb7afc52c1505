#ifndef SB_PROFILER_READ_MSPROF_H
#define SB_PROFILER_READ_MSPROF_H
#include "profiler/read/ascend.h"

/* What the readers of raw msprof output share (research page ascend-formats 3). Tables that msprof and the
 * PyTorch profiler write alike are read by the readers of ascend.h. */

extern const struct format_reader MSPROF_OP_SUMMARY_READER;    /* op_summary: kernels */
extern const struct format_reader MSPROF_TASK_TIME_READER;     /* task_time: kernels without shapes */
extern const struct format_reader MSPROF_COMMUNICATION_READER; /* communication_statistic */
extern const struct format_reader MSPROF_STEPS_READER;         /* step_trace */
extern const struct format_reader MSPROF_QUEUE_READER;         /* aicpu_mi */
extern const struct format_reader MSPROF_INFO_READER;          /* info.json.N, start_info.N */

/* Where a path stands in the output of msprof. */
struct msprof_place {
	bool output; /* an exported text file, by its folder or its name */
	bool info;   /* info.json.N or start_info.N */
	bool alone;  /* nothing says which other files belong to it */
	size_t prof; /* length of the path through its last PROF_* folder, 0 = none */
	size_t
	    root; /* length of the path of the folder that is the capture; 0 with `output`: the root itself */
};
struct msprof_place msprof_place(const char *path);
/* Is the file one that msprof exported as text? */
bool msprof_path(const char *path);
/* The key of its capture, NUL-terminated in out: the *_ascend_pt or *_ascend_ms directory around it; else
 * PROF_* (of the layout before 2023: its device_N); else the directory of a file with one of the exporter's
 * names; else the file itself. */
void msprof_key(const char *path, char *out, size_t size);
/* The capture of the file that `in` reads. */
int msprof_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                   struct sb_error *err);
/* A row of a table; what it cannot use it leaves out with a warning. Any code but SB_OK is a lack of memory.
 */
typedef int msprof_row(struct read_context *ctx, struct capture *cap, const struct csv *c,
                       const struct stream *in);
/* Calls `row` for each row of a table that has the columns `needed`, NULL-terminated. */
int msprof_rows(struct read_context *ctx, struct stream *in, const char *const *needed, msprof_row *row,
                struct sb_error *err);
/* The number + 1 of the device in a column of the present row; 0 when it names none. */
uint16_t msprof_device(const struct csv *c, int column);
/* Once the files of a capture are put together: when they hold several devices, c becomes the first one's and
 * the others' are added to the list *out_more, which is to be freed with all it holds. SB_ENOMEM, SB_ELIMIT.
 */
int msprof_split(struct capture *c, struct capture ***out_more, size_t *out_count);
/* After all files of a capture are read: kernels and steps that a poorer table brought too are dropped. */
void msprof_finish(struct capture *c);
#endif
