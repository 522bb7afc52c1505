#ifndef SB_API_PROFILES_JSON_BUILD_H
#define SB_API_PROFILES_JSON_BUILD_H
#include <jansson.h>
#include <stdint.h>

#include "base/strings.h"

/* Small builders shared by the documents. New references; Jansson's setters take NULL as "out of memory" and
 * pass it on by leaving the member out, so builders need no checks of their own. */

/* null for SB_NULL. */
json_t *json_int_or_null(int64_t v);
/* A text of a string set; null for id 0. */
json_t *json_string_id(const struct sb_strings *s, uint32_t id);
#endif
