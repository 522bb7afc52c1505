#include "profiler/sidefile.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"

int sidefile_write(int fd, const void *data, size_t len, uint64_t at, struct sb_error *err)
{
	int rc = sb_write_all(fd, data, len, (int64_t)at);

	return rc == SB_OK ? SB_OK
	                   : sb_fail(err, rc, "write_failed", "A side file could not be written: %s.",
	                             strerrordesc_np(errno));
}

int sidefile_bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file is not usable: %s.", what);
}
