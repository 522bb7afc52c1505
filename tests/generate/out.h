#ifndef SB_TESTS_GENERATE_OUT_H
#define SB_TESTS_GENERATE_OUT_H
#include <stdbool.h>
#include <stdint.h>

/* A buffered writer onto a file, plain or gzip. A failed write ends the program with a message: a generator
 * has nothing to rescue. One owner. */
struct out;

/* Opens path for writing ("-" is standard output, never gzip). */
struct out *out_open(const char *path, bool gzip);
/* Flushes, closes and frees; NULL-safe. */
void out_close(struct out **o);
/* Bytes written so far, before compression. */
int64_t out_bytes(const struct out *o);
void out_text(struct out *o, const char *text);
void out_int(struct out *o, int64_t value);
/* Nanoseconds as decimal microseconds with exactly three digits: 1234567 is written 1234.567. */
void out_us(struct out *o, int64_t ns);
/* The same as the next cell of a CSV row: a comma comes first. */
void out_us_cell(struct out *o, int64_t ns);
/* Text as a JSON string with its quotes; bytes from 0x80 on pass as they are. */
void out_json(struct out *o, const char *text);
/* Text as a CSV cell, quoted when it has to be. */
void out_cell(struct out *o, const char *text);
/* printf, for the rows that are few. */
void out_fmt(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define OUT_AUTO __attribute__((cleanup(out_close))) struct out *

/* Prints the message and ends the program with status 1. */
_Noreturn void out_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Makes a directory and those above it, and is content when it is there already. */
void out_mkdir(const char *path);
/* calloc and realloc that never return NULL. */
void *out_alloc(void *old, int64_t count, int64_t size);
#endif
