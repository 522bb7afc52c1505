#ifndef SB_TESTS_UNIT_PROFILER_MADE_TEXT_H
#define SB_TESTS_UNIT_PROFILER_MADE_TEXT_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/generate/random.h"

/* Texts made up by a seed, and what may happen to them on their way. */
#define MADE_TEXT_MAX ((size_t)65536)

static inline size_t made_below(struct random *r, size_t n)
{
	return (size_t)(random_next(r) % n);
}

/* SIGNALBOX_TEST_SEED, or 1; told, so that a failure can be had again. */
static inline uint64_t made_seed(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const char *given = getenv("SIGNALBOX_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : 1;

	printf("SIGNALBOX_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

#define MADE_PICK(r, list) (list)[made_below(r, sizeof(list) / sizeof((list)[0]))]

static inline void made_blank(struct random *r, struct sb_buf *b)
{
	static const char *const BLANKS[] = {"", "", "", " ", "\n", "\t\r\n  ", "                    "};

	(void)sb_buf_adds(b, MADE_PICK(r, BLANKS));
}

static inline void made_string(struct random *r, struct sb_buf *b)
{
	static const char *const PARTS[] = {"a",
	                                    "name",
	                                    "a somewhat longer text of plain letters",
	                                    "\\n",
	                                    "\\\"",
	                                    "\\\\",
	                                    "\\/",
	                                    "\\u0041",
	                                    "\\u00e9",
	                                    "\\uFFFD",
	                                    "\\ud83d\\ude00",
	                                    "\\u0000",
	                                    "\xC3\xA9",
	                                    "\xE2\x82\xAC",
	                                    "\xF0\x9F\x98\x80",
	                                    "\x7F",
	                                    "{",
	                                    "]",
	                                    ",",
	                                    ":"};

	(void)sb_buf_adds(b, "\"");
	for (size_t n = made_below(r, 6); n > 0; n--)
		(void)sb_buf_adds(b, MADE_PICK(r, PARTS));
	(void)sb_buf_adds(b, "\"");
}

static inline void made_scalar(struct random *r, struct sb_buf *b)
{
	static const char *const NUMBERS[] = {"0",
	                                      "-0",
	                                      "7",
	                                      "-12",
	                                      "1.5",
	                                      "-0.25e3",
	                                      "1E+5",
	                                      "2e-7",
	                                      "123456789012345678",
	                                      "9223372036854775807",
	                                      "-9223372036854775808",
	                                      "1736408883704643.212",
	                                      "0.0000000000000000000001",
	                                      "1e308",
	                                      "100000000000000000000.5"};
	static const char *const WORDS[] = {"true", "false", "null"};

	switch (made_below(r, 4)) {
	case 0: made_string(r, b); break;
	case 1: (void)sb_buf_adds(b, MADE_PICK(r, WORDS)); break;
	default: (void)sb_buf_adds(b, MADE_PICK(r, NUMBERS)); break;
	}
}

/* depth: how many levels may still be opened. */
static inline void made_value(struct random *r, struct sb_buf *b, int depth)
{
	bool object = made_below(r, 2);
	size_t n = made_below(r, 5);

	if (depth == 0 || made_below(r, 3) == 0) {
		made_scalar(r, b);
		return;
	}
	(void)sb_buf_adds(b, object ? "{" : "[");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			(void)sb_buf_adds(b, ",");
		made_blank(r, b);
		if (object) {
			made_string(r, b);
			made_blank(r, b);
			(void)sb_buf_adds(b, ":");
			made_blank(r, b);
		}
		/* NOLINTNEXTLINE(misc-no-recursion): depth bounds it */
		made_value(r, b, depth - 1);
		made_blank(r, b);
	}
	made_blank(r, b);
	(void)sb_buf_adds(b, object ? "}" : "]");
}

/* Cuts bytes [at, at + n) out and puts others there. */
static inline void made_replace(struct sb_buf *b, size_t at, size_t n, const char *with, size_t len)
{
	char *rest;
	size_t tail = b->len - at - n;

	rest = malloc(tail + 1);
	if (!rest)
		return;
	memcpy(rest, b->data + at + n, tail);
	b->len = at;
	(void)sb_buf_add(b, with, len);
	(void)sb_buf_add(b, rest, tail);
	free(rest);
}

/* One accident: bytes flipped, lost, doubled, put in, or the end cut off. */
static inline void made_mutate(struct random *r, struct sb_buf *b)
{
	static const char *const PIECES[] = {"\"",
	                                     "\\",
	                                     "{",
	                                     "}",
	                                     "[",
	                                     "]",
	                                     ",",
	                                     ":",
	                                     " ",
	                                     "\n",
	                                     "\x01",
	                                     "\xFF",
	                                     "\xC3",
	                                     "\xED\xA0\x80",
	                                     "\\u",
	                                     "\\ud83",
	                                     "\\uDE00",
	                                     "\\q",
	                                     "NaN",
	                                     "Infinity",
	                                     "-Infinity",
	                                     "N/A",
	                                     "nan",
	                                     "00",
	                                     "1.",
	                                     ".5",
	                                     "1e",
	                                     "+1",
	                                     "-",
	                                     "1e400",
	                                     "18446744073709551616",
	                                     "\xEF\xBB\xBF",
	                                     "[[[[[[[[",
	                                     "tru",
	                                     "nulll",
	                                     "'a'",
	                                     "/* */",
	                                     "\\ud83d"};
	const char *piece = MADE_PICK(r, PIECES);
	size_t at = made_below(r, b->len + 1), n = made_below(r, 4);

	if (n > b->len - at)
		n = b->len - at;
	switch (made_below(r, 6)) {
	case 0:
		if (at < b->len)
			b->data[at] = (char)(b->data[at] ^ 1 << made_below(r, 8));
		break;
	case 1: made_replace(b, at, n, "", 0); break;
	case 2: b->len = at; break;
	case 3: made_replace(b, at, n, piece, strlen(piece)); break;
	case 4: {
		char twice[8];

		memcpy(twice, b->data + at, n);
		made_replace(b, at, 0, twice, n);
		break;
	}
	default: made_replace(b, at, 0, piece, strlen(piece)); break;
	}
}
#endif
