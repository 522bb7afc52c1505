#include <string.h>

#include "profiler/read/chrome_impl.h"

static unsigned bucket_of(const char *key, size_t len)
{
	return len == 0 ? 0
	                : ((unsigned)len * 5 + (uint8_t)key[0] * 3 + (uint8_t)key[len - 1]) % CHROME_BUCKETS;
}

void chrome_index_args(struct chrome *c)
{
	const char *const *args = c->options.args;

	for (size_t i = 0; args && args[i] && i < CHROME_ARGS_MAX; i++) {
		unsigned b;

		c->len[i] = strlen(args[i]);
		b = bucket_of(args[i], c->len[i]);
		c->next[i] = c->bucket[b];
		c->bucket[b] = (uint8_t)(i + 1);
		c->arg_count = i + 1;
	}
}

static int wanted(const struct chrome *c, const char *key, size_t len)
{
	for (unsigned i = c->bucket[bucket_of(key, len)]; i > 0; i = c->next[i - 1]) {
		if (c->len[i - 1] == len && memcmp(c->options.args[i - 1], key, len) == 0)
			return (int)i - 1;
	}
	return -1;
}

void chrome_note(struct jpull_flaw *f, int64_t offset)
{
	if (f->count++ == 0)
		f->offset = offset;
}

/* A copy that lives as long as the event does. */
static void keep_text(struct chrome *c, const struct jpull_value *v, struct chrome_text *out)
{
	size_t n = v->len, room = CHROME_TEXT_MAX - c->used - 1;
	char *to = c->text + c->used;

	out->token = v->token;
	out->text = "";
	out->len = 0;
	if (v->token != JPULL_STRING && v->token != JPULL_NUMBER)
		return;
	if (n > room) {
		chrome_note(&c->long_text, v->offset);
		n = room;
	}
	memcpy(to, v->text, n);
	to[n] = '\0';
	out->text = to;
	out->len = n;
	/* the last byte stays free, so that even an overfull event has room for an empty text */
	c->used += n < room ? n + 1 : n;
}

/* Next value: kept when it is a scalar, skipped when it is a container. */
static int read_text(struct chrome *c, struct chrome_text *out)
{
	struct jpull_value v;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	keep_text(c, &v, out);
	return jpull_skip(c->j, &v, &c->err);
}

#define WHOLE_US_MAX ((INT64_MAX - 999) / 1000)

/* Digits and at most three decimals, as in all real files; false: leave it to sb_parse_us(). */
static bool plain_us(const char *p, size_t len, int64_t *out_ns)
{
	const char *end = p + len;
	int64_t v = 0;
	int unit = 1000;

	if (len > 20)
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (v > WHOLE_US_MAX / 10)
			return false;
		v = v * 10 + (*p - '0');
	}
	if (v > WHOLE_US_MAX || p == end - len)
		return false;
	v *= 1000;
	if (p < end && *p == '.') {
		for (p++; p < end && *p >= '0' && *p <= '9' && unit > 1; p++) {
			unit /= 10;
			v += (int64_t)(*p - '0') * unit;
		}
	}
	*out_ns = v;
	return p == end;
}

static int read_time(struct chrome *c, enum chrome_time *out_state, int64_t *out_ns)
{
	struct jpull_value v;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	*out_state = CHROME_TIME_BAD;
	*out_ns = 0;
	if (v.token == JPULL_NUMBER || v.token == JPULL_STRING) {
		int64_t ns = 0;

		if (plain_us(v.text, v.len, &ns) || sb_parse_us(v.text, v.len, &ns) == SB_OK) {
			*out_state = CHROME_TIME_OK;
			*out_ns = ns;
		}
	}
	return jpull_skip(c->j, &v, &c->err);
}

static int read_args_members(struct chrome *c)
{
	uint32_t seen = 0;
	struct jpull_value v;

	for (;;) {
		int at, rc = jpull_next(c->j, &v, &c->err);

		if (rc != SB_OK)
			return rc;
		if (v.token == JPULL_OBJECT_END)
			return SB_OK;
		at = wanted(c, v.text, v.len);
		if (at < 0) {
			rc = jpull_drop(c->j, &c->err);
		} else {
			if (seen >> at & 1)
				chrome_note(&c->duplicate, v.offset);
			seen |= (uint32_t)1 << at;
			rc = read_text(c, &c->event.args[at]);
		}
		if (rc != SB_OK)
			return rc;
	}
}

static int read_args(struct chrome *c)
{
	struct jpull_value v;
	int rc;

	if (c->arg_count == 0 || (c->options.skip_args && c->options.skip_args(c->options.self, &c->event)))
		return jpull_drop(c->j, &c->err);
	rc = jpull_next(c->j, &v, &c->err);
	if (rc != SB_OK)
		return rc;
	if (v.token != JPULL_OBJECT)
		return jpull_skip(c->j, &v, &c->err);
	return read_args_members(c);
}

static void no_args(struct chrome *c)
{
	for (size_t i = 0; i < c->arg_count; i++)
		c->event.args[i] = (struct chrome_text){.text = "", .token = JPULL_END};
}

enum member {
	MEMBER_PH,
	MEMBER_TS,
	MEMBER_ID,
	MEMBER_CAT,
	MEMBER_PID,
	MEMBER_TID,
	MEMBER_DUR,
	MEMBER_NAME,
	MEMBER_ARGS,
	MEMBER_OTHER
};

static enum member member_of(const char *key, size_t len)
{
	static const struct {
		char key[5];
		uint8_t len, member;
	} MEMBERS[] = {{"ph", 2, MEMBER_PH},   {"ts", 2, MEMBER_TS},     {"id", 2, MEMBER_ID},
	               {"cat", 3, MEMBER_CAT}, {"pid", 3, MEMBER_PID},   {"tid", 3, MEMBER_TID},
	               {"dur", 3, MEMBER_DUR}, {"name", 4, MEMBER_NAME}, {"args", 4, MEMBER_ARGS}};

	if (len < 2 || len > 4)
		return MEMBER_OTHER;
	for (size_t i = 0; i < sizeof(MEMBERS) / sizeof(MEMBERS[0]); i++) {
		if (MEMBERS[i].len == len && memcmp(MEMBERS[i].key, key, len) == 0)
			return (enum member)MEMBERS[i].member;
	}
	return MEMBER_OTHER;
}

static int read_ph(struct chrome *c)
{
	struct chrome_text t;
	int rc = read_text(c, &t);

	c->event.ph = '\0';
	if (rc == SB_OK && t.len == 1)
		c->event.ph = t.text[0];
	return rc;
}

static int read_member(struct chrome *c, enum member m)
{
	struct chrome_event *e = &c->event;

	switch (m) {
	case MEMBER_PH: return read_ph(c);
	case MEMBER_TS: return read_time(c, &e->ts, &e->ts_ns);
	case MEMBER_DUR: return read_time(c, &e->dur, &e->dur_ns);
	case MEMBER_ID: return read_text(c, &e->id);
	case MEMBER_CAT: return read_text(c, &e->cat);
	case MEMBER_PID: return read_text(c, &e->pid);
	case MEMBER_TID: return read_text(c, &e->tid);
	case MEMBER_NAME: return read_text(c, &e->name);
	case MEMBER_ARGS: no_args(c); return read_args(c);
	case MEMBER_OTHER: break;
	}
	return jpull_drop(c->j, &c->err);
}

int chrome_read_event(struct chrome *c, int64_t offset, bool *out_any)
{
	static const struct chrome_text NONE = {.text = "", .token = JPULL_END};
	struct chrome_event *e = &c->event;
	unsigned seen = 0;
	struct jpull_value v;

	e->ph = '\0';
	e->name = e->cat = e->pid = e->tid = e->id = NONE;
	e->ts = e->dur = CHROME_TIME_MISSING;
	e->ts_ns = e->dur_ns = 0;
	e->offset = offset;
	no_args(c);
	c->used = 0;
	*out_any = false;
	for (;;) {
		enum member m;
		int rc = jpull_next(c->j, &v, &c->err);

		if (rc != SB_OK)
			return rc;
		if (v.token == JPULL_OBJECT_END)
			return SB_OK;
		*out_any = true;
		m = member_of(v.text, v.len);
		if (m != MEMBER_OTHER) {
			if (seen >> m & 1)
				chrome_note(&c->duplicate, v.offset);
			seen |= 1u << m;
		}
		rc = read_member(c, m);
		if (rc != SB_OK)
			return rc;
	}
}
