#ifndef SB_API_JSON_H
#define SB_API_JSON_H
#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"

/* Values and texts of JSON, as the API writes them. */

/* Drops the reference at the end of the block. */
#define JSON_AUTO __attribute__((cleanup(json_release))) json_t *
void json_release(json_t **value);
/* Reads the text of a request; members may stand once. Numbers beyond the largest double, or whole ones
 * beyond 64 bits, are read as 1e308, so that they are refused where they stand and not as bad JSON. New
 * reference; NULL with *out_error. */
json_t *json_read_request(const char *text, size_t len, json_error_t *out_error);
/* A number in microseconds from ns: null for SB_NULL, else exact decimal digits: below 11.6 days to the
 * nanosecond (15 significant digits), above that to the nanosecond for whole microseconds. */
json_t *json_us(int64_t ns);
/* null for NaN and infinities. */
json_t *json_real_or_null(double v);
/* A whole number that a double holds exactly as one; all else as json_real_or_null(). */
json_t *json_whole_or_real(double v);
/* A text from outside: invalid UTF-8 replaced by U+FFFD, cut at 4096 bytes. */
json_t *json_text(const char *bytes, size_t len);
/* Appends the same as a JSON string, quoted: for answers of so many rows that building values first is too
 * slow. Failures stick to the buffer. */
void json_quote(struct sb_buf *b, const char *bytes, size_t len);
/* Appends {code, detail} to the warnings of an answer. */
void json_warn(json_t *list, const char *code, const char *detail);
/* Serialises: compact, sorted by insertion, reals with 15 digits. The caller frees. */
char *json_write(const json_t *j, size_t *out_len);
/* The same over many lines, for a person. */
char *json_write_indented(const json_t *j);
#endif
