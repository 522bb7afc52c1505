#ifndef SB_BASE_NUM_H
#define SB_BASE_NUM_H
#include <stddef.h>
#include <stdint.h>

/* A quantity that is not there. A measured 0 is something else. */
#define SB_NULL INT64_MIN

/* Cuts spaces, TABs and line breaks off both ends of a text. */
void sb_trim(const char **text, size_t *len);
/* Strict decimal integer of the whole text (an optional '-', digits, nothing else). SB_EINVAL otherwise, also
 * on overflow. */
int sb_parse_int(const char *text, size_t len, int64_t *out_value);
/* Decimal text to an integer count of 10^-digits units, exactly, never through a double: with digits = 3,
 * "1736408883704643.212" (microseconds) becomes 1736408883704643212 (nanoseconds). Surrounding blanks and
 * TABs, a sign, a fraction of any length (rounded half to even) and an exponent (|e| <= 30) are accepted.
 * SB_EINVAL on anything else (empty, "N/A", NaN, inf), SB_ELIMIT outside int64. 0 <= digits <= 9. */
int sb_parse_scaled(const char *text, size_t len, int digits, int64_t *out_value);
/* Decimal microseconds to nanoseconds: sb_parse_scaled() with 3 digits. */
int sb_parse_us(const char *text, size_t len, int64_t *out_ns);
/* Decimal text to a double (finite only), for quantities that are no times. Blanks around it are accepted. */
int sb_parse_double(const char *text, size_t len, double *out_value);
/* Compares n numbers one after the other, for qsort(): -1, 0 or 1. */
int sb_compare(const int64_t *left, const int64_t *right, size_t n);
/* Doubles upwards, for qsort(). */
int sb_by_double(const void *a, const void *b);
static inline int64_t sb_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}
static inline int64_t sb_larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}
/* The greatest number that divides both; a, where b is 0. Of numbers that are not negative. */
int64_t sb_gcd(int64_t a, int64_t b);
/* The median; NaN for none. Sorts `values`. */
double sb_median(double *values, size_t n);
/* a + b; INT64_MAX or -INT64_MAX where it does not fit, so never SB_NULL by chance. */
int64_t sb_add_sat(int64_t a, int64_t b);
/* a - b, with the same bounds. */
int64_t sb_sub_sat(int64_t a, int64_t b);
#endif
