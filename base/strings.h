#ifndef SB_BASE_STRINGS_H
#define SB_BASE_STRINGS_H
#include <stddef.h>
#include <stdint.h>

/* A set of texts, each stored once and named by a small number. Id 0 is the empty text. Texts are bytes: they
 * may hold NUL or invalid UTF-8. One owner; reading is thread-safe once nothing is added any more. */
struct sb_strings;

/* SB_ENOMEM. */
int sb_strings_new(struct sb_strings **out);
/* NULL-safe. */
void sb_strings_free(struct sb_strings **s);
/* The id of a text, added when new. SB_ENOMEM; SB_ELIMIT past 2^31 bytes or ids. */
int sb_strings_add(struct sb_strings *s, const char *text, size_t len, uint32_t *out_id);
/* The id of a text, 0 when it is not there. */
uint32_t sb_strings_find(const struct sb_strings *s, const char *text, size_t len);
/* The text of an id: borrowed, NUL-terminated, valid until the next add. "" for an unknown id. len may be
 * NULL. */
const char *sb_strings_get(const struct sb_strings *s, uint32_t id, size_t *len);
/* How many ids there are, the empty text included. */
size_t sb_strings_count(const struct sb_strings *s);
#define SB_STRINGS_AUTO __attribute__((cleanup(sb_strings_free))) struct sb_strings *
#endif
