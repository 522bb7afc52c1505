#include "api/plans/canonical.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/parse.h"
#include "base/err.h"

#define DEEPEST 64
#define EXACT 9007199254740992.0

/* The depth is bounded: DEEPEST. */
/* NOLINTBEGIN(misc-no-recursion) */
static int write_value(const json_t *value, struct sb_buf *out, int depth);

static int by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int write_text(const char *text, struct sb_buf *out)
{
	int rc = sb_buf_adds(out, "\"");

	for (; rc == SB_OK && *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			rc = sb_buf_addf(out, "\\%c", c);
		else if (c < 0x20)
			rc = sb_buf_addf(out, "\\u%04x", c);
		else
			rc = sb_buf_add(out, text, 1);
	}
	return rc == SB_OK ? sb_buf_adds(out, "\"") : rc;
}

static int write_real(double v, struct sb_buf *out)
{
	char text[40];

	if (v == floor(v) && fabs(v) <= EXACT)
		return sb_buf_addf(out, "%lld", (long long)v);
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	return sb_buf_adds(out, text);
}

static int write_members(const char **keys, size_t n, const json_t *o, struct sb_buf *out, int depth)
{
	int rc = sb_buf_adds(out, "{");

	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		if (i > 0)
			rc = sb_buf_adds(out, ",");
		if (rc == SB_OK)
			rc = write_text(keys[i], out);
		if (rc == SB_OK)
			rc = sb_buf_adds(out, ":");
		if (rc == SB_OK)
			rc = write_value(json_object_get(o, keys[i]), out, depth + 1);
	}
	return rc == SB_OK ? sb_buf_adds(out, "}") : rc;
}

static int write_object(const json_t *value, struct sb_buf *out, int depth)
{
	json_t *o = json_readable(value);
	const char **keys = malloc((json_object_size(o) + 1) * sizeof(*keys));
	size_t n = 0;
	int rc;

	if (!keys)
		return SB_ENOMEM;
	for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i))
		keys[n++] = json_object_iter_key(i);
	qsort(keys, n, sizeof(*keys), by_key);
	rc = write_members(keys, n, value, out, depth);
	free(keys);
	return rc;
}

static int write_array(const json_t *value, struct sb_buf *out, int depth)
{
	int rc = sb_buf_adds(out, "[");

	for (size_t i = 0; rc == SB_OK && i < json_array_size(value); i++) {
		if (i > 0)
			rc = sb_buf_adds(out, ",");
		if (rc == SB_OK)
			rc = write_value(json_array_get(value, i), out, depth + 1);
	}
	return rc == SB_OK ? sb_buf_adds(out, "]") : rc;
}

static int write_value(const json_t *value, struct sb_buf *out, int depth)
{
	if (depth > DEEPEST)
		return SB_EINVAL;
	switch (json_typeof(value)) {
	case JSON_OBJECT: return write_object(value, out, depth);
	case JSON_ARRAY: return write_array(value, out, depth);
	case JSON_STRING: return write_text(json_string_value(value), out);
	case JSON_INTEGER: return sb_buf_addf(out, "%lld", (long long)json_integer_value(value));
	case JSON_REAL: return write_real(json_real_value(value), out);
	case JSON_TRUE: return sb_buf_adds(out, "true");
	case JSON_FALSE: return sb_buf_adds(out, "false");
	default: return sb_buf_adds(out, "null");
	}
}

/* NOLINTEND(misc-no-recursion) */

int canonical_write(const json_t *value, struct sb_buf *out)
{
	return write_value(value, out, 0);
}
