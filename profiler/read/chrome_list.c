#include <string.h>

#include "profiler/read/chrome_impl.h"

/* The text of a list in args, for the few that are read: written anew from its tokens, so that it is the same
 * however the file spaces it. */

#define LIST_TEXT_MAX 8192

struct list_text {
	char *text;
	size_t len, room;
	bool whole; /* everything fitted so far */
};

static void put(struct list_text *l, const char *text, size_t len)
{
	if (len > l->room - l->len)
		l->whole = false;
	if (!l->whole)
		return;
	memcpy(l->text + l->len, text, len);
	l->len += len;
}

static bool is_end(enum jpull_token t)
{
	return t == JPULL_ARRAY_END || t == JPULL_OBJECT_END;
}

static void put_token(struct list_text *l, const struct jpull_value *v)
{
	bool quoted = v->token == JPULL_STRING && !memchr(v->text, '"', v->len);

	if (l->len > 0 && !is_end(v->token) && l->text[l->len - 1] != '[')
		put(l, ",", 1);
	switch (v->token) {
	case JPULL_ARRAY: put(l, "[", 1); break;
	case JPULL_ARRAY_END: put(l, "]", 1); break;
	case JPULL_NUMBER: put(l, v->text, v->len); break;
	case JPULL_STRING:
		put(l, "\"", 1);
		/* a text with quotes of its own is none of those that are looked for */
		if (quoted)
			put(l, v->text, v->len);
		put(l, "\"", 1);
		break;
	default: put(l, "?", 1); break;
	}
}

int chrome_keep_list(struct chrome *c, struct chrome_text *out)
{
	size_t free_room = CHROME_TEXT_MAX - c->used - 1;
	struct list_text l = {.text = c->text + c->used,
	                      .room = free_room < LIST_TEXT_MAX ? free_room : LIST_TEXT_MAX,
	                      .whole = true};
	struct jpull_value v = {.token = JPULL_ARRAY};
	int depth = 0;

	for (;;) {
		int rc;

		if (v.token != JPULL_KEY)
			put_token(&l, &v);
		depth += v.token == JPULL_ARRAY || v.token == JPULL_OBJECT ? 1 : is_end(v.token) ? -1 : 0;
		if (depth == 0)
			break;
		rc = jpull_next(c->j, &v, &c->err);
		if (rc != SB_OK)
			return rc;
	}
	*out = (struct chrome_text){"", 0, JPULL_ARRAY};
	if (!l.whole)
		return SB_OK;
	l.text[l.len] = '\0';
	out->text = l.text;
	out->len = l.len;
	c->used += l.len < free_room ? l.len + 1 : l.len;
	return SB_OK;
}
