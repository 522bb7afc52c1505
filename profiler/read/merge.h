#ifndef SB_PROFILER_READ_MERGE_H
#define SB_PROFILER_READ_MERGE_H
#include "profiler/read/reader.h"

/* Putting together what several files bring for one capture. */

/* Adds the texts of a capture to `to`, and makes its ids those of `to`; its own set stays as it is.
 * SB_ENOMEM, SB_ELIMIT: the ids are of no use any more. */
int capture_move_texts(struct capture *c, struct sb_strings *to);
/* Gives all string ids of a capture new numbers, by first use. Errors as capture_move_texts(). */
int capture_renumber(struct capture *c);

/* Where a part of a capture comes from. */
struct part_origin {
	const char *path;
	struct warnings *w; /* what is found while joining */
};
/* Moves what src holds into dst, which came first by path; src is only to be freed afterwards. Tables and
 * timeline that dst has already are joined where the files are parts of one, else src's are passed over with
 * a warning. The safer rank wins. SB_ENOMEM; SB_ELIMIT when there are too many events or texts: dst may hold
 * a part of src then. */
int capture_merge(struct capture *dst, struct capture *src, const struct part_origin *from);
/* Lends the job's size, the stage and the chip to a capture that does not know them. */
void capture_lend(struct capture *to, const struct capture *from);
/* Warns (clock_jump) when the work of a device lies more than a day apart, unless `told` says that one of the
 * capture's files was warned of already; and of times that a spreadsheet has rounded. */
void capture_check_clock(const struct capture *c, bool told, struct warnings *w);
/* Does the timeline hold work of a device, or the sums of it that an Overlap Analysis lane has? */
bool trace_has_device_work(const struct trace *t);
#endif
