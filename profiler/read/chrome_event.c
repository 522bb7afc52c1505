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

	for (size_t i = 0; i < CHROME_ARGS_MAX; i++)
		c->event.args[i] = (struct chrome_text){.text = "", .token = JPULL_END};

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
		jpull_note(&c->long_text, v->offset);
		n = room;
	}
	memcpy(to, v->text, n);
	to[n] = '\0';
	out->text = to;
	out->len = n;
	/* the last byte stays free, so that even an overfull event has room for an empty text */
	c->used += n < room ? n + 1 : n;
}

#define WHOLE_US_MAX ((INT64_MAX - 999) / 1000)

/* Eight digits at once, by sums of neighbours; false when there is another byte among them. */
static inline bool eight_digits(const char *p, int64_t *out)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	if (((v & UINT64_C(0xF0F0F0F0F0F0F0F0)) |
	     ((v + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0F0F0F0F0F0F0F0F))) !=
	    UINT64_C(0x3333333333333333))
		return false;
	v &= UINT64_C(0x0F0F0F0F0F0F0F0F);
	v = v * 10 + (v >> 8);
	v = ((v & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
	     (v >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
	    32;
	*out = (int64_t)v;
	return true;
#else
	(void)p;
	(void)out;
	return false;
#endif
}

/* Digits and at most three decimals, as in all real files; false: leave it to sb_parse_us(). */
static bool plain_us(const char *p, size_t len, int64_t *out_ns)
{
	const char *end = p + len;
	int64_t v = 0, next;
	int unit = 1000;

	if (len > 20)
		return false;
	/* twice at most: 16 digits fit, whatever they are */
	while (end - p >= 8 && v < 100000000 && eight_digits(p, &next)) {
		v = v * 100000000 + next;
		p += 8;
	}
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

static void take_time(const struct jpull_value *v, enum chrome_time *out_state, int64_t *out_ns)
{
	int64_t ns = 0;

	*out_state = CHROME_TIME_BAD;
	*out_ns = 0;
	if ((v->token == JPULL_NUMBER || v->token == JPULL_STRING) &&
	    (plain_us(v->text, v->len, &ns) || sb_parse_us(v->text, v->len, &ns) == SB_OK)) {
		*out_state = CHROME_TIME_OK;
		*out_ns = ns;
	}
}

static void take_arg(struct chrome *c, int at, const struct jpull_value *v, int64_t offset)
{
	uint32_t bit = (uint32_t)1 << at;

	if (c->args_seen & bit)
		jpull_note(&c->duplicate, offset);
	c->args_seen |= bit;
	keep_text(c, v, &c->event.args[at]);
}

static int read_args_members(struct chrome *c)
{
	struct jpull_value key, v;
	int at, rc;

	for (;;) {
		if (jpull_pair(c->j, &key, &v)) {
			at = wanted(c, key.text, key.len);
			if (at >= 0)
				take_arg(c, at, &v, key.offset);
			continue;
		}
		rc = jpull_next(c->j, &key, &c->err);
		if (rc != SB_OK || key.token == JPULL_OBJECT_END)
			return rc;
		at = wanted(c, key.text, key.len);
		if (at < 0) {
			rc = jpull_drop(c->j, &c->err);
		} else {
			int64_t offset = key.offset;

			rc = jpull_next(c->j, &v, &c->err);
			if (rc == SB_OK) {
				take_arg(c, at, &v, offset);
				rc = v.token == JPULL_ARRAY && c->options.lists >> at & 1
				         ? chrome_keep_list(c, &c->event.args[at])
				         : jpull_skip(c->j, &v, &c->err);
			}
		}
		if (rc != SB_OK)
			return rc;
	}
}

static void no_args(struct chrome *c)
{
	for (uint32_t seen = c->args_seen; seen; seen &= seen - 1)
		c->event.args[__builtin_ctz(seen)] = (struct chrome_text){.text = "", .token = JPULL_END};
	c->args_seen = 0;
}

static int read_args(struct chrome *c)
{
	struct jpull_value v;
	int rc;

	no_args(c);
	if (c->arg_count == 0 || (c->options.skip_args && c->options.skip_args(c->options.self, &c->event)))
		return jpull_drop(c->j, &c->err);
	rc = jpull_next(c->j, &v, &c->err);
	if (rc != SB_OK)
		return rc;
	if (v.token != JPULL_OBJECT)
		return jpull_skip(c->j, &v, &c->err);
	return read_args_members(c);
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

static enum member member_of(const char *k, size_t len)
{
	switch (len) {
	case 2:
		return memcmp(k, "ph", 2) == 0   ? MEMBER_PH
		       : memcmp(k, "ts", 2) == 0 ? MEMBER_TS
		       : memcmp(k, "id", 2) == 0 ? MEMBER_ID
		                                 : MEMBER_OTHER;
	case 3:
		return memcmp(k, "pid", 3) == 0   ? MEMBER_PID
		       : memcmp(k, "tid", 3) == 0 ? MEMBER_TID
		       : memcmp(k, "cat", 3) == 0 ? MEMBER_CAT
		       : memcmp(k, "dur", 3) == 0 ? MEMBER_DUR
		                                  : MEMBER_OTHER;
	case 4:
		return memcmp(k, "name", 4) == 0   ? MEMBER_NAME
		       : memcmp(k, "args", 4) == 0 ? MEMBER_ARGS
		                                   : MEMBER_OTHER;
	default: return MEMBER_OTHER;
	}
}

/* A scalar, or the first token of a container, which stands for no usable value. */
static void take_member(struct chrome *c, enum member m, const struct jpull_value *v)
{
	struct chrome_event *e = &c->event;

	switch (m) {
	case MEMBER_PH:
		e->ph = '\0';
		if (v->token == JPULL_STRING && v->len == 1)
			e->ph = v->text[0];
		break;
	case MEMBER_TS: take_time(v, &e->ts, &e->ts_ns); break;
	case MEMBER_DUR: take_time(v, &e->dur, &e->dur_ns); break;
	case MEMBER_ID: keep_text(c, v, &e->id); break;
	case MEMBER_CAT: keep_text(c, v, &e->cat); break;
	case MEMBER_PID: keep_text(c, v, &e->pid); break;
	case MEMBER_TID: keep_text(c, v, &e->tid); break;
	case MEMBER_NAME: keep_text(c, v, &e->name); break;
	case MEMBER_ARGS: no_args(c); break;
	case MEMBER_OTHER: break;
	}
}

static int read_member(struct chrome *c, enum member m)
{
	struct jpull_value v;
	int rc;

	if (m == MEMBER_ARGS)
		return read_args(c);
	if (m == MEMBER_OTHER)
		return jpull_drop(c->j, &c->err);
	rc = jpull_next(c->j, &v, &c->err);
	if (rc != SB_OK)
		return rc;
	take_member(c, m, &v);
	return jpull_skip(c->j, &v, &c->err);
}

static void begin_event(struct chrome *c, int64_t offset)
{
	static const struct chrome_text NONE = {.text = "", .token = JPULL_END};
	struct chrome_event *e = &c->event;

	e->ph = '\0';
	e->name = e->cat = e->pid = e->tid = e->id = NONE;
	e->ts = e->dur = CHROME_TIME_MISSING;
	e->ts_ns = e->dur_ns = 0;
	e->offset = offset;
	no_args(c);
	c->used = 0;
}

static void see_member(struct chrome *c, enum member m, unsigned *seen, int64_t offset)
{
	if (m != MEMBER_OTHER && (*seen >> m & 1))
		jpull_note(&c->duplicate, offset);
	*seen |= 1u << m;
}

int chrome_read_event(struct chrome *c, int64_t offset, bool *out_any)
{
	struct jpull_value key, v;
	unsigned seen = 0;
	enum member m;
	int rc;

	begin_event(c, offset);
	for (;;) {
		if (jpull_pair(c->j, &key, &v)) {
			m = member_of(key.text, key.len);
			see_member(c, m, &seen, key.offset);
			take_member(c, m, &v);
			continue;
		}
		rc = jpull_next(c->j, &key, &c->err);
		if (rc != SB_OK)
			return rc;
		if (key.token == JPULL_OBJECT_END)
			break;
		m = member_of(key.text, key.len);
		see_member(c, m, &seen, key.offset);
		rc = read_member(c, m);
		if (rc != SB_OK)
			return rc;
	}
	*out_any = seen != 0;
	return SB_OK;
}
