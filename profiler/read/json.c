#include "profiler/read/json.h"

#include <stdlib.h>

#include "profiler/read/json_impl.h"
#include "profiler/read/json_scan.h"

#define B JSON_BLANK
#define D (JSON_DIGIT | JSON_WORD)
#define W JSON_WORD
const uint8_t JSON_BYTES[256] = {
    [' '] = B, ['\t'] = B, ['\n'] = B, ['\r'] = B, ['0'] = D, ['1'] = D, ['2'] = D, ['3'] = D, ['4'] = D,
    ['5'] = D, ['6'] = D,  ['7'] = D,  ['8'] = D,  ['9'] = D, ['A'] = W, ['B'] = W, ['C'] = W, ['D'] = W,
    ['E'] = W, ['F'] = W,  ['G'] = W,  ['H'] = W,  ['I'] = W, ['J'] = W, ['K'] = W, ['L'] = W, ['M'] = W,
    ['N'] = W, ['O'] = W,  ['P'] = W,  ['Q'] = W,  ['R'] = W, ['S'] = W, ['T'] = W, ['U'] = W, ['V'] = W,
    ['W'] = W, ['X'] = W,  ['Y'] = W,  ['Z'] = W,  ['a'] = W, ['b'] = W, ['c'] = W, ['d'] = W, ['e'] = W,
    ['f'] = W, ['g'] = W,  ['h'] = W,  ['i'] = W,  ['j'] = W, ['k'] = W, ['l'] = W, ['m'] = W, ['n'] = W,
    ['o'] = W, ['p'] = W,  ['q'] = W,  ['r'] = W,  ['s'] = W, ['t'] = W, ['u'] = W, ['v'] = W, ['w'] = W,
    ['x'] = W, ['y'] = W,  ['z'] = W,  ['+'] = W,  ['-'] = W, ['.'] = W, ['/'] = W, ['#'] = W, ['('] = W,
    [')'] = W, ['_'] = W,
};
#undef B
#undef D
#undef W

int jpull_new(struct stream *in, struct jpull **out)
{
	struct jpull *j = calloc(1, sizeof(*j));

	if (!j)
		return SB_ENOMEM;
	j->in = in;
	j->scratch = malloc(JPULL_TOKEN_MAX + 1);
	if (!j->scratch) {
		free(j);
		return SB_ENOMEM;
	}
	*out = j;
	return SB_OK;
}

void jpull_free(struct jpull **j)
{
	if (!*j)
		return;
	free((*j)->scratch);
	free(*j);
	*j = NULL;
}

int jpull_refill(struct jpull *j, struct sb_error *err)
{
	const char *data = NULL;
	size_t len = 0;
	int rc;

	if (j->later) {
		j->p = j->later;
		j->end = j->later_end;
		j->end_offset += j->later_end - j->later;
		j->later = NULL;
		return SB_OK;
	}
	if (j->eof)
		return SB_OK;
	rc = j->in->next(j->in, &data, &len, err);
	if (rc != SB_OK)
		return rc;
	if (len == 0) {
		j->eof = true;
		return SB_OK;
	}
	j->p = data;
	j->end = data + len;
	j->end_offset += (int64_t)len;
	return SB_OK;
}

int jpull_bad(struct jpull *j, int64_t offset, const char *what, struct sb_error *err)
{
	return sb_fail_at(err, SB_EFORMAT, "bad_json", j->in->path, 0, offset,
	                  "This is not JSON: %s at byte %lld.", what, (long long)offset);
}

int jpull_cut(struct jpull *j, struct sb_error *err)
{
	int64_t offset = jpull_at(j, j->p);

	return sb_fail_at(err, SB_EFORMAT, "truncated", j->in->path, 0, offset,
	                  "The JSON text ends too early, at byte %lld.", (long long)offset);
}

/* Moves to the next byte that is no blank; false in *out_more at the end of the stream. */
static inline int to_token(struct jpull *j, bool *out_more, struct sb_error *err)
{
	for (;;) {
		j->p = json_scan_blanks(j->p, j->end);
		if (j->p < j->end) {
			*out_more = true;
			return SB_OK;
		}
		if (j->eof && !j->later) {
			*out_more = false;
			return SB_OK;
		}
		int rc = jpull_refill(j, err);

		if (rc != SB_OK)
			return rc;
	}
}

static int at_end(struct jpull *j, struct jpull_value *out, struct sb_error *err)
{
	if (j->state == WANT_END) {
		*out = (struct jpull_value){.token = JPULL_END, .text = "", .offset = jpull_at(j, j->p)};
		return SB_OK;
	}
	if (j->state == WANT_VALUE)
		return sb_fail_at(err, SB_EFORMAT, "empty", j->in->path, 0, jpull_at(j, j->p),
		                  "The file holds no JSON value.");
	return jpull_cut(j, err);
}

/* A comma or colon that follows at once is taken along: one turn less in the loop below. */
static inline void after_value(struct jpull *j)
{
	if (j->depth == 0) {
		j->state = WANT_END;
	} else if (j->p < j->end && *j->p == ',') {
		j->p++;
		j->state = jpull_in_object(j) ? WANT_KEY : WANT_ELEMENT;
	} else {
		j->state = WANT_AFTER;
	}
}

static inline void after_key(struct jpull *j)
{
	if (j->p < j->end && *j->p == ':') {
		j->p++;
		j->state = WANT_MEMBER;
	} else {
		j->state = WANT_COLON;
	}
}

static int open_container(struct jpull *j, char c, struct jpull_value *out, struct sb_error *err)
{
	bool object = c == '{';
	int64_t offset = jpull_at(j, j->p);

	if (j->depth == JPULL_DEPTH_MAX)
		return sb_fail_at(err, SB_EFORMAT, "too_deep", j->in->path, 0, offset,
		                  "Values are nested more than %d levels deep at byte %lld.", JPULL_DEPTH_MAX,
		                  (long long)offset);
	*out =
	    (struct jpull_value){.token = object ? JPULL_OBJECT : JPULL_ARRAY, .text = "", .offset = offset};
	j->p++;
	jpull_mark(j, ++j->depth, object);
	j->state = object ? WANT_FIRST_KEY : WANT_FIRST_VALUE;
	return SB_OK;
}

static inline int close_container(struct jpull *j, char c, struct jpull_value *out)
{
	out->token = c == '}' ? JPULL_OBJECT_END : JPULL_ARRAY_END;
	out->text = "";
	out->len = 0;
	out->offset = jpull_at(j, j->p);
	j->p++;
	j->depth--;
	after_value(j);
	return SB_OK;
}

/* p stands on the opening quote. */
static inline int read_string(struct jpull *j, enum jpull_token token, bool keep, struct jpull_value *out,
                              struct sb_error *err)
{
	int64_t offset = jpull_at(j, j->p);
	const char *q = json_plain_string(j->p, j->end, JPULL_TOKEN_MAX);
	int rc;

	out->token = token;
	out->offset = offset;
	if (q) {
		out->text = j->p + 1;
		out->len = (size_t)(q - j->p) - 2;
		j->p = q;
	} else {
		j->p++;
		rc = jpull_string(j, offset, keep, out, err);
		if (rc != SB_OK)
			return rc;
	}
	if (token == JPULL_KEY)
		after_key(j);
	else
		after_value(j);
	return SB_OK;
}

/* The byte order mark is taken byte by byte: it may be split over blocks. */
static int skip_mark(struct jpull *j, struct sb_error *err)
{
	static const char MARK[3] = {'\xEF', '\xBB', '\xBF'};

	for (int i = 0; i < 3; i++) {
		while (j->p == j->end && !j->eof) {
			int rc = jpull_refill(j, err);

			if (rc != SB_OK)
				return rc;
		}
		if (j->p == j->end)
			return jpull_cut(j, err);
		if (*j->p != MARK[i])
			return jpull_bad(j, jpull_at(j, j->p), "an unexpected byte", err);
		j->p++;
	}
	return SB_OK;
}

static inline int read_value(struct jpull *j, bool keep, struct jpull_value *out, struct sb_error *err)
{
	char c = *j->p;
	const char *q;
	int rc;

	if (c == '"')
		return read_string(j, JPULL_STRING, keep, out, err);
	if (c == '{' || c == '[')
		return open_container(j, c, out, err);
	q = json_plain_number(j->p, j->end, JPULL_TOKEN_MAX);
	if (q) {
		out->token = JPULL_NUMBER;
		out->text = j->p;
		out->len = (size_t)(q - j->p);
		out->offset = jpull_at(j, j->p);
		j->p = q;
		after_value(j);
		return SB_OK;
	}
	if (!json_is(c, JSON_WORD))
		return jpull_bad(j, jpull_at(j, j->p), "a value is missing", err);
	rc = jpull_word(j, out, err);
	if (rc == SB_OK)
		after_value(j);
	return rc;
}

static void empty_value(struct jpull *j, struct jpull_value *out)
{
	*out = (struct jpull_value){.token = JPULL_UNKNOWN, .text = "", .offset = jpull_at(j, j->p)};
	jpull_note(&j->flaws.unknown_value, out->offset);
	after_value(j);
}

/* One token, or only a step towards it: false in *out_done then. p stands on a byte that is no blank. */
static inline int step(struct jpull *j, bool keep, bool *out_done, struct jpull_value *out,
                       struct sb_error *err)
{
	char c = *j->p;

	*out_done = true;
	switch ((enum jpull_state)j->state) {
	case WANT_AFTER:
		if (c == ',') {
			j->p++;
			j->state = jpull_in_object(j) ? WANT_KEY : WANT_ELEMENT;
			*out_done = false;
			return SB_OK;
		}
		if (c == (jpull_in_object(j) ? '}' : ']'))
			return close_container(j, c, out);
		return jpull_bad(j, jpull_at(j, j->p), "a comma or the end of a container is missing", err);
	case WANT_KEY:
	case WANT_FIRST_KEY:
		if (c == '"')
			return read_string(j, JPULL_KEY, keep, out, err);
		if (c != '}')
			return jpull_bad(j, jpull_at(j, j->p), "a key is missing", err);
		if (j->state == WANT_KEY)
			jpull_note(&j->flaws.trailing_comma, jpull_at(j, j->p));
		return close_container(j, c, out);
	case WANT_COLON:
		if (c != ':')
			return jpull_bad(j, jpull_at(j, j->p), "a colon is missing", err);
		j->p++;
		j->state = WANT_MEMBER;
		*out_done = false;
		return SB_OK;
	case WANT_MEMBER:
		if (c == ',' || c == '}') {
			empty_value(j, out);
			return SB_OK;
		}
		return read_value(j, keep, out, err);
	case WANT_ELEMENT:
	case WANT_FIRST_VALUE:
		if (c != ']')
			return read_value(j, keep, out, err);
		if (j->state == WANT_ELEMENT)
			jpull_note(&j->flaws.trailing_comma, jpull_at(j, j->p));
		return close_container(j, c, out);
	case WANT_VALUE:
		if (c == '\xEF' && jpull_at(j, j->p) == 0) {
			*out_done = false;
			return skip_mark(j, err);
		}
		return read_value(j, keep, out, err);
	case WANT_END: break;
	}
	return jpull_bad(j, jpull_at(j, j->p), "there is something after the value", err);
}

static inline int token(struct jpull *j, bool keep, struct jpull_value *out, struct sb_error *err)
{
	bool more = false, done = false;

	while (!done) {
		int rc = to_token(j, &more, err);

		if (rc == SB_OK)
			rc = more ? step(j, keep, &done, out, err) : at_end(j, out, err);
		if (rc != SB_OK)
			return rc;
		if (!more)
			return SB_OK;
	}
	return SB_OK;
}

int jpull_next(struct jpull *j, struct jpull_value *out, struct sb_error *err)
{
	return token(j, true, out, err);
}

static int drop_to(struct jpull *j, int depth, struct sb_error *err)
{
	struct jpull_value v = {0};

	while (j->depth > depth) {
		jpull_drop_plain(j, depth);
		if (j->depth == depth)
			break;
		int rc = token(j, false, &v, err);

		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int jpull_skip(struct jpull *j, const struct jpull_value *v, struct sb_error *err)
{
	if (v->token != JPULL_OBJECT && v->token != JPULL_ARRAY)
		return SB_OK;
	return drop_to(j, j->depth - 1, err);
}

int jpull_drop(struct jpull *j, struct sb_error *err)
{
	int depth = j->depth, rc;
	struct jpull_value v = {0};

	rc = token(j, false, &v, err);
	return rc == SB_OK ? drop_to(j, depth, err) : rc;
}

int jpull_depth(const struct jpull *j)
{
	return j->depth;
}

int64_t jpull_offset(const struct jpull *j)
{
	return jpull_at(j, j->p);
}

const struct jpull_flaws *jpull_flaws(const struct jpull *j)
{
	return &j->flaws;
}
