#include <string.h>

#include "base/num.h"
#include "planner/export/options.h"
#include "planner/export/scan.h"

/* The YAML of MindFormers' configurations: mappings by indentation, scalars and flow lists. Members of lists
 * of mappings (callbacks) and block texts hold nothing about a strategy: they are passed over. An anchor in
 * front of a value is passed over too; an alias stays as it is written. */
struct yaml {
	struct scan scan;
	struct {
		size_t indent, name_end; /* of path */
	} level[OPTIONS_DEPTH];
	int depth;
	char path[512];
	size_t skip; /* lines deeper than this are passed over; SIZE_MAX = none */
};

/* The text behind "name:"; NULL when the line is none. */
static const char *split(const char *text, size_t len, size_t *out_name)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == ':' && (i + 1 == len || text[i + 1] == ' ' || text[i + 1] == '\t')) {
			*out_name = i;
			return i > 0 ? text + i + 1 : NULL;
		}
	}
	return NULL;
}

/* Leaves the sections that a line with this indent does not belong to. */
static void leave(struct yaml *y, size_t indent)
{
	while (y->depth > 0 && y->level[y->depth - 1].indent >= indent)
		y->depth--;
	y->path[y->depth > 0 ? y->level[y->depth - 1].name_end : 0] = '\0';
}

static int enter(struct yaml *y, const struct scan_line *l, const char *name, size_t len,
                 struct sb_error *err)
{
	size_t at = strlen(y->path), dot = at > 0;

	if (y->depth == OPTIONS_DEPTH || at + dot + len >= sizeof(y->path))
		return scan_fail(err, l->number, "lies too deep");
	if (dot)
		y->path[at] = '.';
	memcpy(y->path + at + dot, name, len);
	y->path[at + dot + len] = '\0';
	y->level[y->depth].indent = l->indent;
	y->level[y->depth++].name_end = at + dot + len;
	return SB_OK;
}

/* An anchor's or a tag's name in front of a value. */
static void skip_mark(const char **value, size_t *len)
{
	while (*len > 0 && (**value == '&' || **value == '!')) {
		while (*len > 0 && **value != ' ') {
			++*value;
			--*len;
		}
		sb_trim(value, len);
	}
}

static int pair(struct yaml *y, struct options *out, const struct scan_line *l, struct sb_error *err)
{
	size_t name_len = 0, len;
	const char *name = l->text, *value = split(l->text, l->len, &name_len);
	struct sb_buf joined;
	int rc;

	if (!value)
		return scan_fail(err, l->number, "is no name: value");
	len = l->len - (size_t)(value - l->text);
	scan_unquote(&name, &name_len);
	sb_trim(&value, &len);
	skip_mark(&value, &len);
	if (len == 0)
		return enter(y, l, name, name_len, err);
	if (*value == '|' || *value == '>') {
		y->skip = l->indent;
		return SB_OK;
	}
	if (*value != '[' && *value != '{') {
		scan_unquote(&value, &len);
		return options_add_in(out, y->path, name, name_len, value, len, l->number, err);
	}
	sb_buf_init(&joined, OPTIONS_TEXT_MAX);
	rc = scan_flow(&y->scan, value, len, l->number, &joined, err);
	if (rc == SB_OK)
		rc = options_add_in(out, y->path, name, name_len, joined.data, joined.len, l->number, err);
	sb_buf_free(&joined);
	return rc;
}

static bool is_item(const struct scan_line *l)
{
	return l->text[0] == '-' && (l->len == 1 || l->text[1] == ' ');
}

/* Whether the line is content of what is passed over; ends the passing over where it is not. */
static bool is_skipped(struct yaml *y, const struct scan_line *l)
{
	if (is_item(l)) {
		if (y->skip == SIZE_MAX || l->indent <= y->skip)
			y->skip = l->indent;
		return true;
	}
	if (y->skip != SIZE_MAX && l->indent > y->skip)
		return true;
	y->skip = SIZE_MAX;
	return false;
}

int options_from_yaml(const char *text, size_t len, struct options *out, struct sb_error *err)
{
	struct yaml y = {.scan = {text, text + len, 0}, .skip = SIZE_MAX};
	struct scan_line l;
	int rc = options_check(text, len, err);

	while (rc == SB_OK && scan_next(&y.scan, &l)) {
		if (l.comment_len > 0)
			rc = options_comment(out, l.comment, l.comment_len, l.number, err);
		if (rc != SB_OK || l.len == 0 || (l.len == 3 && memcmp(l.text, "---", 3) == 0))
			continue;
		if (is_skipped(&y, &l))
			continue;
		if (l.tab) {
			rc = scan_fail(err, l.number, "is indented with a TAB");
			continue;
		}
		leave(&y, l.indent);
		rc = pair(&y, out, &l, err);
	}
	return rc == SB_OK ? options_close(out, err) : rc;
}
