#include <string.h>

#include "profiler/read/json_impl.h"
#include "profiler/read/json_scan.h"

/* Where the search for the next element stands. The bytes between two events look like "}, {", a quoted key
 * and a colon; those after the last one like "} ]" and then a comma, a brace or the end. Both may stand
 * inside a broken text or a nested list too: only parsing on tells. */
enum place { ANYWHERE, BRACE, COMMA, OBJECT, KEY, KEY_END, BRACKET, MORE };

struct search {
	enum place place;
	size_t key; /* where the key begins in carry */
	const char *const *keys;
};

static bool is_key(const char *const *keys, const char *key, size_t len)
{
	for (; *keys; keys++) {
		if (strlen(*keys) == len && memcmp(*keys, key, len) == 0)
			return true;
	}
	return false;
}

static enum place start_again(char c)
{
	return c == '}' ? BRACE : ANYWHERE;
}

/* One byte of the search; true: found, and carry holds the bytes from the element (or "]") on. */
static bool advance(struct jpull *j, struct search *s, char c)
{
	if (s->place != KEY && json_is(c, JSON_BLANK)) {
		if (s->place > COMMA)
			j->carry[j->carry_len++] = c;
		return false;
	}
	switch (s->place) {
	case BRACE: s->place = c == ',' ? COMMA : c == ']' ? BRACKET : start_again(c); break;
	case COMMA: s->place = c == '{' ? OBJECT : start_again(c); break;
	case OBJECT:
		s->place = c == '"' ? KEY : start_again(c);
		s->key = j->carry_len + 1;
		break;
	case KEY:
		if (c == '"')
			s->place =
			    is_key(s->keys, j->carry + s->key, j->carry_len - s->key) ? KEY_END : ANYWHERE;
		else if (!json_is(c, JSON_WORD))
			s->place = start_again(c);
		break;
	case KEY_END:
		if (c == ':') {
			j->carry[j->carry_len++] = c;
			return true;
		}
		s->place = start_again(c);
		break;
	case BRACKET:
		if (c == '}') {
			j->carry[j->carry_len++] = c;
			return true;
		}
		s->place = c == ',' ? MORE : ANYWHERE;
		break;
	case MORE:
		if (c == '"') {
			j->carry[j->carry_len++] = c;
			return true;
		}
		s->place = start_again(c);
		break;
	case ANYWHERE: s->place = start_again(c); break;
	}
	if (s->place == ANYWHERE || s->place == BRACE || s->place == COMMA)
		j->carry_len = 0;
	else
		j->carry[j->carry_len++] = c;
	return false;
}

/* Makes the parser read the carried bytes first and go on at p. */
static void resume(struct jpull *j, int depth, enum jpull_state state)
{
	j->later = j->p;
	j->later_end = j->end;
	j->end_offset -= j->end - j->p;
	j->p = j->carry;
	j->end = j->carry + j->carry_len;
	j->depth = depth;
	j->state = (uint8_t)state;
}

static int next_byte(struct jpull *j, bool *out_more, struct sb_error *err)
{
	while (j->p == j->end) {
		if (j->eof && !j->later) {
			*out_more = false;
			return SB_OK;
		}
		int rc = jpull_refill(j, err);

		if (rc != SB_OK)
			return rc;
	}
	*out_more = true;
	return SB_OK;
}

/* Carried bytes of an earlier call must be out of the way before carry is used again. */
static void drop_carry(struct jpull *j)
{
	if (!j->later)
		return;
	j->p = j->later;
	j->end_offset += j->later_end - j->later;
	j->end = j->later_end;
	j->later = NULL;
}

int jpull_recover(struct jpull *j, int depth, const char *const *keys, struct sb_error *err)
{
	struct search s = {.keys = keys};
	bool more = true, found = false;

	drop_carry(j);
	j->carry_len = 0;
	while (!found) {
		int rc = next_byte(j, &more, err);

		if (rc != SB_OK)
			return rc;
		if (!more && (s.place == BRACKET || s.place == MORE))
			break;
		if (!more)
			return jpull_cut(j, err);
		if (s.place == ANYWHERE) {
			const char *q = memchr(j->p, '}', (size_t)(j->end - j->p));

			j->p = q ? q : j->end;
			if (!q)
				continue;
		}
		/* a longer gap than any writer makes */
		if (j->carry_len >= CARRY_MAX - 2) {
			j->carry_len = 0;
			s.place = ANYWHERE;
			continue;
		}
		found = advance(j, &s, *j->p++);
	}
	jpull_mark(j, depth, false);
	resume(j, depth, j->carry[0] == ']' ? WANT_AFTER : WANT_FIRST_VALUE);
	return SB_OK;
}

int jpull_recover_member(struct jpull *j, const char *key, struct sb_error *err)
{
	size_t len = strlen(key), at = 0; /* 0: outside, 1 + n: after the quote and n bytes of the key */
	bool more = true;

	drop_carry(j);
	for (;;) {
		int rc = next_byte(j, &more, err);

		if (rc != SB_OK)
			return rc;
		if (!more)
			return jpull_cut(j, err);
		char c = *j->p++;

		if (at == len + 2 && json_is(c, JSON_BLANK))
			continue;
		if (at == len + 2 && c == ':')
			break;
		bool fits = (at > 0 && at <= len && c == key[at - 1]) || (at == len + 1 && c == '"');

		if (fits)
			at++;
		else
			at = c == '"' ? 1 : 0;
	}
	j->depth = 1;
	jpull_mark(j, 1, true);
	j->state = WANT_MEMBER;
	return SB_OK;
}
