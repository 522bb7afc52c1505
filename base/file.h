#ifndef SB_BASE_FILE_H
#define SB_BASE_FILE_H
#include <stddef.h>
#include <stdint.h>

/* Writes all of it, however many calls that takes: at this place, or where the file stands for a negative
 * one. SB_ENOSPC, SB_EIO: errno says why. */
int sb_write_all(int fd, const void *data, size_t len, int64_t at);
#endif
