#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profiler/read/json_impl.h"
#include "profiler/read/json_scan.h"

/* JSON's grammar of a number; *out_integer: neither fraction nor exponent. */
static bool is_number(const char *p, size_t len, bool *out_integer)
{
	const char *end = p + len, *q;

	if (p < end && *p == '-')
		p++;
	q = json_scan_digits(p, end);
	if (q == p || (*p == '0' && q - p > 1))
		return false;
	*out_integer = q == end;
	if (q < end && *q == '.') {
		p = q + 1;
		q = json_scan_digits(p, end);
		if (q == p)
			return false;
	}
	if (q < end && (*q == 'e' || *q == 'E')) {
		p = q + 1;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		q = json_scan_digits(p, end);
		if (q == p)
			return false;
	}
	return q == end;
}

static bool fits(const char *p, size_t len)
{
	bool negative = *p == '-';
	uint64_t v = 0;

	for (size_t i = negative ? 1 : 0; i < len; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(p[i] - '0'), &v))
			return false;
	}
	return v <= (uint64_t)INT64_MAX + (negative ? 1 : 0);
}

static bool same(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

/* What C, Python and older C libraries print for a number that is none, and Kineto's own "not available". */
static bool is_unknown(const char *text, size_t len)
{
	static const char *const WORDS[] = {"nan",    "inf",    "infinity", "nan(ind)", "nan(snan)",
	                                    "1.#inf", "1.#ind", "1.#qnan",  "1.#snan",  NULL};

	if (same(text, len, "N/A"))
		return true;
	if (len > 0 && (*text == '-' || *text == '+')) {
		text++;
		len--;
	}
	for (size_t i = 0; WORDS[i]; i++) {
		if (same(text, len, WORDS[i]))
			return true;
	}
	return false;
}

static int classify(struct jpull *j, struct jpull_value *out, struct sb_error *err)
{
	bool integer = false;

	if (is_number(out->text, out->len, &integer)) {
		out->token = JPULL_NUMBER;
		if (integer && !fits(out->text, out->len))
			jpull_note(&j->flaws.big_integer, out->offset);
	} else if (out->len == 4 && memcmp(out->text, "true", 4) == 0) {
		out->token = JPULL_TRUE;
	} else if (out->len == 5 && memcmp(out->text, "false", 5) == 0) {
		out->token = JPULL_FALSE;
	} else if (out->len == 4 && memcmp(out->text, "null", 4) == 0) {
		out->token = JPULL_NULL;
	} else if (is_unknown(out->text, out->len)) {
		out->token = JPULL_UNKNOWN;
		jpull_note(&j->flaws.unknown_value, out->offset);
	} else {
		return jpull_bad(j, out->offset, "an unknown word", err);
	}
	return SB_OK;
}

/* Takes a run of word bytes that crosses a block end into the scratch buffer. */
static int gather(struct jpull *j, size_t *out_len, struct sb_error *err)
{
	size_t len = 0;

	for (;;) {
		const char *q = json_scan_word(j->p, j->end);
		size_t n = (size_t)(q - j->p), room = JPULL_TOKEN_MAX - len;

		if (n > room)
			n = room + 1; /* one too many: told apart by the caller */
		if (n > 0)
			memcpy(j->scratch + len, j->p, n);
		len += n;
		j->p = q;
		if (q < j->end || len > JPULL_TOKEN_MAX || (j->eof && !j->later))
			break;
		int rc = jpull_refill(j, err);

		if (rc != SB_OK)
			return rc;
	}
	*out_len = len;
	return SB_OK;
}

int jpull_word(struct jpull *j, struct jpull_value *out, struct sb_error *err)
{
	int64_t offset = jpull_at(j, j->p);
	const char *q = json_scan_word(j->p, j->end);
	int rc;

	out->offset = offset;
	if (q < j->end) {
		out->text = j->p;
		out->len = (size_t)(q - j->p);
		j->p = q;
	} else {
		out->text = j->scratch;
		rc = gather(j, &out->len, err);
		if (rc != SB_OK)
			return rc;
	}
	if (out->len > JPULL_TOKEN_MAX)
		return jpull_bad(j, offset, "an endless word", err);
	/* the end of the file right after it: nobody knows how it would have gone on */
	if (j->p == j->end && j->depth > 0)
		return jpull_cut(j, err);
	return classify(j, out, err);
}
