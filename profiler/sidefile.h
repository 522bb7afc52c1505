#ifndef SB_PROFILER_SIDEFILE_H
#define SB_PROFILER_SIDEFILE_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What the kinds of side files share. */

/* Writes all bytes at a place of the file. SB_ENOSPC, SB_EIO ("write_failed"). */
int sidefile_write(int fd, const void *data, size_t len, uint64_t at, struct sb_error *err);
/* SB_EFORMAT "bad_side_file"; what: the rest of the sentence. */
int sidefile_bad(struct sb_error *err, const char *what);
#endif
