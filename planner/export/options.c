#include "planner/export/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/search.h"

void options_init(struct options *o)
{
	*o = (struct options){0};
	/* A name in a deep section repeats its sections' names. */
	sb_buf_init(&o->text, 8 * OPTIONS_TEXT_MAX);
}

void options_free(struct options *o)
{
	sb_buf_free(&o->text);
	free(o->rows);
	o->rows = NULL;
	o->count = o->room = 0;
}

int options_check(const char *text, size_t len, struct sb_error *err)
{
	if (len > OPTIONS_TEXT_MAX)
		return sb_fail(err, SB_EIMPOSSIBLE, "too_large", "is longer than 1 MiB");
	if (len > 0 && memchr(text, '\0', len))
		return sb_fail(err, SB_EIMPOSSIBLE, "no_text", "holds a NUL");
	return SB_OK;
}

static int make_room(struct options *o, int64_t line, struct sb_error *err)
{
	size_t room = o->room ? 2 * o->room : 64;
	struct option_row *rows;

	if (o->count < o->room)
		return SB_OK;
	if (o->count >= OPTIONS_MAX)
		return sb_fail(err, SB_EIMPOSSIBLE, "too_many_options", "line %lld: more than %d options",
		               (long long)line, OPTIONS_MAX);
	rows = realloc(o->rows, room * sizeof(*rows));
	if (!rows)
		return sb_no_memory(err);
	o->rows = rows;
	o->room = room;
	return SB_OK;
}

int options_add_in(struct options *o, const char *section, const char *name, size_t name_len,
                   const char *value, size_t value_len, int64_t line, struct sb_error *err)
{
	struct option_row *row;
	int rc = make_room(o, line, err);

	if (rc != SB_OK)
		return rc;
	row = &o->rows[o->count];
	row->line = line;
	row->name = o->text.len;
	if (*section) {
		sb_buf_adds(&o->text, section);
		sb_buf_adds(&o->text, ".");
	}
	sb_buf_add(&o->text, name, name_len);
	sb_buf_add(&o->text, "", 1);
	row->value = o->text.len;
	sb_buf_add(&o->text, value, value_len);
	sb_buf_add(&o->text, "", 1);
	if (o->text.status != SB_OK)
		return sb_fail(err, o->text.status, "too_large", "the options are too long");
	o->count++;
	return SB_OK;
}

int options_add(struct options *o, const char *name, size_t name_len, const char *value, size_t value_len,
                int64_t line, struct sb_error *err)
{
	return options_add_in(o, "", name, name_len, value, value_len, line, err);
}

int options_comment(struct options *o, const char *text, size_t len, int64_t line, struct sb_error *err)
{
	static const char mark[] = "plan ";
	const char *equals, *end;

	sb_trim(&text, &len);
	if (len < sizeof(mark) - 1 || memcmp(text, mark, sizeof(mark) - 1) != 0)
		return SB_OK;
	equals = memchr(text, '=', len);
	end = memchr(text, ':', len);
	if (!equals || !end || end < equals)
		return SB_OK;
	return options_add(o, text, (size_t)(equals - text), equals + 1, (size_t)(end - equals - 1), line,
	                   err);
}

static int by_name(const void *a, const void *b, void *text)
{
	const struct option_row *x = a, *y = b;

	return strcmp((const char *)text + x->name, (const char *)text + y->name);
}

int options_close(struct options *o, struct sb_error *err)
{
	if (o->count > 0)
		qsort_r(o->rows, o->count, sizeof(*o->rows), by_name, o->text.data);
	for (size_t i = 1; i < o->count; i++) {
		const char *name = o->text.data + o->rows[i].name;

		if (strcmp(name, o->text.data + o->rows[i - 1].name) == 0)
			return sb_fail(err, SB_EIMPOSSIBLE, "given_twice", "%.80s stands twice", name);
	}
	return SB_OK;
}

static const struct option_row *find(const struct options *o, const char *name)
{
	size_t at = SB_BISECT(i, 0, o->count, strcmp(o->text.data + o->rows[i].name, name) < 0);

	return at < o->count && strcmp(o->text.data + o->rows[at].name, name) == 0 ? &o->rows[at] : NULL;
}

const char *options_get(const struct options *o, const char *name)
{
	const struct option_row *row = find(o, name);

	return row ? o->text.data + row->value : NULL;
}

int options_fail(const struct options *o, const char *name, struct sb_error *err, const char *why)
{
	const struct option_row *row = find(o, name);

	if (row && row->line > 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "bad_option", "line %lld: %s %s", (long long)row->line,
		               name, why);
	return sb_fail(err, SB_EIMPOSSIBLE, "bad_option", "%s %s", name, why);
}

int options_integer(const struct options *o, const char *name, int64_t low, int64_t high, int64_t *out,
                    struct sb_error *err)
{
	const char *text = options_get(o, name);
	int64_t value = 0;

	if (!text)
		return SB_OK;
	if (sb_parse_int(text, strlen(text), &value) != SB_OK)
		return options_fail(o, name, err, "is no whole number");
	if (value < low || value > high)
		return options_fail(o, name, err, "is out of range");
	*out = value;
	return SB_OK;
}

int options_real(const struct options *o, const char *name, double low, double high, double *out,
                 struct sb_error *err)
{
	const char *text = options_get(o, name);
	double value = 0;

	if (!text)
		return SB_OK;
	if (sb_parse_double(text, strlen(text), &value) != SB_OK)
		return options_fail(o, name, err, "is no number");
	if (!(value >= low && value <= high))
		return options_fail(o, name, err, "is out of range");
	*out = value;
	return SB_OK;
}

int options_word(const struct options *o, const char *name, const char *const *words, int *out,
                 struct sb_error *err)
{
	const char *text = options_get(o, name);

	for (int i = 0; text && words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return SB_OK;
		}
	}
	return text ? options_fail(o, name, err, "is none of the values that it may have") : SB_OK;
}

int options_boolean(const struct options *o, const char *name, bool *out, struct sb_error *err)
{
	static const char *const words[] = {"",      "true",  "True", "1",  "yes", "on",
	                                    "false", "False", "0",    "no", "off", NULL};
	int word = -1, rc = options_word(o, name, words, &word, err);

	if (rc == SB_OK && word >= 0)
		*out = word < 6;
	return rc;
}

int64_t options_list(const char *value, int64_t *out, int64_t room)
{
	int64_t count = 0;

	for (const char *c = value; *c;) {
		size_t len = strspn(c, "-0123456789");

		if (len == 0) {
			if (!strchr("[], \t", *c))
				return -1;
			c++;
			continue;
		}
		if (count == room || sb_parse_int(c, len, &out[count]) != SB_OK)
			return -1;
		count++;
		c += len;
	}
	return count;
}
