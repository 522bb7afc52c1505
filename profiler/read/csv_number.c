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

/* Digits with at most one point between them, and at most a TAB behind them: nearly every number of a table.
 * false: leave it to the parsers that know every form. */
static bool plain(const char *p, const char *end, uint64_t *out_digits, unsigned *out_decimals)
{
	const char *point = NULL;
	uint64_t v = 0;

	if (p < end && end[-1] == '\t')
		end--;
	/* 19 digits fit into 64 bits */
	if (p == end || end - p > 20 || *p == '.' || end[-1] == '.')
		return false;
	if (end - p == 20 && !memchr(p, '.', 20))
		return false;
	for (; p < end; p++) {
		unsigned digit = (unsigned)(unsigned char)*p - '0';

		if (digit <= 9)
			v = v * 10 + digit;
		else if (*p == '.' && !point)
			point = p;
		else
			return false;
	}
	*out_digits = v;
	*out_decimals = point ? (unsigned)(end - point) - 1 : 0;
	return true;
}

static bool plain_field(const struct csv *c, int column, uint64_t *out_digits, unsigned *out_decimals)
{
	size_t len;
	const char *text = column < 0 ? "" : csv_field(c, (size_t)column, &len);

	return column >= 0 && plain(text, text + len, out_digits, out_decimals);
}

int csv_us(const struct csv *c, int column, int64_t *out_ns)
{
	static const int64_t UNITS[] = {1000, 100, 10, 1};
	uint64_t digits;
	unsigned decimals;
	size_t len;

	if (plain_field(c, column, &digits, &decimals) && decimals <= 3 &&
	    digits <= (uint64_t)(INT64_MAX / UNITS[decimals])) {
		*out_ns = (int64_t)digits * UNITS[decimals];
		return SB_OK;
	}
	const char *text = csv_trimmed(c, column, &len);

	if (csv_missing(text, len))
		return SB_ENOENT;
	return sb_parse_us(text, len, out_ns) == SB_OK ? SB_OK : SB_EINVAL;
}

static bool only_zeros(const char *p, const char *end)
{
	while (p < end && *p == '0')
		p++;
	return p == end;
}

int csv_int(const struct csv *c, int column, int64_t *out)
{
	uint64_t digits;
	unsigned decimals;
	size_t len;

	if (plain_field(c, column, &digits, &decimals) && decimals == 0 && digits <= INT64_MAX) {
		*out = (int64_t)digits;
		return SB_OK;
	}
	const char *text = csv_trimmed(c, column, &len);
	const char *point = len > 0 ? memchr(text, '.', len) : NULL;

	if (csv_missing(text, len))
		return SB_ENOENT;
	/* pandas writes 3 as 3.0 once a cell of the column is empty */
	if (point > text && point + 1 < text + len && only_zeros(point + 1, text + len))
		len = (size_t)(point - text);
	return sb_parse_int(text, len, out);
}

int csv_double(const struct csv *c, int column, double *out)
{
	static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
	                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
	uint64_t digits;
	unsigned decimals;
	size_t len;

	/* both are doubles, so the quotient is rounded once, as strtod() would (Clinger 1990) */
	if (plain_field(c, column, &digits, &decimals) && digits <= UINT64_C(1) << 53) {
		*out = (double)digits / POWERS[decimals];
		return SB_OK;
	}
	const char *text = csv_trimmed(c, column, &len);

	return csv_missing(text, len) ? SB_ENOENT : sb_parse_double(text, len, out);
}
