#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/read/signalbox_impl.h"

static bool same(const struct word *w, const char *text, size_t len)
{
	return w->len == len && memcmp(w->text, text, len) == 0;
}

size_t word_find(const struct word *words, size_t count, size_t hint, const char *text, size_t len)
{
	if (hint < count && same(&words[hint], text, len))
		return hint;
	for (size_t i = 0; i < count; i++)
		if (same(&words[i], text, len))
			return i;
	return count;
}

static void unknown_member(struct signalbox *s, const struct jpull_value *key)
{
	struct signalbox_flaws *f = &s->flaws;

	if (f->unknown_member.count == 0)
		snprintf(f->member, sizeof(f->member), "%.*s",
		         (int)(key->len < sizeof(f->member) ? key->len : sizeof(f->member)), key->text);
	jpull_note(&f->unknown_member, key->offset);
}

int signalbox_object(struct signalbox *s, const struct shape *shape, void *item, struct sb_error *err)
{
	size_t at = SIZE_MAX;
	uint32_t seen = 0;

	for (;;) {
		struct jpull_value key, v;
		bool whole = jpull_pair(s->j, &key, &v);
		int depth, rc = SB_OK;

		if (!whole)
			rc = jpull_next(s->j, &key, err);
		if (rc != SB_OK || (!whole && key.token == JPULL_OBJECT_END))
			return rc;
		/* members mostly stand in the order of the table */
		at = word_find(shape->words, shape->count, at + 1, key.text, key.len);
		if (at == shape->count) {
			unknown_member(s, &key);
			rc = whole ? SB_OK : jpull_drop(s->j, err);
			if (rc != SB_OK)
				return rc;
			continue;
		}
		if (seen >> at & 1)
			jpull_note(&s->flaws.duplicate, key.offset);
		seen |= (uint32_t)1 << at;
		depth = jpull_depth(s->j);
		if (!whole)
			rc = jpull_next(s->j, &v, err);
		if (rc == SB_OK)
			rc = shape->take(s, item, shape->words[at].value, &v, err);
		if (rc == SB_OK && jpull_depth(s->j) > depth)
			rc = jpull_skip(s->j, &v, err);
		if (rc != SB_OK)
			return rc;
	}
}

/* Digits without a sign that fit for sure, as nearly all numbers are. */
static bool plain(const char *text, size_t len, int64_t *out)
{
	int64_t v = 0;

	if (len == 0 || len > (*text < '9' ? 19 : 18))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		v = v * 10 + (text[i] - '0');
	}
	*out = v;
	return true;
}

bool signalbox_int(const struct jpull_value *v, int64_t *out)
{
	const double exact = 9007199254740992.0; /* 2^53 */
	double d;

	if (v->token != JPULL_NUMBER && v->token != JPULL_STRING)
		return false;
	if (plain(v->text, v->len, out) || sb_parse_int(v->text, v->len, out) == SB_OK)
		return *out != SB_NULL;
	/* to JSON 1000.0 and 1e3 are whole numbers too */
	if (v->token != JPULL_NUMBER || sb_parse_double(v->text, v->len, &d) != SB_OK ||
	    !(fabs(d) <= exact) || d != floor(d))
		return false;
	*out = (int64_t)d;
	return true;
}

int64_t signalbox_optional(struct signalbox *s, const struct jpull_value *v, int64_t least)
{
	int64_t n;

	if (signalbox_int(v, &n) && n >= least)
		return n;
	/* the parser notes an unknown value itself */
	if (v->token != JPULL_NULL && v->token != JPULL_UNKNOWN)
		jpull_note(&s->flaws.bad_value, v->offset);
	return SB_NULL;
}

int signalbox_text(struct signalbox *s, const struct jpull_value *v, uint32_t *out)
{
	*out = 0;
	if (v->token == JPULL_STRING)
		return sb_strings_add(s->trace.strings, v->text, v->len, out);
	if (v->token != JPULL_NULL && v->token != JPULL_UNKNOWN)
		jpull_note(&s->flaws.bad_value, v->offset);
	return SB_OK;
}
