#include "api/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define TEXT_MAX 4096
#define WRITE_FLAGS (JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY)

void json_release(json_t **value)
{
	json_decref(*value);
	*value = NULL;
}

/* From here on a double with 15 digits does not tell single nanoseconds any more (11.6 days). */
#define COARSE_NS INT64_C(1000000000000000)

json_t *json_us(int64_t ns)
{
	if (ns != SB_NULL && (ns >= COARSE_NS || ns <= -COARSE_NS) && ns % 1000 == 0)
		return json_integer(ns / 1000);
	return ns == SB_NULL ? json_null() : json_real((double)ns / 1000.0);
}

json_t *json_real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_whole_or_real(double v)
{
	/* below 2^53 */
	return fabs(v) < 9e15 && v == floor(v) ? json_integer((json_int_t)v) : json_real_or_null(v);
}

/* Length of the valid UTF-8 sequence at p, or 0. Overlong forms, surrogates and values past U+10FFFF are not
 * valid. */
static size_t utf8_sequence(const unsigned char *p, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t cp;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (n > len)
		return 0;
	cp = p[0] & (0xFFu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3F);
	}
	if (cp < least[n] || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
		return 0;
	return n;
}

/* Valid UTF-8 of at most TEXT_MAX bytes. */
static size_t clean_text(const char *bytes, size_t len, char out[TEXT_MAX])
{
	static const char replacement[3] = {'\xEF', '\xBF', '\xBD'}; /* U+FFFD */
	const unsigned char *p = (const unsigned char *)bytes;
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		size_t step = utf8_sequence(p + i, len - i);

		if (n + (step ? step : 3) > TEXT_MAX)
			break;
		if (step) {
			memcpy(out + n, p + i, step);
			n += step;
			i += step;
		} else {
			memcpy(out + n, replacement, sizeof(replacement));
			n += 3;
			i++;
		}
	}
	return n;
}

json_t *json_text(const char *bytes, size_t len)
{
	char out[TEXT_MAX];

	return json_stringn_nocheck(out, clean_text(bytes, len, out));
}

/* As jansson does. */
static void put_escaped(struct sb_buf *b, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		sb_buf_addf(b, "\\%c", to[at - from]);
	else
		sb_buf_addf(b, "\\u%04X", c);
}

void json_quote(struct sb_buf *b, const char *bytes, size_t len)
{
	char out[TEXT_MAX];
	size_t n = clean_text(bytes, len, out), done = 0;

	sb_buf_add(b, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)out[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		sb_buf_add(b, out + done, i - done);
		put_escaped(b, c);
		done = i + 1;
	}
	sb_buf_add(b, out + done, n - done);
	sb_buf_add(b, "\"", 1);
}

void json_warn(json_t *list, const char *code, const char *detail)
{
	json_array_append_new(list, json_pack("{s:s,s:s}", "code", code, "detail", detail));
}

char *json_write(const json_t *j, size_t *out_len)
{
	char *text = json_dumps(j, WRITE_FLAGS | JSON_COMPACT);

	if (text && out_len)
		*out_len = strlen(text);
	return text;
}

char *json_write_indented(const json_t *j)
{
	return json_dumps(j, WRITE_FLAGS | JSON_INDENT(2));
}
