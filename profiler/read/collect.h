#ifndef SB_PROFILER_READ_COLLECT_H
#define SB_PROFILER_READ_COLLECT_H
#include <stdbool.h>

#include "profiler/read/reader.h"

/* The captures of a profile while it is read, by key and format, and their way into the profile. */
struct collection {
	struct read_context context; /* what the readers get: must stay first */
	struct profile profile;
	struct sb_strings *keys;
	struct capture **list; /* by key id - 1; each stays where it is, so that readers may hold on to it */
	size_t count;
	char empty[256]; /* a capture without any data */
	bool sums_only;  /* … and one of those held op_statistic.csv */
};

/* The context points into the collection: it must not be moved afterwards. SB_ENOMEM. */
int collection_init(struct collection *c, const struct read_hooks *hooks);
void collection_free(struct collection *c);
/* Lists a file as not used. Of more than LEFT_OUT_MAX the smallest paths are kept, so that the order of
 * reading does not matter. Never fails. */
void collection_left_out(struct collection *c, const char *file, const char *reason);
/* Finishes every capture, drops those without data and, of two captures of one rank, the older one (with a
 * warning), sorts captures and warnings, and moves them into the profile. */
int collection_finish(struct collection *c, struct sb_error *err);

/* The stamp in "host_pid_20250109084453123_ascend_pt" as 17 digits, 0 when there is none. */
int64_t capture_stamp(const char *source);
#endif
