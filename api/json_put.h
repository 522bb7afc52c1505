#ifndef SB_API_JSON_PUT_H
#define SB_API_JSON_PUT_H
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* JSON written as text, byte by byte what json_write() makes of the same values: for documents of so many
 * rows that the values would take ten times as long, and more memory than the rows themselves. Commas are put
 * where they belong. `name` is the member's, a text of ours without anything to escape; NULL for an element
 * of an array. Failures stick to the buffer. */

/* The most that a document may hold. */
#define JSON_PUT_MAX ((size_t)1 << 32)

/* The name alone: what is appended next is its value. */
void json_put_name(struct sb_buf *b, const char *name);
/* bracket: '{' or '['; closed by '}' or ']'. */
void json_put_open(struct sb_buf *b, const char *name, char bracket);
void json_put_close(struct sb_buf *b, char bracket);
/* null for SB_NULL. */
void json_put_int(struct sb_buf *b, const char *name, int64_t v);
/* null for NaN and infinities. */
void json_put_real(struct sb_buf *b, const char *name, double v);
/* As json_us(). */
void json_put_us(struct sb_buf *b, const char *name, int64_t ns);
/* A word of ours, without anything to escape. */
void json_put_word(struct sb_buf *b, const char *name, const char *word);
/* As json_text(); null for NULL. */
void json_put_text(struct sb_buf *b, const char *name, const char *bytes, size_t len);

/* The digits of a number, written before `end`; where they begin. At most 20. */
char *json_put_digits(char *end, uint64_t v);
#endif
