#include "base/file.h"

#include <errno.h>
#include <unistd.h>

#include "base/err.h"

int sb_write_all(int fd, const void *data, size_t len, int64_t at)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = at < 0 ? write(fd, p, len) : pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOSPC || errno == EDQUOT ? SB_ENOSPC : SB_EIO;
		p += n;
		at += at < 0 ? 0 : n;
		len -= (size_t)n;
	}
	return SB_OK;
}
