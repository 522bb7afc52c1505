#ifndef SB_PROFILER_READ_SOURCE_H
#define SB_PROFILER_READ_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/read.h"
#include "profiler/read/reader.h"
#include "profiler/read/stream.h"

/* The walk over what was uploaded: opens the inputs one after the other, takes compression and archives
 * apart, and hands out the files inside. Memory is bounded by a few blocks, whatever the size. */

#define SOURCE_BLOCK 262144    /* 256 KiB */
#define SOURCE_GZIP_DEPTH 2    /* gzip inside gzip */
#define SOURCE_ARCHIVE_DEPTH 2 /* an archive inside an archive */
#define SOURCE_PATH_MAX 1024   /* longer paths in an archive are refused */

/* What is counted over one input, and the bounds that hold over all of them. */
struct source_budget {
	const struct read_limits *limits;
	const struct read_hooks *hooks;
	int64_t total, done; /* stored bytes of all inputs */
	int64_t stored;      /* read from the present input */
	int64_t inflated;    /* inflated from the present input */
	int64_t all_inflated;
	int64_t files;      /* members of archives */
	int64_t handed_out; /* bytes that readers took */
	bool fatal;         /* a bound was passed or the work was canceled: nothing may go on */
};

/* Who takes the files. */
struct source_sink {
	void *self;
	/* One file: `head` says what it begins with, `in` yields all of it from its first byte. The error of
	 * a file that is of no use ends with the file, unless it is SB_ENOMEM, SB_EIO or SB_ECANCELED. */
	int (*file)(void *self, const struct sniff *head, struct stream *in, struct sb_error *err);
	/* A file that the walk does not hand out (a link, a device …). */
	void (*left_out)(void *self, const char *path, const char *reason);
	/* A file or archive that failed, while the others go on. */
	void (*failed)(void *self, const char *path, const struct sb_error *err);
};

struct source {
	struct source_budget budget;
	const struct source_sink *sink;
};

/* Walks one input. SB_EFORMAT "unsafe_path" (a member with an absolute path or a `..` segment: nothing of the
 * profile may be used), SB_ELIMIT "zip_bomb", "too_large", "too_many_files", SB_EIO, SB_ENOMEM, SB_ECANCELED.
 * Broken files and archives are told to sink->failed() and are no error here. */
int source_walk(struct source *s, const struct read_input *input, struct sb_error *err);

/* Is the error the end of the whole work, not of one file? */
bool source_fatal(const struct source *s, int rc);

/* What a block of bytes looks like from its first SNIFF_BYTES. */
enum source_kind { SOURCE_FILE, SOURCE_GZIP, SOURCE_TAR, SOURCE_ZIP };
enum source_kind source_kind(const char *head, size_t len);

/* A stream that has been looked into: its first bytes in memory, then the rest. */
struct peek_stream {
	struct stream base;
	struct stream *in;
	char head[SNIFF_BYTES];
	size_t head_len;
	bool head_given;
	const char *rest; /* of the block that head was taken from */
	size_t rest_len;
	int rc; /* what ended the looking */
	bool at_end;
	struct sb_error err;
	int64_t given; /* bytes handed out */
};
/* Reads up to SNIFF_BYTES of `in` (borrowed). An error of the stream is kept and returned by next() in its
 * place. */
void peek_stream_init(struct peek_stream *p, struct stream *in);

/* An inflating stream over a gzip stream (borrowed), several concatenated members as one. SB_ENOMEM. */
struct gzip_stream;
int gzip_stream_new(struct stream *in, struct source_budget *budget, struct gzip_stream **out);
struct stream *gzip_stream_base(struct gzip_stream *g);
void gzip_stream_free(struct gzip_stream **g);
#define GZIP_STREAM_AUTO __attribute__((cleanup(gzip_stream_free))) struct gzip_stream *

/* Walks a tar or zip archive: `in` is read from its start. `fd` with offset and length is the same file where
 * it is a plain one (a zip needs to seek), else -1. depth: archives around this one, itself included. */
struct archive_place {
	struct stream *in;
	int fd;
	int64_t offset, length;
	int depth;
	bool zip;
};
int archive_walk(struct source *s, const struct archive_place *place, struct sb_error *err);
/* Looks into a stream and goes on with what it is (used by the archive walk for its members). */
int source_stream(struct source *s, struct stream *in, const struct archive_place *outer, int gzips,
                  struct sb_error *err);

/* Counts inflated bytes against the bounds. */
int budget_inflated(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err);
/* Counts stored bytes, tells progress, asks whether to go on. */
int budget_stored(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err);
#endif
