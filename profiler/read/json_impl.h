#ifndef SB_PROFILER_READ_JSON_IMPL_H
#define SB_PROFILER_READ_JSON_IMPL_H
#include "profiler/read/json.h"

/* Inside of the pull parser, shared by json.c, json_text.c, json_word.c and json_recover.c only. */

enum jpull_state {
	WANT_VALUE,       /* top level, nothing read yet */
	WANT_FIRST_KEY,   /* after { */
	WANT_KEY,         /* after a comma in an object */
	WANT_COLON,       /* after a key */
	WANT_MEMBER,      /* after the colon */
	WANT_FIRST_VALUE, /* after [ */
	WANT_ELEMENT,     /* after a comma in an array */
	WANT_AFTER,       /* after a value in an object or array */
	WANT_END          /* after the top-level value */
};

#define CARRY_MAX 256

struct jpull {
	struct stream *in;
	const char *p, *end; /* what is left of the present block */
	int64_t end_offset;  /* where `end` stands in the stream */
	bool eof;
	uint8_t state;
	int depth;
	uint64_t objects[JPULL_DEPTH_MAX / 64 + 1]; /* bit d: the container at depth d is an object */
	const char *later, *later_end; /* rest of the block that comes after the carried bytes; NULL: none */
	char carry[CARRY_MAX];
	size_t carry_len;
	char *scratch; /* JPULL_TOKEN_MAX bytes and a NUL: texts that do not lie in one block as they are */
	struct jpull_flaws flaws;
};

static inline int64_t jpull_at(const struct jpull *j, const char *p)
{
	return j->end_offset - (j->end - p);
}

static inline bool jpull_in_object(const struct jpull *j)
{
	return j->objects[j->depth / 64] >> (j->depth % 64) & 1;
}

static inline void jpull_mark(struct jpull *j, int depth, bool object)
{
	uint64_t bit = (uint64_t)1 << (depth % 64);

	if (object)
		j->objects[depth / 64] |= bit;
	else
		j->objects[depth / 64] &= ~bit;
}

/* Takes the next block once the present one is used up. At the end of the stream p == end and eof is set. */
int jpull_refill(struct jpull *j, struct sb_error *err);
/* Fills err with position and "bad_json" or "truncated". */
int jpull_bad(struct jpull *j, int64_t offset, const char *what, struct sb_error *err);
int jpull_cut(struct jpull *j, struct sb_error *err);

/* Drops plain tokens until the nesting is down at `depth`, or as far as it gets: the next token then needs
 * jpull_next()'s care (a block end, an escape, a flaw, an error). */
void jpull_drop_plain(struct jpull *j, int depth);
/* The rest of a string; p stands after the opening quote, which stood at `offset`. Handles everything:
 * escapes, flaws, block ends. keep: is the text wanted? */
int jpull_string(struct jpull *j, int64_t offset, bool keep, struct jpull_value *out, struct sb_error *err);
/* A number, a literal or an unknown value; p stands on its first byte. */
int jpull_word(struct jpull *j, struct jpull_value *out, struct sb_error *err);
#endif
