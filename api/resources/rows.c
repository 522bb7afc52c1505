#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "base/num.h"

/* Rows of a stored document, cut out of its text: a profile of thousands of ranks has megabytes of them, and
 * its numbers must keep their digits. Rank and step stand in front of every text in a row (documents.c). */

#define KEYS_WITHIN 160 /* bytes from the start of a row to the end of both numbers */

/* The end of the value that begins at `at`, an object: behind its closing brace. */
static const char *row_end(const char *at, const char *end)
{
	bool text = false;
	int depth = 0;

	for (; at < end; at++) {
		if (text && *at == '\\') {
			at++;
		} else if (*at == '"') {
			text = !text;
		} else if (!text && (*at == '{' || *at == '[')) {
			depth++;
		} else if (!text && (*at == '}' || *at == ']')) {
			depth--;
			if (depth == 0)
				return at + 1;
		}
	}
	return end;
}

/* Is the number of this key the one that is wanted? null is none. */
static bool is_wanted(const char *row, size_t len, const char *key, int64_t want)
{
	const char *at = memmem(row, len < KEYS_WITHIN ? len : KEYS_WITHIN, key, strlen(key));
	const char *number;
	int64_t v;

	if (want == SB_NULL)
		return true;
	if (!at)
		return false;
	number = at + strlen(key);
	return sb_parse_int(number, strspn(number, "-0123456789"), &v) == SB_OK && v == want;
}

size_t rows_keep(char *text, size_t len, int64_t rank, int64_t step)
{
	char *out = memchr(text, '[', len);
	const char *at, *end = text + len;
	bool any = false;

	if (!out)
		return len;
	at = ++out;
	while (at < end && *at == '{') {
		const char *next = row_end(at, end);
		size_t n = (size_t)(next - at);

		if (is_wanted(at, n, "\"rank\":", rank) && is_wanted(at, n, "\"step\":", step)) {
			if (any)
				*out++ = ',';
			any = true;
			memmove(out, at, n);
			out += n;
		}
		at = next < end && *next == ',' ? next + 1 : next;
	}
	memmove(out, at, (size_t)(end - at));
	out += end - at;
	return (size_t)(out - text);
}

void results_rows(struct call *c)
{
	int64_t rank = SB_NULL, step = SB_NULL;

	if (!query_int(c, "rank", 0, INT32_MAX, &rank) ||
	    !query_int(c, "step", INT64_MIN + 1, INT64_MAX, &step))
		return;
	results_document(c);
	if (c->res->status == 200 && c->res->body && (rank != SB_NULL || step != SB_NULL))
		c->res->body_len = rows_keep(c->res->body, c->res->body_len, rank, step);
}
