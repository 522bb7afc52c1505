#include "base/num.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int sb_parse_int(const char *text, size_t len, int64_t *out_value)
{
	bool negative = len > 0 && text[0] == '-';
	size_t i = negative ? 1 : 0;
	int64_t v = 0;

	if (i == len)
		return SB_EINVAL;
	for (; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(v, (int64_t)10, &v) ||
		    __builtin_sub_overflow(v, (int64_t)(text[i] - '0'), &v))
			return SB_EINVAL;
	}
	if (!negative && v == INT64_MIN)
		return SB_EINVAL;
	*out_value = negative ? v : -v;
	return SB_OK;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void sb_trim(const char **text, size_t *len)
{
	while (*len > 0 && blank(**text)) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && blank((*text)[*len - 1]))
		(*len)--;
}

/* The digits of a number as they stand: value = digits * 10^exponent, `rest` tells what the dropped digits
 * were. */
struct decimal {
	uint64_t digits;
	int exponent; /* of the last kept digit */
	int dropped;  /* digits after the 19th: they only matter for rounding */
	int first_dropped;
	bool sticky; /* any nonzero digit after the first dropped one */
	bool negative;
};

static void push_digit(struct decimal *d, int digit, bool fraction)
{
	if (d->dropped == 0 && d->digits <= (UINT64_MAX - 9) / 10) {
		d->digits = d->digits * 10 + (uint64_t)digit;
		if (fraction)
			d->exponent--;
		return;
	}
	if (d->dropped == 0)
		d->first_dropped = digit;
	else if (digit != 0)
		d->sticky = true;
	d->dropped++;
	if (!fraction)
		d->exponent++;
}

static int scan_exponent(const char *text, size_t len, struct decimal *d)
{
	int64_t e;

	if (len > 0 && *text == '+') {
		text++;
		len--;
		if (len > 0 && *text == '-')
			return SB_EINVAL;
	}
	if (sb_parse_int(text, len, &e) != SB_OK || e > 30 || e < -30)
		return SB_EINVAL;
	d->exponent += (int)e;
	return SB_OK;
}

static int scan_decimal(const char *text, size_t len, struct decimal *d)
{
	size_t i = 0;
	bool fraction = false, any = false;

	*d = (struct decimal){0};
	if (i < len && (text[i] == '-' || text[i] == '+'))
		d->negative = text[i++] == '-';
	for (; i < len; i++) {
		if (text[i] == '.' && !fraction) {
			fraction = true;
		} else if (text[i] >= '0' && text[i] <= '9') {
			any = true;
			push_digit(d, text[i] - '0', fraction);
		} else {
			break;
		}
	}
	if (!any)
		return SB_EINVAL;
	if (i == len)
		return SB_OK;
	if (text[i] != 'e' && text[i] != 'E')
		return SB_EINVAL;
	return scan_exponent(text + i + 1, len - i - 1, d);
}

/* Divides by 10^places, rounding half to even with what was dropped before taken into account. */
static uint64_t shift_right(const struct decimal *d, int places)
{
	uint64_t q = d->digits, rem = 0, unit = 1;
	bool sticky = d->sticky || d->first_dropped > 0;

	if (places == 0) {
		bool up = d->first_dropped > 5 || (d->first_dropped == 5 && (d->sticky || (q & 1)));

		return q + (up ? 1 : 0);
	}
	if (places > 19)
		return 0;
	for (int i = 0; i < places - 1; i++) {
		sticky = sticky || rem > 0;
		rem = q % 10;
		q /= 10;
	}
	sticky = sticky || rem > 0;
	rem = q % 10;
	q /= 10;
	if (rem > 5 || (rem == 5 && (sticky || (q & 1))))
		q += unit;
	return q;
}

int sb_parse_scaled(const char *text, size_t len, int digits, int64_t *out_value)
{
	struct decimal d;
	uint64_t v;
	int shift;

	sb_trim(&text, &len);
	if (scan_decimal(text, len, &d) != SB_OK)
		return SB_EINVAL;
	shift = d.exponent + digits;
	if (shift <= 0) {
		v = shift_right(&d, -shift);
	} else {
		v = d.digits;
		for (; shift > 0 && v > 0; shift--) {
			if (__builtin_mul_overflow(v, (uint64_t)10, &v))
				return SB_ELIMIT;
		}
	}
	if (v > (uint64_t)INT64_MAX)
		return SB_ELIMIT;
	*out_value = d.negative ? -(int64_t)v : (int64_t)v;
	return SB_OK;
}

int sb_parse_us(const char *text, size_t len, int64_t *out_ns)
{
	return sb_parse_scaled(text, len, 3, out_ns);
}

/* Digits and a power of ten that are doubles themselves: the one rounding of their quotient or product gives
 * what strtod() gives, ten times as fast (Clinger, "How to read floating point numbers accurately", 1990). */
static bool exact_double(const char *text, size_t len, double *out_value)
{
	static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
	                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	struct decimal d;
	double v;

	if (scan_decimal(text, len, &d) != SB_OK || d.dropped > 0 || d.digits > UINT64_C(1) << 53 ||
	    d.exponent > 22 || d.exponent < -22)
		return false;
	v = (double)d.digits;
	v = d.exponent < 0 ? v / POWERS[-d.exponent] : v * POWERS[d.exponent];
	*out_value = d.negative ? -v : v;
	return true;
}

int sb_parse_double(const char *text, size_t len, double *out_value)
{
	char tmp[64];
	char *end;
	double v;

	sb_trim(&text, &len);
	if (len == 0 || len >= sizeof(tmp))
		return SB_EINVAL;
	if (exact_double(text, len, out_value))
		return SB_OK;
	/* strtod() would also take hexadecimal, "nan" and "infinity" */
	for (size_t i = 0; i < len; i++) {
		if (!strchr("0123456789+-.eE", text[i]) || text[i] == '\0')
			return SB_EINVAL;
	}
	memcpy(tmp, text, len);
	tmp[len] = '\0';
	v = strtod(tmp, &end);
	if (*end != '\0' || !isfinite(v))
		return SB_EINVAL;
	*out_value = v;
	return SB_OK;
}

int sb_compare(const int64_t *left, const int64_t *right, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

int sb_by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int64_t sb_gcd(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

double sb_median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	qsort(values, n, sizeof(*values), sb_by_double);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int64_t sb_add_sat(int64_t a, int64_t b)
{
	int64_t r;

	if (!__builtin_add_overflow(a, b, &r))
		return r;
	return a < 0 ? INT64_MIN + 1 : INT64_MAX;
}

int64_t sb_sub_sat(int64_t a, int64_t b)
{
	int64_t v;

	if (__builtin_sub_overflow(a, b, &v) || v == INT64_MIN)
		return a < b ? -INT64_MAX : INT64_MAX;
	return v;
}
