#ifndef SB_API_PLANS_SCHEMA_H
#define SB_API_PLANS_SCHEMA_H
#include <jansson.h>
#include <stdint.h>

/* JSON Schema (2020-12) of requests, piece by piece. All results are new references, NULL when out of memory;
 * a value that is passed in is taken over; a description may be NULL. */

json_t *schema_integer(int64_t low, int64_t high);
json_t *schema_number(double low, double high, const char *description);
json_t *schema_boolean(const char *description);
/* One of the NULL-terminated words. */
json_t *schema_words(const char *const *words);
/* 1 to most items. */
json_t *schema_list(int64_t most, json_t *items, const char *description);
json_t *schema_either(json_t *one, json_t *other);
/* An object without other members; required: NULL-terminated, or NULL. */
json_t *schema_object(json_t *properties, const char *const *required);
/* Makes an object's schema that of a whole request: with its kind and its methods. */
json_t *schema_request(json_t *object, const char *kind, const char *const *methods);
#endif
