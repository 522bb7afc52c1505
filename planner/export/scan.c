#include "planner/export/scan.h"

#include <string.h>

#include "base/num.h"

int scan_fail(struct sb_error *err, int64_t line, const char *why)
{
	return sb_fail(err, SB_EIMPOSSIBLE, "bad_syntax", "line %lld %s", (long long)line, why);
}

void scan_unquote(const char **text, size_t *len)
{
	const char *t = *text;

	if (*len >= 2 && (t[0] == '"' || t[0] == '\'') && t[*len - 1] == t[0]) {
		*text = t + 1;
		*len -= 2;
	}
}

/* Where the comment of a line begins; len when it has none. */
static size_t comment_of(const char *text, size_t len)
{
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		if (quote && text[i] == quote)
			quote = 0;
		else if (quote)
			continue;
		else if (text[i] == '"' || text[i] == '\'')
			quote = text[i];
		else if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t'))
			return i;
	}
	return len;
}

bool scan_next(struct scan *s, struct scan_line *out)
{
	const char *start = s->at, *newline;
	size_t len, cut;

	if (s->at >= s->end)
		return false;
	newline = memchr(start, '\n', (size_t)(s->end - start));
	len = (size_t)((newline ? newline : s->end) - start);
	s->at = newline ? newline + 1 : s->end;
	*out = (struct scan_line){.number = ++s->line};
	while (out->indent < len && (start[out->indent] == ' ' || start[out->indent] == '\t')) {
		out->tab = out->tab || start[out->indent] == '\t';
		out->indent++;
	}
	out->text = start + out->indent;
	out->len = len - out->indent;
	cut = comment_of(out->text, out->len);
	if (cut < out->len) {
		out->comment = out->text + cut + 1;
		out->comment_len = out->len - cut - 1;
	}
	out->len = cut;
	sb_trim(&out->text, &out->len);
	return true;
}

/* Appends a piece and counts its brackets; *depth falls to 0 where the value ends. False when something
 * stands behind the end, or more is closed than was opened. */
static bool append_flow(struct sb_buf *out, const char *text, size_t len, int64_t *depth, char *quote)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (*quote && c == *quote)
			*quote = 0;
		else if (*quote)
			continue;
		else if (c == '"' || c == '\'')
			*quote = c;
		else if (c == '[' || c == '{')
			++*depth;
		else if (c == ']' || c == '}')
			--*depth;
		if (*depth <= 0 && i + 1 < len)
			return false;
	}
	sb_buf_add(out, text, len);
	return *depth >= 0;
}

int scan_flow(struct scan *s, const char *text, size_t len, int64_t line, struct sb_buf *out,
              struct sb_error *err)
{
	struct scan_line l;
	int64_t depth = 0;
	char quote = 0;
	bool fine = append_flow(out, text, len, &depth, &quote);

	while (fine && depth > 0 && scan_next(s, &l))
		fine = append_flow(out, l.text, l.len, &depth, &quote);
	if (!fine || depth != 0)
		return scan_fail(err, line, "begins a list that does not end");
	return out->status == SB_OK ? SB_OK : sb_fail(err, out->status, "too_large", "a list is too long");
}
