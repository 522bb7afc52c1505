#ifndef SB_PROFILER_READ_READER_H
#define SB_PROFILER_READ_READER_H
#include "profiler/profile.h"
#include "profiler/read.h"
#include "profiler/read/stream.h"

/* The table of formats: one file in this folder and one row each (read/formats.c). */

#define SNIFF_BYTES 4096
struct sniff {
	const char
	    *path; /* label only: content decides; the path may break a tie between files of one kind */
	const char *head; /* the first bytes of the file, inflated */
	size_t len;
	bool whole; /* head is the whole file */
};

/* What a reader gets: the warnings and captures of its one file. Files are read side by side, on any thread;
 * what several of them bring for one capture is put together afterwards, in the order of their paths
 * (merge.c).
 */
struct read_context {
	struct profile *profile; /* for its warnings */
	const struct read_hooks *hooks;
	/* The part that this file brings of the capture of a directory (an *_ascend_pt folder) or of a single
	 * file, empty when it is first asked for. key = path of the folder or file. One key may have a
	 * capture of each format: once all files are read, the best of them is kept (choose.c). */
	int (*capture)(struct read_context *ctx, const char *key, enum capture_format format,
	               struct capture **out);
};

struct format_reader {
	const char *name; /* of the file kind, e.g. "kineto trace", "kernel_details.csv" */
	enum capture_format format;
	/* Is this file mine? 0 = no; larger wins. */
	int (*sniff)(const struct sniff *s);
	/* Reads one file into its capture. Tolerated flaws become warnings; an error means that the file is
	 * of no use. "unknown_database": it is none of ours, and the text is a hint, as of sniff_hint(). */
	int (*read)(struct read_context *ctx, struct stream *in, struct sb_error *err);
};
extern const struct format_reader *const FORMAT_READERS[]; /* ends with NULL */
extern const struct format_reader KINETO_READER;
extern const struct format_reader SIGNALBOX_READER;                     /* signalbox_profile.md */
extern const struct format_reader DATABASE_READER, DATABASE_LOG_READER; /* see database.h */

/* A sentence that helps when a file is no profile but a known other thing (PNG, pickle, protobuf trace,
 * SQLite, memory timeline, execution trace, HTML page …); NULL when nothing is known about it. */
const char *sniff_hint(const struct sniff *s);
#endif
