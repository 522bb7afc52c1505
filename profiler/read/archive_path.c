#include <string.h>

#include "profiler/read/source.h"

int archive_path(const char *name, char *out, size_t size)
{
	size_t n = 0;

	if (name[0] == '/' || name[0] == '\\')
		return SB_EINVAL;
	if (name[0] != '\0' && name[1] == ':' && (name[2] == '/' || name[2] == '\\'))
		return SB_EINVAL;
	while (*name) {
		size_t len = strcspn(name, "/\\");

		if (len == 2 && memcmp(name, "..", 2) == 0)
			return SB_EINVAL;
		if (len > 0 && !(len == 1 && *name == '.')) {
			if (n + len + 2 > size)
				return SB_ELIMIT;
			if (n > 0)
				out[n++] = '/';
			memcpy(out + n, name, len);
			n += len;
		}
		name += len;
		name += *name != '\0';
	}
	out[n] = '\0';
	return SB_OK;
}
