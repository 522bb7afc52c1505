#include <string.h>

#include "profiler/read/json_impl.h"
#include "profiler/read/json_scan.h"

/* How far a check of UTF-8 has come: `more` continuation bytes are due, the next one within [low, high]. */
struct utf8 {
	uint8_t more, low, high;
	bool bad;
};

static void utf8_lead(struct utf8 *u, uint8_t c)
{
	u->low = 0x80;
	u->high = 0xBF;
	u->more = 0;
	if (c < 0x80)
		return;
	if (c >= 0xC2 && c <= 0xDF) {
		u->more = 1;
	} else if (c >= 0xE0 && c <= 0xEF) {
		u->more = 2;
		u->low = c == 0xE0 ? 0xA0 : 0x80;
		u->high = c == 0xED ? 0x9F : 0xBF;
	} else if (c >= 0xF0 && c <= 0xF4) {
		u->more = 3;
		u->low = c == 0xF0 ? 0x90 : 0x80;
		u->high = c == 0xF4 ? 0x8F : 0xBF;
	} else {
		u->bad = true;
	}
}

static void utf8_feed(struct utf8 *u, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)p[i];

		if (u->more == 0) {
			utf8_lead(u, c);
		} else if (c >= u->low && c <= u->high) {
			u->more--;
			u->low = 0x80;
			u->high = 0xBF;
		} else {
			u->bad = true;
			utf8_lead(u, c);
		}
	}
}

/* A string being put together. */
struct text {
	struct jpull *j;
	size_t len, limit;
	bool keep, cut;
	uint32_t high; /* a high surrogate that waits for its low one, 0 = none */
	struct utf8 utf8;
};

static void add_bytes(struct text *t, const char *p, size_t n)
{
	if (n > t->limit - t->len) {
		n = t->limit - t->len;
		t->cut = true;
	}
	if (t->keep && n > 0)
		memcpy(t->j->scratch + t->len, p, n);
	t->len += n;
}

static void add_code(struct text *t, uint32_t c)
{
	char b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (char)(0xC0 | c >> 6);
		b[1] = (char)(0x80 | (c & 0x3F));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char)(0xE0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 0x3F));
		b[2] = (char)(0x80 | (c & 0x3F));
		n = 3;
	} else {
		b[0] = (char)(0xF0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 0x3F));
		b[2] = (char)(0x80 | (c >> 6 & 0x3F));
		b[3] = (char)(0x80 | (c & 0x3F));
		n = 4;
	}
	/* half a character is worse than none */
	if (n > t->limit - t->len)
		t->limit = t->len;
	add_bytes(t, b, n);
}

#define REPLACEMENT 0xFFFDu

static void flush_surrogate(struct text *t)
{
	if (t->high)
		add_code(t, REPLACEMENT);
	t->high = 0;
}

static void add_unit(struct text *t, uint32_t unit)
{
	if (unit >= 0xDC00 && unit <= 0xDFFF && t->high) {
		add_code(t, 0x10000 + ((t->high - 0xD800) << 10) + (unit - 0xDC00));
		t->high = 0;
		return;
	}
	flush_surrogate(t);
	if (unit >= 0xD800 && unit <= 0xDBFF)
		t->high = unit;
	else if (unit >= 0xDC00 && unit <= 0xDFFF)
		add_code(t, REPLACEMENT);
	else
		add_code(t, unit);
}

/* The next byte without taking it. */
static int look(struct jpull *j, char *out_c, struct sb_error *err)
{
	while (j->p == j->end) {
		int rc = jpull_refill(j, err);

		if (rc != SB_OK)
			return rc;
		if (j->p == j->end && j->eof)
			return jpull_cut(j, err);
	}
	*out_c = *j->p;
	return SB_OK;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void keep_escape(struct text *t, const char *p, size_t n, int64_t offset)
{
	jpull_note(&t->j->flaws.bad_escape, offset);
	flush_surrogate(t);
	add_bytes(t, p, n);
}

/* Four hexadecimal digits; fewer are left in the text as they stand. */
static int read_unit(struct text *t, int64_t offset, struct sb_error *err)
{
	char seen[6] = {'\\', 'u'};
	uint32_t unit = 0;
	char c = 0;

	for (size_t i = 0; i < 4; i++) {
		int rc = look(t->j, &c, err);

		if (rc != SB_OK)
			return rc;
		if (hex(c) < 0) {
			keep_escape(t, seen, 2 + i, offset);
			return SB_OK;
		}
		seen[2 + i] = c;
		unit = unit << 4 | (uint32_t)hex(c);
		t->j->p++;
	}
	add_unit(t, unit);
	return SB_OK;
}

/* p stands on the backslash. */
static int read_escape(struct text *t, struct sb_error *err)
{
	static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
	int64_t offset = jpull_at(t->j, t->j->p);
	const char *at;
	char c = 0;
	int rc;

	t->j->p++;
	rc = look(t->j, &c, err);
	if (rc != SB_OK)
		return rc;
	if (c == 'u') {
		t->j->p++;
		return read_unit(t, offset, err);
	}
	at = c ? strchr(FROM, c) : NULL;
	if (!at) {
		keep_escape(t, "\\", 1, offset);
		return SB_OK;
	}
	t->j->p++;
	flush_surrogate(t);
	add_bytes(t, &TO[at - FROM], 1);
	return SB_OK;
}

/* Plain bytes up to the next special one, which p stands on afterwards (or at the end of the block). */
static void read_plain(struct text *t)
{
	bool non_ascii = false;
	const char *q = json_scan_string(t->j->p, t->j->end, &non_ascii);
	size_t n = (size_t)(q - t->j->p);

	if (n == 0)
		return;
	flush_surrogate(t);
	if (non_ascii || t->utf8.more)
		utf8_feed(&t->utf8, t->j->p, n);
	add_bytes(t, t->j->p, n);
	t->j->p = q;
}

static void finish(struct text *t, int64_t offset, struct jpull_value *out)
{
	flush_surrogate(t);
	if (t->utf8.bad || t->utf8.more)
		jpull_note(&t->j->flaws.bad_utf8, offset);
	if (t->cut)
		jpull_note(&t->j->flaws.long_string, offset);
	out->text = t->keep ? t->j->scratch : "";
	out->len = t->keep ? t->len : 0;
}

int jpull_string(struct jpull *j, int64_t offset, bool keep, struct jpull_value *out, struct sb_error *err)
{
	struct text t = {.j = j, .limit = JPULL_TOKEN_MAX, .keep = keep};
	char c = 0;

	for (;;) {
		int rc = look(j, &c, err);

		if (rc != SB_OK)
			return rc;
		read_plain(&t);
		if (j->p == j->end)
			continue;
		c = *j->p;
		if (c == '"')
			break;
		/* a character that is not finished here never will be */
		if (t.utf8.more)
			t.utf8 = (struct utf8){.bad = true};
		if (c == '\\') {
			rc = read_escape(&t, err);
			if (rc != SB_OK)
				return rc;
			continue;
		}
		jpull_note(&j->flaws.control_char, jpull_at(j, j->p));
		flush_surrogate(&t);
		add_bytes(&t, &c, 1);
		j->p++;
	}
	j->p++;
	finish(&t, offset, out);
	return SB_OK;
}
