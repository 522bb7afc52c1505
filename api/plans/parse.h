#ifndef SB_API_PLANS_PARSE_H
#define SB_API_PLANS_PARSE_H
#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "base/err.h"

/* Reading members of JSON objects with errors that carry a JSON pointer (RFC 6901). The rules of the API: a
 * wrong type, a missing or an unknown member is SB_EINVAL; a value out of range is SB_EIMPOSSIBLE. */

/* Where an object sits in the request: "" for the root, "/model/moe", ... */
struct place {
	char pointer[120];
};
struct place place_of(const char *pointer);
struct place place_member(const struct place *at, const char *member);
struct place place_index(const struct place *at, size_t index);

/* Fails at a member (NULL: at the place itself). Returns code. */
int parse_fail(struct sb_error *err, int code, const char *word, const struct place *at, const char *member,
               const char *text);
/* The same for a word that is none of a NULL-terminated list: says which there are. */
int parse_unknown(struct sb_error *err, int code, const char *word, const struct place *at,
                  const char *member, const char *const *words);
/* SB_EINVAL: a member that must be given is missing, or null, as the text says. */
int parse_missing(struct sb_error *err, const json_t *object, const struct place *at, const char *member);
/* The member; NULL also where it is null, which says no more than leaving it out. */
const json_t *parse_given(const json_t *object, const char *member);
/* SB_EINVAL unless it is an object whose members are all in the NULL-terminated list. */
int parse_members(const json_t *object, const struct place *at, const char *const *allowed,
                  struct sb_error *err);

enum need { OPTIONAL, REQUIRED };
/* Each leaves *out alone when an optional member is missing (or null). An integer may be written as 3e11. */
int parse_integer(const json_t *object, const struct place *at, const char *member, enum need need,
                  int64_t low, int64_t high, int64_t *out, struct sb_error *err);
int parse_number(const json_t *object, const struct place *at, const char *member, enum need need, double low,
                 double high, double *out, struct sb_error *err);
int parse_boolean(const json_t *object, const struct place *at, const char *member, bool *out,
                  struct sb_error *err);
/* One of the NULL-terminated words; *out is its index. */
int parse_word(const json_t *object, const struct place *at, const char *member, enum need need,
               const char *const *words, int *out, struct sb_error *err);
/* A text; borrowed. */
int parse_text(const json_t *object, const struct place *at, const char *member, enum need need,
               const char **out, struct sb_error *err);
/* The same, of one character at least. */
int parse_name(const json_t *object, const struct place *at, const char *member, enum need need,
               const char **out, struct sb_error *err);
/* Like parse_integer() for a value that is already at hand. */
int parse_integer_value(const json_t *value, const struct place *at, int64_t low, int64_t high, int64_t *out,
                        struct sb_error *err);
/* A list of numbers that is already at hand, into out. */
int parse_numbers(const json_t *list, const struct place *at, double low, double high, double *out,
                  struct sb_error *err);
/* A member that is an object: *out is borrowed, NULL when it is missing and optional. */
int parse_object(const json_t *object, const struct place *at, const char *member, enum need need,
                 const json_t **out, struct sb_error *err);

/* The same value without const, for Jansson's iterators, which ask for a plain pointer even to read. */
json_t *json_readable(const json_t *value);
#endif
