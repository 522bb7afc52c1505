#ifndef SB_PLANNER_EXPORT_OPTIONS_H
#define SB_PLANNER_EXPORT_OPTIONS_H
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* The options of a launcher's text, whatever its syntax, as a flat list of names and values: "--name value"
 * is name, a member of a section or an object is section.name. Only the syntax that launchers' files need is
 * read: no library for YAML or TOML would earn its place for twenty options, and an alias or a tag of YAML
 * that we do not follow cannot blow up. */

#define OPTIONS_MAX 8192 /* more than any launcher has */
#define OPTIONS_DEPTH 16
#define OPTIONS_TEXT_MAX ((size_t)1 << 20)

struct option_row {
	size_t name, value; /* offsets into text */
	int64_t line;       /* 1-based, 0 = unknown */
};
struct options {
	struct sb_buf text;
	struct option_row *rows; /* sorted by name once options_close() was called */
	size_t count, room;
};

void options_init(struct options *o);
void options_free(struct options *o);
#define OPTIONS_AUTO __attribute__((cleanup(options_free))) struct options

/* Adds one; both texts are copied. SB_EIMPOSSIBLE past OPTIONS_MAX; SB_ENOMEM, SB_ELIMIT. */
int options_add(struct options *o, const char *name, size_t name_len, const char *value, size_t value_len,
                int64_t line, struct sb_error *err);
/* Adds section.name, or name alone when section is empty. */
int options_add_in(struct options *o, const char *section, const char *name, size_t name_len,
                   const char *value, size_t value_len, int64_t line, struct sb_error *err);
/* What a comment says in our own words: "plan vpp=2: why" is the option "plan vpp". Other comments are passed
 * over. */
int options_comment(struct options *o, const char *text, size_t len, int64_t line, struct sb_error *err);
/* Ends the list. SB_EIMPOSSIBLE when a name stands twice. */
int options_close(struct options *o, struct sb_error *err);

/* The value, NULL when the option is not there. */
const char *options_get(const struct options *o, const char *name);
/* Each leaves *out alone when the option is not there. SB_EIMPOSSIBLE, with the option and its line, for a
 * value that is none. */
int options_integer(const struct options *o, const char *name, int64_t low, int64_t high, int64_t *out,
                    struct sb_error *err);
/* A finite number from low to high. */
int options_real(const struct options *o, const char *name, double low, double high, double *out,
                 struct sb_error *err);
/* true, false, True, False, 1, 0, yes, no, on, off; an empty value, as a flag has it, is true. */
int options_boolean(const struct options *o, const char *name, bool *out, struct sb_error *err);
/* One of the NULL-terminated words; *out is its index. */
int options_word(const struct options *o, const char *name, const char *const *words, int *out,
                 struct sb_error *err);
/* SB_EIMPOSSIBLE about one option: "line 3: NAME why". */
int options_fail(const struct options *o, const char *name, struct sb_error *err, const char *why);
/* Whole numbers out of "[[1, 2], [3]]", "1,2,3" or "4", brackets passed over, at most `room` of them. Returns
 * how many, -1 when it is no such list or longer. */
int64_t options_list(const char *value, int64_t *out, int64_t room);

/* The syntaxes. len <= OPTIONS_TEXT_MAX and no NUL inside (SB_EIMPOSSIBLE else). Each ends with
 * options_close(). */
int options_from_arguments(const char *text, size_t len, struct options *out, struct sb_error *err);
int options_from_lines(const char *text, size_t len, struct options *out, struct sb_error *err);
int options_from_toml(const char *text, size_t len, struct options *out, struct sb_error *err);
int options_from_yaml(const char *text, size_t len, struct options *out, struct sb_error *err);
/* A text that all of them refuse: too long, or with a NUL. */
int options_check(const char *text, size_t len, struct sb_error *err);
#endif
