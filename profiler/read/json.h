#ifndef SB_PROFILER_READ_JSON_H
#define SB_PROFILER_READ_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/read/stream.h"

/* An incremental JSON pull parser: bytes in by stream, tokens out on demand, memory bounded by
 * JPULL_TOKEN_MAX whatever the input. Tolerant where real traces are broken (research page trace-formats,
 * section 1), and says so through jpull_flaws(). One owner, not thread-safe. */
enum jpull_token {
	JPULL_END,    /* after the top-level value */
	JPULL_OBJECT, /* { */
	JPULL_OBJECT_END,
	JPULL_ARRAY, /* [ */
	JPULL_ARRAY_END,
	JPULL_KEY,    /* text = the key, unescaped */
	JPULL_STRING, /* text = the value, unescaped, as bytes: invalid UTF-8 is passed through, a lone
	                 surrogate becomes U+FFFD, an unknown escape stays as it is written */
	JPULL_NUMBER, /* text = the literal as it stands */
	JPULL_TRUE,
	JPULL_FALSE,
	JPULL_NULL,
	JPULL_UNKNOWN /* NaN, Infinity, N/A, an empty value: a value that is not known; text as it stands */
};

#define JPULL_TOKEN_MAX 262144 /* longer strings are cut there (flaw long_string) */
#define JPULL_DEPTH_MAX 512    /* deeper nesting fails: SB_EFORMAT "too_deep" */

struct jpull_value {
	enum jpull_token token;
	const char *text; /* valid until the next call */
	size_t len;
	int64_t offset; /* of its first byte in the stream */
};

/* Tolerated so far: counts, and the offset of the first. */
struct jpull_flaw {
	uint64_t count;
	int64_t offset;
};
/* One more. */
static inline void jpull_note(struct jpull_flaw *f, int64_t offset)
{
	if (f->count++ == 0)
		f->offset = offset;
}
struct jpull_flaws {
	struct jpull_flaw unknown_value; /* NaN, N/A, empty */
	struct jpull_flaw control_char;  /* raw control byte inside a string */
	struct jpull_flaw trailing_comma;
	struct jpull_flaw long_string;
	struct jpull_flaw bad_utf8;    /* a string or key with bytes that are no UTF-8 */
	struct jpull_flaw bad_escape;  /* a backslash before a letter that JSON does not know */
	struct jpull_flaw big_integer; /* does not fit into 64 bits, signed: the text is still exact */
};

struct jpull;
/* Starts a parser on a stream (borrowed). A UTF-8 byte order mark is skipped. */
int jpull_new(struct stream *in, struct jpull **out);
void jpull_free(struct jpull **j);
#define JPULL_AUTO __attribute__((cleanup(jpull_free))) struct jpull *

/* The next token. SB_EFORMAT with err->word "truncated" (input ended inside a value), "bad_json" or
 * "too_deep", file and byte offset; errors of the stream pass through. */
int jpull_next(struct jpull *j, struct jpull_value *out, struct sb_error *err);
/* Skips the rest of the value whose first token is `v` (nothing to do for scalars; a key is not a value). */
int jpull_skip(struct jpull *j, const struct jpull_value *v, struct sb_error *err);
/* After SB_EFORMAT "bad_json" inside an element of an array at nesting depth `depth` (1 = a bare array):
 * drops bytes up to where the next object of that array seems to begin (its first key is one of `keys`, which
 * ends with NULL) or the array seems to end, so that parsing can go on there. SB_EFORMAT "truncated" when
 * there is neither. May be called again when parsing went on at the wrong place. */
int jpull_recover(struct jpull *j, int depth, const char *const *keys, struct sb_error *err);
/* After SB_EFORMAT "bad_json" inside a member of the top-level object: drops bytes up to where the member
 * with this key (plain ASCII) seems to stand; the next token is the first one of its value. SB_EFORMAT
 * "truncated" when there is none. */
int jpull_recover_member(struct jpull *j, const char *key, struct sb_error *err);
/* Reads the value after a key, or the next element, and drops it: as jpull_next() and jpull_skip(), but its
 * texts are not kept. */
int jpull_drop(struct jpull *j, struct sb_error *err);
/* A short cut for the members of an object: takes the next key and its value at once when both are plain, the
 * value a number or a string. False: nothing was taken, and jpull_next() must go on (a container, a literal,
 * a flaw, the end of a block, the end of the object). Both texts are valid until the next call. */
bool jpull_pair(struct jpull *j, struct jpull_value *out_key, struct jpull_value *out_value);
/* How deep the parser stands: 0 at the top level. */
int jpull_depth(const struct jpull *j);
int64_t jpull_offset(const struct jpull *j);
const struct jpull_flaws *jpull_flaws(const struct jpull *j);
struct warnings;
/* Adds a warning for one kind of flaw, with its count and the offset of the first; none when there was none.
 * what is a sentence. */
void jpull_warn(struct warnings *w, const char *path, const struct jpull_flaw *f, const char *code,
                const char *what);
/* Adds a warning for each kind of flaw that was tolerated: bad_value, big_integer, control_character,
 * trailing_comma, bad_utf8, bad_escape, long_text. */
void jpull_report(const struct jpull *j, const char *path, struct warnings *warnings);
#endif
