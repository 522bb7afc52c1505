#ifndef SB_PROFILER_READ_H
#define SB_PROFILER_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/executor.h"
#include "profiler/profile.h"

/* One file handed in: bytes [offset, offset + length) of fd, labelled with the path that the user knows it
 * by. Whether it is plain, gzip, tar, tar.gz or zip is found out from its bytes. */
struct read_input {
	const char *path; /* relative, '/'-separated; a label only, never opened */
	int fd;           /* borrowed; -1: open disk_path instead, when its turn comes */
	const char *disk_path;
	int64_t offset, length;
};

struct read_limits {
	int64_t inflated_bytes; /* all inflated bytes of one profile; default 64 GiB */
	int64_t ratio;          /* inflated : stored, beyond ratio_from bytes; default 200 */
	int64_t ratio_from;     /* default 64 MiB */
	int64_t archive_files;  /* default 100,000 */
};
extern const struct read_limits READ_LIMITS_DEFAULT;

/* How the caller follows the work and ends it. Any pointer may be NULL. */
struct read_hooks {
	void *self;
	/* Stored bytes: never fewer than before. Called by whatever thread reads, by one at a time. */
	void (*progress)(void *self, int64_t done_bytes, int64_t total_bytes);
	bool (*canceled)(void *self);       /* may be called by several threads at once */
	const struct sb_executor *executor; /* NULL: the calling thread does everything */
};

/* Is the work to end? */
static inline bool read_canceled(const struct read_hooks *hooks)
{
	return hooks && hooks->canceled && hooks->canceled(hooks->self);
}

/* Reads a profile: every input is sniffed, unpacked and given to the reader that knows it; files that no
 * reader knows are listed in left_out. Deterministic: neither the order of the inputs nor the threads that
 * help matter. On failure *out is untouched and err names the file and the position. SB_EFORMAT (no readable
 * profile among the files; broken beyond use), SB_ELIMIT (zip bomb, too many files), SB_EIO, SB_ENOMEM,
 * SB_ECANCELED. */
int profile_read(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                 const struct read_hooks *hooks, struct profile *out, struct sb_error *err);
#endif
