#include "api/plans/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53: beyond it a double is no exact integer */

json_t *json_readable(const json_t *value)
{
	union {
		const json_t *only_read;
		json_t *plain;
	} same = {.only_read = value};

	return same.plain;
}

struct place place_of(const char *pointer)
{
	struct place p;

	snprintf(p.pointer, sizeof(p.pointer), "%s", pointer);
	return p;
}

struct place place_member(const struct place *at, const char *member)
{
	struct place p = *at;
	size_t n = strlen(p.pointer);

	if (n + 2 < sizeof(p.pointer))
		p.pointer[n++] = '/';
	for (; *member && n + 3 < sizeof(p.pointer); member++) {
		if (*member == '~' || *member == '/')
			p.pointer[n++] = '~';
		p.pointer[n++] = (char)(*member == '~' ? '0' : *member == '/' ? '1' : *member);
	}
	p.pointer[n] = '\0';
	return p;
}

struct place place_index(const struct place *at, size_t index)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", index);
	return place_member(at, text);
}

int parse_fail(struct sb_error *err, int code, const char *word, const struct place *at, const char *member,
               const char *text)
{
	struct place p = member ? place_member(at, member) : *at;

	return sb_fail_field(err, code, word, p.pointer, "%s", text);
}

int parse_unknown(struct sb_error *err, int code, const char *word, const struct place *at,
                  const char *member, const char *const *words)
{
	char text[sizeof(err->text)] = "must be ";
	size_t n = strlen(text);

	for (int i = 0; words[i] && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
		                      i == 0         ? ""
		                      : words[i + 1] ? ", "
		                                     : " or ",
		                      words[i]);
	return parse_fail(err, code, word, at, member, text);
}

static bool listed(const char *const *list, const char *text)
{
	for (; *list; list++) {
		if (strcmp(*list, text) == 0)
			return true;
	}
	return false;
}

int parse_members(const json_t *object, const struct place *at, const char *const *allowed,
                  struct sb_error *err)
{
	if (!json_is_object(object))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be an object");
	for (void *i = json_object_iter(json_readable(object)); i;
	     i = json_object_iter_next(json_readable(object), i)) {
		if (!listed(allowed, json_object_iter_key(i)))
			return parse_fail(err, SB_EINVAL, "unknown_member", at, json_object_iter_key(i),
			                  "is not a known member");
	}
	return SB_OK;
}

const json_t *parse_given(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);

	return json_is_null(v) ? NULL : v;
}

int parse_missing(struct sb_error *err, const json_t *object, const struct place *at, const char *member)
{
	return parse_fail(err, SB_EINVAL, "missing_member", at, member,
	                  json_object_get(object, member) ? "is null, and must be given" : "is missing");
}

/* The member, or NULL when it may be missing; *out_rc says whether to stop. */
static const json_t *member_of(const json_t *object, const struct place *at, const char *member,
                               enum need need, int *out_rc, struct sb_error *err)
{
	const json_t *v = parse_given(object, member);

	*out_rc = SB_OK;
	if (v)
		return v;
	if (need == REQUIRED)
		*out_rc = parse_missing(err, object, at, member);
	return NULL;
}

static int range_error(const struct place *at, double low, double high, struct sb_error *err)
{
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", at->pointer,
	                     "must lie between %.15g and %.15g", low, high);
}

int parse_integer_value(const json_t *value, const struct place *at, int64_t low, int64_t high, int64_t *out,
                        struct sb_error *err)
{
	int64_t n;

	if (!json_is_number(value))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be an integer");
	if (json_is_integer(value)) {
		n = json_integer_value(value);
	} else {
		double d = json_real_value(value);

		if (!(fabs(d) <= EXACT))
			return range_error(at, (double)low, (double)high, err);
		if (d != floor(d))
			return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be an integer");
		n = (int64_t)d;
	}
	if (n < low || n > high)
		return range_error(at, (double)low, (double)high, err);
	*out = n;
	return SB_OK;
}

int parse_integer(const json_t *object, const struct place *at, const char *member, enum need need,
                  int64_t low, int64_t high, int64_t *out, struct sb_error *err)
{
	struct place here = place_member(at, member);
	int rc;
	const json_t *v = member_of(object, at, member, need, &rc, err);

	return v ? parse_integer_value(v, &here, low, high, out, err) : rc;
}

int parse_number(const json_t *object, const struct place *at, const char *member, enum need need, double low,
                 double high, double *out, struct sb_error *err)
{
	struct place here = place_member(at, member);
	int rc;
	const json_t *v = member_of(object, at, member, need, &rc, err);
	double d;

	if (!v)
		return rc;
	if (!json_is_number(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a number");
	d = json_number_value(v);
	if (!(d >= low && d <= high))
		return range_error(&here, low, high, err);
	*out = d;
	return SB_OK;
}

int parse_numbers(const json_t *list, const struct place *at, double low, double high, double *out,
                  struct sb_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct place here = place_index(at, i);
		const json_t *v = json_array_get(list, i);

		if (!json_is_number(v))
			return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a number");
		out[i] = json_number_value(v);
		if (!(out[i] >= low && out[i] <= high))
			return range_error(&here, low, high, err);
	}
	return SB_OK;
}

int parse_boolean(const json_t *object, const struct place *at, const char *member, bool *out,
                  struct sb_error *err)
{
	int rc;
	const json_t *v = member_of(object, at, member, OPTIONAL, &rc, err);

	if (!v)
		return SB_OK;
	if (!json_is_boolean(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, member, "must be true or false");
	*out = json_is_true(v);
	return SB_OK;
}

int parse_text(const json_t *object, const struct place *at, const char *member, enum need need,
               const char **out, struct sb_error *err)
{
	int rc;
	const json_t *v = member_of(object, at, member, need, &rc, err);

	if (!v)
		return rc;
	if (!json_is_string(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, member, "must be a text");
	*out = json_string_value(v);
	return SB_OK;
}

int parse_name(const json_t *object, const struct place *at, const char *member, enum need need,
               const char **out, struct sb_error *err)
{
	const char *text = NULL;
	int rc = parse_text(object, at, member, need, &text, err);

	if (rc != SB_OK || !text)
		return rc;
	if (!*text)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member, "must not be empty");
	*out = text;
	return SB_OK;
}

int parse_word(const json_t *object, const struct place *at, const char *member, enum need need,
               const char *const *words, int *out, struct sb_error *err)
{
	const char *text = NULL;
	int rc = parse_text(object, at, member, need, &text, err);

	if (rc != SB_OK || !text)
		return rc;
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return SB_OK;
		}
	}
	return parse_unknown(err, SB_EIMPOSSIBLE, "unknown_value", at, member, words);
}

int parse_object(const json_t *object, const struct place *at, const char *member, enum need need,
                 const json_t **out, struct sb_error *err)
{
	int rc;
	const json_t *v = member_of(object, at, member, need, &rc, err);

	if (!v) {
		*out = NULL;
		return rc;
	}
	if (!json_is_object(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, member, "must be an object");
	*out = v;
	return SB_OK;
}
