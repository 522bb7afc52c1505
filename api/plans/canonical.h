#ifndef SB_API_PLANS_CANONICAL_H
#define SB_API_PLANS_CANONICAL_H
#include <jansson.h>

#include "base/buf.h"

/* Appends a value in the one form that equal values share: members sorted by their bytes, no blanks, integers
 * as integers however they were written, other numbers with the fewest digits that give them back. SB_ENOMEM,
 * SB_ELIMIT (size), SB_EINVAL (deeper than 64). */
int canonical_write(const json_t *value, struct sb_buf *out);
#endif
