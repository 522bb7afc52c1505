#include <string.h>

#include "base/num.h"
#include "planner/export/options.h"
#include "planner/export/scan.h"

/* NAME=VALUE a line, as a shell reads it; "export " in front and quotes around the value are passed over. */
static int variable(struct options *out, const char *text, size_t len, int64_t line, struct sb_error *err)
{
	static const char word[] = "export ";
	const char *equals;

	if (len > sizeof(word) - 1 && memcmp(text, word, sizeof(word) - 1) == 0) {
		text += sizeof(word) - 1;
		len -= sizeof(word) - 1;
		sb_trim(&text, &len);
	}
	equals = memchr(text, '=', len);
	if (!equals || equals == text)
		return scan_fail(err, line, "is no NAME=VALUE");
	{
		const char *value = equals + 1;
		size_t value_len = len - (size_t)(value - text);

		scan_unquote(&value, &value_len);
		return options_add(out, text, (size_t)(equals - text), value, value_len, line, err);
	}
}

int options_from_lines(const char *text, size_t len, struct options *out, struct sb_error *err)
{
	struct scan s = {text, text + len, 0};
	struct scan_line l;
	int rc = options_check(text, len, err);

	while (rc == SB_OK && scan_next(&s, &l)) {
		if (l.comment_len > 0)
			rc = options_comment(out, l.comment, l.comment_len, l.number, err);
		if (rc == SB_OK && l.len > 0)
			rc = variable(out, l.text, l.len, l.number, err);
	}
	return rc == SB_OK ? options_close(out, err) : rc;
}

/* A TOML value: quotes off a text, underscores out of a number; a list or a table stays as it is written. */
static int toml_value(struct options *out, const char *section, const char *name, size_t name_len,
                      const char *value, size_t len, int64_t line, struct sb_error *err)
{
	char digits[32];
	size_t n = 0, kept = 0;

	if (len >= 3 && (memcmp(value, "\"\"\"", 3) == 0 || memcmp(value, "'''", 3) == 0))
		return scan_fail(err, line, "a text over several lines is not read");
	scan_unquote(&value, &len);
	while (n < len && n < sizeof(digits) && ((value[n] >= '0' && value[n] <= '9') || value[n] == '_')) {
		if (value[n] != '_')
			digits[kept++] = value[n];
		n++;
	}
	if (n == len && kept > 0) {
		value = digits;
		len = kept;
	}
	return options_add_in(out, section, name, name_len, value, len, line, err);
}

static int toml_pair(struct scan *s, struct options *out, const char *section, const struct scan_line *l,
                     struct sb_error *err)
{
	const char *equals = memchr(l->text, '=', l->len), *name = l->text, *value;
	size_t name_len, len;
	struct sb_buf joined;
	int rc;

	if (!equals)
		return scan_fail(err, l->number, "is neither [section] nor name = value");
	name_len = (size_t)(equals - name);
	sb_trim(&name, &name_len);
	scan_unquote(&name, &name_len);
	value = equals + 1;
	len = l->len - (size_t)(value - l->text);
	sb_trim(&value, &len);
	if (name_len == 0 || len == 0)
		return scan_fail(err, l->number, "lacks a name or a value");
	if (*value != '[' && *value != '{')
		return toml_value(out, section, name, name_len, value, len, l->number, err);
	sb_buf_init(&joined, OPTIONS_TEXT_MAX);
	rc = scan_flow(s, value, len, l->number, &joined, err);
	if (rc == SB_OK)
		rc = options_add_in(out, section, name, name_len, joined.data, joined.len, l->number, err);
	sb_buf_free(&joined);
	return rc;
}

int options_from_toml(const char *text, size_t len, struct options *out, struct sb_error *err)
{
	struct scan s = {text, text + len, 0};
	struct scan_line l;
	char section[128] = "";
	int rc = options_check(text, len, err);

	while (rc == SB_OK && scan_next(&s, &l)) {
		if (l.comment_len > 0)
			rc = options_comment(out, l.comment, l.comment_len, l.number, err);
		if (rc != SB_OK || l.len == 0)
			continue;
		if (l.text[0] != '[') {
			rc = toml_pair(&s, out, section, &l, err);
		} else if (l.len < 3 || l.len - 2 >= sizeof(section) || l.text[1] == '[' ||
		           l.text[l.len - 1] != ']') {
			rc = scan_fail(err, l.number, "is no [section]");
		} else {
			memcpy(section, l.text + 1, l.len - 2);
			section[l.len - 2] = '\0';
		}
	}
	return rc == SB_OK ? options_close(out, err) : rc;
}
