#ifndef SB_PROFILER_READ_JSON_SCAN_H
#define SB_PROFILER_READ_JSON_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Scanning of bytes in memory, 16 at a time where the machine has SSE2. Nothing is read at or past `end`. */

/* What a byte is to the parser. */
enum json_byte {
	JSON_BLANK = 1,
	JSON_DIGIT = 2,
	JSON_WORD = 4 /* part of a number, a literal or one of the unknown values */
};
extern const uint8_t JSON_BYTES[256];

static inline bool json_is(char c, int classes)
{
	return (JSON_BYTES[(uint8_t)c] & classes) != 0;
}

/* The first byte in [p, end) that is no JSON blank. */
static inline const char *json_scan_blanks(const char *p, const char *end)
{
	/* mostly there is none or one */
	if (p < end && (uint8_t)*p > ' ')
		return p;
	if (p < end && json_is(*p, JSON_BLANK) && ++p < end && (uint8_t)*p > ' ')
		return p;
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i space = _mm_cmpeq_epi8(v, _mm_set1_epi8(' '));
		__m128i line = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\n')),
		                            _mm_cmpeq_epi8(v, _mm_set1_epi8('\r')));
		__m128i blank =
		    _mm_or_si128(_mm_or_si128(space, line), _mm_cmpeq_epi8(v, _mm_set1_epi8('\t')));
		unsigned other = ~(unsigned)_mm_movemask_epi8(blank) & 0xFFFFu;

		if (other)
			return p + __builtin_ctz(other);
		p += 16;
	}
#endif
	while (p < end && json_is(*p, JSON_BLANK))
		p++;
	return p;
}

/* The first '"', '\' or control byte in [p, end). Sets *non_ascii when a byte before it is above 0x7F. */
static inline const char *json_scan_string(const char *p, const char *end, bool *non_ascii)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i stop = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
		                            _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
		unsigned hits = (unsigned)_mm_movemask_epi8(_mm_or_si128(stop, control));
		unsigned high = (unsigned)_mm_movemask_epi8(v);

		if (hits) {
			unsigned at = (unsigned)__builtin_ctz(hits);

			if (high & ((1u << at) - 1))
				*non_ascii = true;
			return p + at;
		}
		if (high)
			*non_ascii = true;
		p += 16;
	}
#endif
	for (; p < end; p++) {
		uint8_t c = (uint8_t)*p;

		if (c == '"' || c == '\\' || c < 0x20)
			return p;
		if (c > 0x7F)
			*non_ascii = true;
	}
	return p;
}

/* The end of a run of word bytes. */
static inline const char *json_scan_word(const char *p, const char *end)
{
	while (p < end && json_is(*p, JSON_WORD))
		p++;
	return p;
}

static inline const char *json_scan_digits(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v =
		    _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8('0'));
		__m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v);
		unsigned other = ~(unsigned)_mm_movemask_epi8(digit) & 0xFFFFu;

		if (other)
			return p + __builtin_ctz(other);
		p += 16;
	}
#endif
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* What follows is for the many tokens that need no second look; NULL for the others, which the slow path
 * takes. */

/* Past a string of plain ASCII that lies in one block; p stands on the opening quote. */
static inline const char *json_plain_string(const char *p, const char *end, long max)
{
	bool non_ascii = false;
	const char *q = json_scan_string(p + 1, end, &non_ascii);

	return q < end && *q == '"' && !non_ascii && q - p - 1 <= max ? q + 1 : NULL;
}

/* Past a number without an exponent, with an integer part that fits into 64 bits for sure, that ends in this
 * block. */
static inline const char *json_plain_number(const char *p, const char *end, long max)
{
	const char *start = p, *digits;

	if (p < end && *p == '-')
		p++;
	digits = p;
	p = json_scan_digits(p, end);
	if (p == digits || p - digits > (*digits < '9' ? 19 : 18) || (*digits == '0' && p - digits > 1))
		return NULL;
	if (p < end && *p == '.') {
		digits = ++p;
		p = json_scan_digits(p, end);
		if (p == digits)
			return NULL;
	}
	return p < end && !json_is(*p, JSON_WORD) && p - start <= max ? p : NULL;
}
#endif
