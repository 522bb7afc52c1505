#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An upload of any bytes: small bounds, so that bombs end quickly. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct read_limits limits = {
	    .inflated_bytes = 4 << 20, .ratio = 100, .ratio_from = 1 << 18, .archive_files = 200};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct read_input in = {.path = "upload", .fd = fd, .length = (int64_t)size};
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (profile_read(&in, 1, &limits, NULL, &p, &err) == SB_OK) {
		if (p.count == 0)
			abort();
	} else if (err.code == SB_OK || err.word[0] == '\0' || err.text[0] == '\0' || p.captures) {
		abort();
	}
	close(fd);
	return 0;
}
