#include "profiler/read/json_impl.h"
#include "profiler/read/json_scan.h"

/* The same grammar as in json.c, without making tokens: whatever is not plain is left where it is, so that
 * there is one place that judges it. */

/* Where the walk stands; written back to the parser after each step that is whole. */
struct walk {
	const char *p, *end;
	uint8_t state;
};

/* A key and its colon. */
static inline bool drop_key(struct walk *w)
{
	const char *q;

	if (*w->p != '"')
		return false;
	q = json_plain_string(w->p, w->end, JPULL_TOKEN_MAX);
	if (!q)
		return false;
	q = json_scan_blanks(q, w->end);
	if (q == w->end || *q != ':')
		return false;
	w->p = q + 1;
	w->state = WANT_MEMBER;
	return true;
}

static inline bool drop_scalar(struct walk *w)
{
	const char *q = *w->p == '"' ? json_plain_string(w->p, w->end, JPULL_TOKEN_MAX)
	                             : json_plain_number(w->p, w->end, JPULL_TOKEN_MAX);

	if (!q)
		return false;
	w->p = q;
	w->state = WANT_AFTER;
	return true;
}

static inline bool drop_value(struct jpull *j, struct walk *w)
{
	char c = *w->p;

	if (c != '{' && c != '[')
		return drop_scalar(w);
	if (j->depth == JPULL_DEPTH_MAX)
		return false;
	w->p++;
	jpull_mark(j, ++j->depth, c == '{');
	w->state = c == '{' ? WANT_FIRST_KEY : WANT_FIRST_VALUE;
	return true;
}

static inline bool drop_end(struct jpull *j, struct walk *w)
{
	if (*w->p != (jpull_in_object(j) ? '}' : ']'))
		return false;
	w->p++;
	j->depth--;
	w->state = j->depth > 0 ? WANT_AFTER : WANT_END;
	return true;
}

static inline bool drop_step(struct jpull *j, struct walk *w)
{
	switch ((enum jpull_state)w->state) {
	case WANT_AFTER:
		if (*w->p != ',')
			return drop_end(j, w);
		w->p++;
		w->state = jpull_in_object(j) ? WANT_KEY : WANT_ELEMENT;
		return true;
	case WANT_KEY: return drop_key(w);
	case WANT_FIRST_KEY: return *w->p == '}' ? drop_end(j, w) : drop_key(w);
	case WANT_FIRST_VALUE: return *w->p == ']' ? drop_end(j, w) : drop_value(j, w);
	case WANT_ELEMENT:
	case WANT_MEMBER: return drop_value(j, w);
	case WANT_COLON:
	case WANT_VALUE:
	case WANT_END: break;
	}
	return false;
}

void jpull_drop_plain(struct jpull *j, int depth)
{
	struct walk w = {.p = j->p, .end = j->end, .state = j->state};

	while (j->depth > depth) {
		w.p = json_scan_blanks(w.p, w.end);
		if (w.p == w.end || !drop_step(j, &w))
			break;
	}
	j->p = w.p;
	j->state = w.state;
}

/* Stands on the quote of a key? */
static inline bool to_key(const struct jpull *j, const char **p)
{
	*p = json_scan_blanks(*p, j->end);
	if (*p < j->end && j->state == WANT_AFTER && **p == ',' && jpull_in_object(j))
		*p = json_scan_blanks(*p + 1, j->end);
	else if (j->state != WANT_KEY && j->state != WANT_FIRST_KEY)
		return false;
	return *p < j->end && **p == '"';
}

bool jpull_pair(struct jpull *j, struct jpull_value *out_key, struct jpull_value *out_value)
{
	const char *p = j->p, *end = j->end, *key, *key_end, *q;
	bool text;

	if (!to_key(j, &p))
		return false;
	key = p;
	key_end = json_plain_string(p, end, JPULL_TOKEN_MAX);
	if (!key_end)
		return false;
	p = json_scan_blanks(key_end, end);
	if (p == end || *p != ':')
		return false;
	p = json_scan_blanks(p + 1, end);
	if (p == end)
		return false;
	text = *p == '"';
	q = text ? json_plain_string(p, end, JPULL_TOKEN_MAX) : json_plain_number(p, end, JPULL_TOKEN_MAX);
	if (!q)
		return false;
	out_key->offset = jpull_at(j, key);
	out_key->text = key + 1;
	out_key->len = (size_t)(key_end - key) - 2;
	out_value->offset = jpull_at(j, p);
	out_value->token = text ? JPULL_STRING : JPULL_NUMBER;
	out_value->text = text ? p + 1 : p;
	out_value->len = text ? (size_t)(q - p) - 2 : (size_t)(q - p);
	j->state = WANT_AFTER;
	if (q < end && *q == ',') {
		j->state = WANT_KEY;
		q++;
	}
	j->p = q;
	return true;
}
