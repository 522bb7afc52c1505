#ifndef SB_PROFILER_READ_STREAM_H
#define SB_PROFILER_READ_STREAM_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Where a stream's bytes lie as they are in an open file. */
struct extent {
	int fd; /* borrowed */
	int64_t offset, length;
};

/* A source of bytes, pulled block by block: a mapped file, an inflating gzip, a member of an archive. */
struct stream {
	/* The next block: a pointer that stays valid until the next call, and its length; length 0 at the
	 * end. SB_EIO, SB_EFORMAT ("truncated" gzip: what was inflated before it has been handed out
	 * already), SB_ELIMIT (bound on inflated bytes or on the ratio). */
	int (*next)(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err);
	const char *path;            /* label for messages, borrowed */
	const struct extent *extent; /* NULL: the bytes lie in no file as they are (inflated, a member …) */
	/* Told by who reads the extent itself instead of calling next(): so many bytes of it are read now.
	 * They count as if next() had handed them out. NULL: nobody counts. SB_ECANCELED. */
	int (*took)(struct stream *s, int64_t bytes, struct sb_error *err);
};

/* A stream over bytes in memory, handed out in blocks of at most `block` bytes (0: all at once). For tests,
 * fuzzing and mapped files. */
struct memory_stream {
	struct stream base;
	const char *data;
	size_t len, at, block;
};
void memory_stream_init(struct memory_stream *m, const char *path, const char *data, size_t len,
                        size_t block);
#endif
