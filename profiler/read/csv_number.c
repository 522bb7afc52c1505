#include <string.h>

#include "base/num.h"
#include "profiler/read/csv.h"

int csv_column_any(const struct csv *c, const char *const *names)
{
	for (; *names; names++) {
		int i = csv_column(c, *names);

		if (i >= 0)
			return i;
	}
	return -1;
}

bool csv_missing(const char *text, size_t len)
{
	return len == 0 || (len == 3 && memcmp(text, "N/A", 3) == 0);
}

int csv_us(const struct csv *c, int column, int64_t *out_ns)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	if (csv_missing(text, len))
		return SB_ENOENT;
	return sb_parse_us(text, len, out_ns) == SB_OK ? SB_OK : SB_EINVAL;
}

int csv_int(const struct csv *c, int column, int64_t *out)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	return csv_missing(text, len) ? SB_ENOENT : sb_parse_int(text, len, out);
}

int csv_double(const struct csv *c, int column, double *out)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	return csv_missing(text, len) ? SB_ENOENT : sb_parse_double(text, len, out);
}
