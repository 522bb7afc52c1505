#ifndef SB_PROFILER_READ_SOURCE_H
#define SB_PROFILER_READ_SOURCE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/read.h"
#include "profiler/read/reader.h"
#include "profiler/read/stream.h"

/* The walk over what was uploaded: opens the inputs one after the other, takes compression and archives
 * apart, and hands out the files inside. Memory is bounded by a few blocks, whatever the size. */

#define SOURCE_BLOCK 262144                     /* 256 KiB */
#define SOURCE_GZIP_DEPTH 2                     /* gzip inside gzip */
#define SOURCE_ARCHIVE_DEPTH 2                  /* an archive inside an archive */
#define SOURCE_PATH_MAX 1024                    /* longer paths in an archive are refused */
#define SOURCE_MEMBER_MAX (INT64_C(32) << 20)   /* a larger member is read where it is met */
#define SOURCE_BUFFERED_MAX (INT64_C(64) << 20) /* of all members that wait for another thread */

/* What is counted over all inputs of one profile, and the bounds on it. Several threads count here. */
struct source_shared {
	const struct read_limits *limits;
	const struct read_hooks *hooks;
	int64_t total;            /* stored bytes of all inputs: set before the walk */
	_Atomic int64_t done;     /* stored bytes read */
	_Atomic int64_t inflated; /* bytes that compressed data gave */
	_Atomic int64_t files;    /* members of archives */
	_Atomic int64_t buffered; /* bytes of members that wait */
	atomic_bool fatal;        /* a bound was passed or the work was canceled: nothing may go on */
	atomic_flag telling;      /* one thread tells progress */
	int64_t told;             /* … by it alone */
};

/* What is counted over one input, by all threads that read parts of it. */
struct source_input {
	int64_t length;
	_Atomic int64_t inflated;
};

/* What one thread counts while it reads an input, or a member of an archive: a bomb is known by what its own
 * bytes inflate to, whatever is read beside it. */
struct source_budget {
	struct source_shared *shared;
	struct source_input *input;
	int64_t stored;   /* read */
	int64_t inflated; /* from that */
};

/* Who takes the files. Its calls may come from several threads. */
struct source;
struct source_sink {
	void *self;
	/* One file: `head` says what it begins with, `in` yields all of it from its first byte. The error of
	 * a file that is of no use ends with the file, unless it is SB_ENOMEM, SB_EIO or SB_ECANCELED. */
	int (*file)(void *self, const struct source *s, const struct sniff *head, struct stream *in,
	            struct sb_error *err);
	/* A file that the walk does not hand out (a link, a device …). reason: static text. */
	void (*left_out)(void *self, const struct source *s, const char *path, const char *reason);
	/* A file or archive that failed, while the others go on. */
	void (*failed)(void *self, const struct source *s, const char *path, const struct sb_error *err);
	/* The end of all work, met away from the thread that walks. */
	void (*fatal)(void *self, const struct source *s, const struct sb_error *err);
};

/* One walk. */
struct source {
	struct source_budget budget;
	const struct source_sink *sink;
	uint64_t order[SOURCE_ARCHIVE_DEPTH + 1]; /* which input, which member, which member in it */
};

/* Walks one input. SB_EFORMAT "unsafe_path" (a member with an absolute path or a `..` segment: nothing of the
 * profile may be used), SB_ELIMIT "zip_bomb", "too_large", "too_many_files", SB_EIO, SB_ENOMEM, SB_ECANCELED.
 * Broken files and archives are told to sink->failed() and are no error here. Members of archives may still
 * be read by the executor of the hooks when it returns: all of the budget and the sink must live until its
 * wait(). */
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

/* Hands the rest of a member over to another thread, when there is one, the member is small and not too many
 * wait: then *out_taken is true. An error of the member stays with its reading. `child` is copied. SB_ENOMEM.
 */
int member_defer(const struct source *child, struct stream *in, int64_t size, int depth, bool *out_taken,
                 struct sb_error *err);

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
/* A path that stays inside the upload: no root, no drive, no step up. Blank parts are dropped. SB_EINVAL,
 * SB_ELIMIT. */
int archive_path(const char *name, char *out, size_t size);
/* Looks into a stream and goes on with what it is (used by the archive walk for its members). */
int source_stream(struct source *s, struct stream *in, const struct archive_place *outer, int gzips,
                  struct sb_error *err);

/* Tells progress, unless another thread is doing so. */
void source_tell(struct source_shared *s);
/* Says that the work ends. */
void source_stop(struct source_shared *shared);
/* Counts inflated bytes against the bounds. */
int budget_inflated(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err);
/* Counts stored bytes of an input, tells progress, asks whether to go on. */
int budget_stored(struct source_budget *b, const char *path, int64_t bytes, struct sb_error *err);
/* Asks whether to go on: SB_ECANCELED. */
int budget_go_on(const struct source_budget *b, const char *path, struct sb_error *err);
#endif
