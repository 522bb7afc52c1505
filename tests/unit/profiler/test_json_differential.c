#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "profiler/read/json.h"
#include "tests/unit/profiler/made_text.h"

/* Our parser against Jansson: it must accept whatever Jansson accepts, with the same values and without a
 * flaw, and beyond that only what json.h says it tolerates. */

#define DOCUMENTS 30000
#define DUMP (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17))

/* What our parser made of a document. */
struct reading {
	int rc;
	char word[40];
	json_t *root;
	struct jpull_flaws flaws;
	bool nul, overflow; /* a NUL in a key, a number beyond a double */
};

struct builder {
	json_t *open[JPULL_DEPTH_MAX];
	char *keys[JPULL_DEPTH_MAX];
	size_t key_len[JPULL_DEPTH_MAX];
	int depth;
	struct reading *out;
};

static void put(struct builder *b, json_t *v)
{
	assert_non_null(v);
	if (b->depth == 0) {
		b->out->root = v;
		return;
	}
	json_t *in = b->open[b->depth - 1];

	if (json_is_array(in))
		assert_int_equal(json_array_append_new(in, v), 0);
	else if (json_object_setn_new_nocheck(in, b->keys[b->depth - 1], b->key_len[b->depth - 1], v) != 0)
		fail_msg("Jansson refuses a member");
}

static json_t *number(struct builder *b, const char *text)
{
	if (!strpbrk(text, ".eE")) {
		errno = 0;
		long long v = strtoll(text, NULL, 10);

		return errno ? json_string("big") : json_integer(v);
	}
	double d = strtod(text, NULL);

	b->out->overflow = b->out->overflow || isinf(d);
	return isinf(d) ? json_string("inf") : json_real(d);
}

static void scalar(struct builder *b, const struct jpull_value *v)
{
	char text[JPULL_TOKEN_MAX < 4096 ? 1 : 4096];

	switch (v->token) {
	case JPULL_STRING: put(b, json_stringn_nocheck(v->text, v->len)); break;
	case JPULL_NUMBER:
		assert_true(v->len < sizeof(text));
		memcpy(text, v->text, v->len);
		text[v->len] = '\0';
		put(b, number(b, text));
		break;
	case JPULL_TRUE: put(b, json_true()); break;
	case JPULL_FALSE: put(b, json_false()); break;
	case JPULL_NULL: put(b, json_null()); break;
	default: put(b, json_string("unknown")); break;
	}
}

static void key(struct builder *b, const struct jpull_value *v)
{
	char **to = &b->keys[b->depth - 1];

	b->out->nul = b->out->nul || memchr(v->text, '\0', v->len);
	free(*to);
	*to = malloc(v->len + 1);
	assert_non_null(*to);
	memcpy(*to, v->text, v->len);
	b->key_len[b->depth - 1] = v->len;
}

static void take(struct builder *b, const struct jpull_value *v)
{
	json_t *container;

	switch (v->token) {
	case JPULL_OBJECT:
	case JPULL_ARRAY:
		container = v->token == JPULL_OBJECT ? json_object() : json_array();
		put(b, container);
		b->open[b->depth++] = container;
		break;
	case JPULL_OBJECT_END:
	case JPULL_ARRAY_END:
		assert_true(b->depth > 0);
		b->depth--;
		break;
	case JPULL_KEY: key(b, v); break;
	case JPULL_END: assert_int_equal(b->depth, 0); break;
	default: scalar(b, v); break;
	}
}

/* pairs: the short cut for members is taken where it can be. */
static void read_ours(const char *text, size_t len, size_t block, bool pairs, struct reading *out)
{
	struct memory_stream m;
	struct builder *b = calloc(1, sizeof(*b));
	struct jpull_value v = {0}, k;
	struct sb_error err = {0};
	JPULL_AUTO j = NULL;

	*out = (struct reading){0};
	assert_non_null(b);
	b->out = out;
	memory_stream_init(&m, "a.json", text, len, block);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	do {
		if (pairs && jpull_pair(j, &k, &v)) {
			key(b, &k);
			scalar(b, &v);
			continue;
		}
		out->rc = jpull_next(j, &v, &err);
		if (out->rc == SB_OK)
			take(b, &v);
	} while (out->rc == SB_OK && v.token != JPULL_END);
	snprintf(out->word, sizeof(out->word), "%s", err.word);
	out->flaws = *jpull_flaws(j);
	for (int i = 0; i < JPULL_DEPTH_MAX; i++)
		free(b->keys[i]);
	free(b);
}

static void must(bool ok, const char *what, const char *text, size_t len)
{
	if (!ok)
		fail_msg("%s:\n%.*s", what, (int)len, text);
}

static void same(const json_t *a, const json_t *b, const char *text, size_t len)
{
	char *x = json_dumps(a, DUMP), *y = json_dumps(b, DUMP);

	must((!x && !y) || (x && y && strcmp(x, y) == 0), "the values differ", text, len);
	free(x);
	free(y);
}

static bool has_surrogate(const char *text, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i++)
		if (strncasecmp(text + i, "\\ud", 3) == 0 && text[i + 3] &&
		    strchr("89abcdefABCDEF", text[i + 3]))
			return true;
	return false;
}

/* What Jansson refuses and we do not must be one of the tolerances in json.h. */
static void tolerated(const struct reading *r, const json_error_t *e, const char *text, size_t len)
{
	const struct jpull_flaws *f = &r->flaws;
	bool mark = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
	bool ok = false;

	switch (json_error_code(e)) {
	case json_error_invalid_utf8: ok = f->bad_utf8.count > 0; break;
	/* numbers are kept as text */
	case json_error_numeric_overflow: ok = f->big_integer.count > 0 || r->overflow; break;
	case json_error_null_byte_in_key: ok = r->nul; break;
	case json_error_invalid_syntax:
	case json_error_premature_end_of_input:
		ok = f->unknown_value.count > 0 || f->control_char.count > 0 || f->trailing_comma.count > 0 ||
		     f->bad_escape.count > 0 || mark || has_surrogate(text, len);
		break;
	default: break;
	}
	must(ok, e->text, text, len);
}

/* How the documents fared: a test of nothing but broken ones would show little. */
struct tally {
	size_t both, ours_only, neither;
};

static void compare(const char *text, size_t len, size_t block, struct tally *t)
{
	json_error_t e = {0};
	json_t *theirs = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
	struct reading whole, pieces;

	read_ours(text, len, 0, true, &whole);
	read_ours(text, len, block, false, &pieces);
	must(whole.rc == pieces.rc && strcmp(whole.word, pieces.word) == 0, "blocks matter", text, len);
	must(memcmp(&whole.flaws, &pieces.flaws, sizeof(whole.flaws)) == 0, "blocks matter to flaws", text,
	     len);
	if (whole.rc == SB_OK)
		same(whole.root, pieces.root, text, len);
	/* Jansson takes a NUL behind the value for the end of the text, and looks no further */
	if (theirs && (whole.rc == SB_OK || !memchr(text, '\0', len))) {
		const struct jpull_flaws none = {0};

		must(whole.rc == SB_OK, whole.word, text, len);
		must(memcmp(&whole.flaws, &none, sizeof(none)) == 0, "a flaw in good JSON", text, len);
		same(whole.root, theirs, text, len);
		t->both++;
	} else if (whole.rc == SB_OK) {
		tolerated(&whole, &e, text, len);
		t->ours_only++;
	} else {
		t->neither++;
	}
	json_decref(theirs);
	json_decref(whole.root);
	json_decref(pieces.root);
}

static void test_documents(void **state)
{
	struct random r = {.state = made_seed()};
	struct tally t = {0};

	(void)state;
	for (int i = 0; i < DOCUMENTS; i++) {
		SB_BUF_AUTO b = {0};

		sb_buf_init(&b, MADE_TEXT_MAX);
		made_blank(&r, &b);
		made_value(&r, &b, 5);
		made_blank(&r, &b);
		for (size_t n = made_below(&r, 4); n > 0; n--)
			made_mutate(&r, &b);
		assert_int_equal(b.status, SB_OK);
		compare(b.data, b.len, 1 + made_below(&r, 40), &t);
	}
	print_message("both %zu, ours only %zu, neither %zu\n", t.both, t.ours_only, t.neither);
	assert_true(t.both > DOCUMENTS / 5 && t.ours_only > DOCUMENTS / 50 && t.neither > DOCUMENTS / 10);
}

/* Jansson allows 2048 levels, we allow JPULL_DEPTH_MAX: the one thing that it takes and we do not. */
static void test_depth(void **state)
{
	char text[4000];

	(void)state;
	for (size_t depth = JPULL_DEPTH_MAX - 1; depth <= JPULL_DEPTH_MAX + 1; depth++) {
		struct reading r;
		json_t *theirs;

		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		theirs = json_loadb(text, 2 * depth, 0, NULL);
		assert_non_null(theirs);
		json_decref(theirs);
		read_ours(text, 2 * depth, 7, false, &r);
		assert_int_equal(r.rc, depth <= JPULL_DEPTH_MAX ? SB_OK : SB_EFORMAT);
		if (r.rc != SB_OK)
			assert_string_equal(r.word, "too_deep");
		json_decref(r.root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_documents), cmocka_unit_test(test_depth)};

	return cmocka_run_group_tests_name("json against Jansson", tests, NULL, NULL);
}
