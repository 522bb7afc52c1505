#ifndef SB_PROFILER_READ_COLLECT_H
#define SB_PROFILER_READ_COLLECT_H
#include <stdatomic.h>
#include <stdbool.h>

#include "profiler/read/reader.h"
#include "profiler/read/source.h"

/* What one file brings: its captures by key and format, and its warnings. */
struct collection {
	struct read_context context; /* what the reader gets: must stay first */
	struct profile profile;      /* its warnings only */
	struct sb_strings *keys;
	struct capture *
	    *list; /* by key id - 1; each stays where it is, so that the reader may hold on to it */
	size_t count;
};

/* The context points into the collection: it must not be moved afterwards. */
void collection_init(struct collection *c, const struct read_hooks *hooks);
/* Gives back the memory that only a reader needs, once it has ended: many files wait for the last one. */
void collection_shrink(struct collection *c);
void collection_free(struct collection *c);

/* What became of one path of the upload. */
struct partial {
	struct collection own;
	struct partial *next;
	char *path;
	uint64_t order[SOURCE_ARCHIVE_DEPTH + 1]; /* as in struct source: tells equal paths apart */
	bool file;                                /* it was handed to the readers */
	bool unknown, database;                   /* no reader knows it */
	char *left_out;                           /* owned: why it is not used; NULL = it is, or it failed */
	struct sb_error *failed;                  /* owned; NULL = it did not */
};

/* All of them. Adding is safe for several threads. */
struct partials {
	_Atomic(struct partial *) first;
	struct partial **items; /* by path, then by order; borrowed from the list above */
	size_t count;
	atomic_bool no_memory; /* one could not be added */
};

/* NULL when there is no memory (then no_memory is set, too). */
struct partial *partials_add(struct partials *p, const struct source *s, const char *path);
/* Sorts them into items, once nothing is added any more, and marks all but the first of one path as failed.
 * SB_ENOMEM. */
int partials_sort(struct partials *p);
void partials_free(struct partials *p);

/* The captures of the whole upload on their way into a profile. */
struct gathering {
	struct profile profile;
	struct capture **list;
	size_t count;
	char empty[256]; /* a capture without any data */
	bool sums_only;  /* … and one of those held op_statistic.csv */
};

/* Puts the captures of all files together and finishes them, by the executor of the hooks where there is one;
 * warnings and left-out files go into the profile. SB_ENOMEM, SB_EFORMAT. */
int gather(struct partials *p, const struct read_hooks *hooks, struct gathering *out, struct sb_error *err);
void gathering_free(struct gathering *g);
/* Lists a file as not used. Of more than LEFT_OUT_MAX the smallest paths are kept. Never fails. */
void profile_left_out(struct profile *p, const char *file, const char *reason);

/* Drops captures without data, keeps the best format of each key and the newest capture of each rank, sorts
 * captures and warnings, and moves them into g->profile. SB_ENOMEM. */
int choose_captures(struct gathering *g, struct sb_error *err);
/* The error when nothing is left: always one. */
int nothing_used(const struct partials *p, const struct gathering *g, struct sb_error *err);
/* The stamp in "host_pid_20250109084453123_ascend_pt" as 17 digits, 0 when there is none. */
int64_t capture_stamp(const char *source);
#endif
