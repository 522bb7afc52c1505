#include "profiler/sidefile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int sidefile_write(int fd, const void *data, size_t len, uint64_t at, struct sb_error *err)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = errno == ENOSPC || errno == EDQUOT ? SB_ENOSPC : SB_EIO;

			return sb_fail(err, code, "write_failed", "A side file could not be written: %s.",
			               strerrordesc_np(errno));
		}
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return SB_OK;
}

int sidefile_bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file is not usable: %s.", what);
}
