#include "api/json_put.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/num.h"

/* The digits that jansson is told to write (json_write()), and where %g turns to exponents: a quotient with
 * fewer digits than that is written as they stand. */
#define DIGITS 15
#define EXACT_NS INT64_C(1000000000000000)

void json_put_name(struct sb_buf *b, const char *name)
{
	if (b->len > 0 && !strchr("[{:", b->data[b->len - 1]))
		sb_buf_add(b, ",", 1);
	if (name) {
		sb_buf_add(b, "\"", 1);
		sb_buf_adds(b, name);
		sb_buf_add(b, "\":", 2);
	}
}

void json_put_open(struct sb_buf *b, const char *name, char bracket)
{
	json_put_name(b, name);
	sb_buf_add(b, &bracket, 1);
}

void json_put_close(struct sb_buf *b, char bracket)
{
	sb_buf_add(b, &bracket, 1);
}

char *json_put_digits(char *end, uint64_t v)
{
	do {
		*--end = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	return end;
}

static char *put_signed(char *end, int64_t v)
{
	char *start = json_put_digits(end, v < 0 ? -(uint64_t)v : (uint64_t)v);

	if (v < 0)
		*--start = '-';
	return start;
}

void json_put_int(struct sb_buf *b, const char *name, int64_t v)
{
	char text[24], *end = text + sizeof(text), *start = put_signed(end, v);

	json_put_name(b, name);
	if (v == SB_NULL)
		sb_buf_adds(b, "null");
	else
		sb_buf_add(b, start, (size_t)(end - start));
}

/* Jansson tells reals by a point or an exponent, and writes exponents short: 1e-5. */
static void put_real(struct sb_buf *b, double v)
{
	char text[32];
	char *e, *digits;

	snprintf(text, sizeof(text), "%.*g", DIGITS, v);
	e = strchr(text, 'e');
	if (!e) {
		sb_buf_adds(b, text);
		if (!strchr(text, '.'))
			sb_buf_adds(b, ".0");
		return;
	}
	sb_buf_add(b, text, (size_t)(e - text) + 1);
	digits = e + 1;
	if (*digits == '-')
		sb_buf_add(b, digits, 1);
	sb_buf_adds(b, digits + 1 + strspn(digits + 1, "0"));
}

void json_put_real(struct sb_buf *b, const char *name, double v)
{
	json_put_name(b, name);
	if (isfinite(v))
		put_real(b, v);
	else
		sb_buf_adds(b, "null");
}

/* v / 1000 with at least one digit behind the point. */
static char *put_thousandths(char *end, int64_t v)
{
	uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;
	int digits = 3;
	char *start = end;

	for (; digits > 1 && left % 10 == 0; digits--)
		left /= 10;
	for (; digits > 0; digits--, left /= 10)
		*--start = (char)('0' + left % 10);
	*--start = '.';
	start = json_put_digits(start, left);
	if (v < 0)
		*--start = '-';
	return start;
}

void json_put_us(struct sb_buf *b, const char *name, int64_t ns)
{
	char text[32], *end = text + sizeof(text), *start;

	if (ns == SB_NULL) {
		json_put_int(b, name, ns);
	} else if (ns > -EXACT_NS && ns < EXACT_NS) {
		start = put_thousandths(end, ns);
		json_put_name(b, name);
		sb_buf_add(b, start, (size_t)(end - start));
	} else if (ns % 1000 == 0) {
		json_put_int(b, name, ns / 1000);
	} else {
		json_put_real(b, name, (double)ns / 1000.0);
	}
}

void json_put_word(struct sb_buf *b, const char *name, const char *word)
{
	json_put_name(b, name);
	sb_buf_add(b, "\"", 1);
	sb_buf_adds(b, word);
	sb_buf_add(b, "\"", 1);
}

void json_put_text(struct sb_buf *b, const char *name, const char *bytes, size_t len)
{
	json_put_name(b, name);
	if (bytes)
		json_quote(b, bytes, len);
	else
		sb_buf_adds(b, "null");
}
