#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profiler/read/json.h"

static void add_flaw(struct sb_buf *b, const char *name, const struct jpull_flaw *f)
{
	if (f->count > 0)
		sb_buf_addf(b, " !%s*%llu@%lld", name, (unsigned long long)f->count, (long long)f->offset);
}

static void add_flaws(struct sb_buf *b, const struct jpull_flaws *f)
{
	add_flaw(b, "unknown", &f->unknown_value);
	add_flaw(b, "control", &f->control_char);
	add_flaw(b, "comma", &f->trailing_comma);
	add_flaw(b, "long", &f->long_string);
	add_flaw(b, "utf8", &f->bad_utf8);
	add_flaw(b, "escape", &f->bad_escape);
	add_flaw(b, "big", &f->big_integer);
}

static void add_token(struct sb_buf *b, const struct jpull_value *v)
{
	static const char *const MARKS[] = {"$", "{", "}", "[", "]", "k:", "s:", "n:", "T", "F", "N", "?:"};

	sb_buf_addf(b, "%s", MARKS[v->token]);
	if (v->token >= JPULL_KEY && v->token != JPULL_TRUE && v->token != JPULL_FALSE &&
	    v->token != JPULL_NULL)
		sb_buf_add(b, v->text, v->len);
	sb_buf_addf(b, "@%lld ", (long long)v->offset);
}

/* All tokens as text; then the flaws; then the error's word and place. */
static char *tokens(const char *text, size_t len, size_t block)
{
	SB_BUF_AUTO b;
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v = {0};
	struct sb_error err = {0};
	int rc;

	sb_buf_init(&b, 1 << 26);
	memory_stream_init(&m, "t", text, len, block);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	do {
		rc = jpull_next(j, &v, &err);
		if (rc == SB_OK)
			add_token(&b, &v);
	} while (rc == SB_OK && v.token != JPULL_END);
	add_flaws(&b, jpull_flaws(j));
	if (rc != SB_OK)
		sb_buf_addf(&b, "!!%d %s@%lld", rc, err.word, (long long)err.offset);
	return sb_buf_take(&b);
}

/* What dropping the whole text leads to: the flaws and the error, if any. */
static char *dropped(const char *text, size_t len, size_t block)
{
	SB_BUF_AUTO b;
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v = {0};
	struct sb_error err = {0};
	int rc;

	sb_buf_init(&b, 1 << 20);
	memory_stream_init(&m, "t", text, len, block);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	rc = jpull_drop(j, &err);
	if (rc == SB_OK)
		rc = jpull_next(j, &v, &err);
	add_flaws(&b, jpull_flaws(j));
	if (rc != SB_OK)
		sb_buf_addf(&b, "!!%d %s@%lld", rc, err.word, (long long)err.offset);
	return sb_buf_take(&b);
}

/* Flaws and error: what comes after the last token. */
static const char *tail_of(const char *all)
{
	const char *p = strstr(all, " !");

	if (strncmp(all, "!!", 2) == 0)
		return all;
	if (!p)
		return "";
	return p[2] == '!' ? p + 1 : p;
}

/* In blocks of every size; dropping must judge as reading does. */
static void expect_bytes(const char *text, size_t len, const char *wanted)
{
	for (size_t block = 0; block <= len && block <= 70; block++) {
		char *got = tokens(text, len, block), *drop = dropped(text, len, block);

		assert_string_equal(got, wanted);
		assert_string_equal(drop, tail_of(got));
		free(got);
		free(drop);
	}
}

static void expect(const char *text, const char *wanted)
{
	expect_bytes(text, strlen(text), wanted);
}

static void test_values(void **state)
{
	(void)state;
	expect("0", "n:0@0 $@1 ");
	expect(" -0.5e+10 ", "n:-0.5e+10@1 $@10 ");
	expect("\"\"", "s:@0 $@2 ");
	expect("true", "T@0 $@4 ");
	expect("false", "F@0 $@5 ");
	expect("null\n", "N@0 $@5 ");
	expect("[]", "[@0 ]@1 $@2 ");
	expect("{}", "{@0 }@1 $@2 ");
	expect("\xEF\xBB\xBF[1]", "[@3 n:1@4 ]@5 $@6 ");
	expect("{ \"a\" : [ 1 , {\"b\":\"c\"}, [ ] ] ,\"d\":null\t}",
	       "{@0 k:a@2 [@8 n:1@10 {@14 k:b@15 s:c@19 }@22 [@25 ]@27 ]@29 k:d@32 N@36 }@41 $@42 ");
	expect("{\"a\":1,\"a\":2}", "{@0 k:a@1 n:1@5 k:a@7 n:2@11 }@12 $@13 ");
}

static void test_escapes(void **state)
{
	(void)state;
	expect("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s:\"\\/\b\f\n\r\t@0 $@18 ");
	expect("\"\\u0041\\u00e9\\u20AC\"", "s:A\xC3\xA9\xE2\x82\xAC@0 $@20 ");
	expect("\"\\ud83d\\ude00\"", "s:\xF0\x9F\x98\x80@0 $@14 ");
	/* lone surrogates */
	expect("\"a\\ud83d\"", "s:a\xEF\xBF\xBD@0 $@9 ");
	expect("\"\\ud83dx\\ude00\"", "s:\xEF\xBF\xBDx\xEF\xBF\xBD@0 $@15 ");
	expect("\"\\ud83d\\ud83d\\ude00\"", "s:\xEF\xBF\xBD\xF0\x9F\x98\x80@0 $@20 ");
	expect("\"\\ud83d\\n\"", "s:\xEF\xBF\xBD\n@0 $@10 ");
	expect("{\"\\u006b\":1}", "{@0 k:k@1 n:1@10 }@11 $@12 ");
	/* unknown escapes stay as written */
	expect("\"C:\\Users\\x\"", "s:C:\\Users\\x@0 $@12  !escape*2@3");
	expect("\"\\u12G4\"", "s:\\u12G4@0 $@8  !escape*1@1");
}

static void test_nul_in_text(void **state)
{
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v;

	(void)state;
	memory_stream_init(&m, "t", "[\"a\\u0000b\",\"c\0d\"]", 19, 0);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(v.len, 3);
	assert_memory_equal(v.text, "a\0b", 3);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(v.len, 3);
	assert_memory_equal(v.text, "c\0d", 3);
	assert_int_equal(jpull_flaws(j)->control_char.count, 1);
}

static void test_flaws(void **state)
{
	(void)state;
	expect(
	    "[NaN,-Infinity,nan,inf,N/A,-nan(ind),1.#INF,+inf]",
	    "[@0 ?:NaN@1 ?:-Infinity@5 ?:nan@15 ?:inf@19 ?:N/A@23 ?:-nan(ind)@27 ?:1.#INF@37 ?:+inf@44 ]@48 "
	    "$@49  !unknown*8@1");
	expect("{\"a\":,\"b\": }", "{@0 k:a@1 ?:@5 k:b@6 ?:@11 }@11 $@12  !unknown*2@5");
	expect("[1,]", "[@0 n:1@1 ]@3 $@4  !comma*1@3");
	expect("{\"a\":1, }", "{@0 k:a@1 n:1@5 }@8 $@9  !comma*1@8");
	expect("\"a\n\x01z\"", "s:a\n\x01z@0 $@6  !control*2@2");
	expect("\"\xFF\"", "s:\xFF@0 $@3  !utf8*1@0");
	expect("[\"\xC3\xA9\",\"\xC3\",\"\xE2\x82\",\"\xC0\x80\",\"\xED\xA0\x80\",\"\xF0\x9F\x98\x80\"]",
	       "[@0 s:\xC3\xA9@1 s:\xC3@6 s:\xE2\x82@10 s:\xC0\x80@15 s:\xED\xA0\x80@20 "
	       "s:\xF0\x9F\x98\x80@26 ]@32 "
	       "$@33  !utf8*4@6");
	expect("\"\xC3\\n\xA9\"", "s:\xC3\n\xA9@0 $@6  !utf8*1@0");
	expect("[9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709551616,1e400]",
	       "[@0 n:9223372036854775807@1 n:9223372036854775808@21 n:-9223372036854775808@41 "
	       "n:18446744073709551616@62 n:1e400@83 ]@88 $@89  !big*2@21");
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *end;
	} CASES[] = {
	    {"[1 2]", "!!-7 bad_json@3"},
	    {"[1,,2]", "!!-7 bad_json@3"},
	    {"{1:2}", "!!-7 bad_json@1"},
	    {"{\"a\" 1}", "!!-7 bad_json@5"},
	    {"{\"a\":1]", "!!-7 bad_json@6"},
	    {"[1}", "!!-7 bad_json@2"},
	    {"01", "!!-7 bad_json@0"},
	    {"[-]", "!!-7 bad_json@1"},
	    {"[1.]", "!!-7 bad_json@1"},
	    {"[.5]", "!!-7 bad_json@1"},
	    {"[1e]", "!!-7 bad_json@1"},
	    {"[+1]", "!!-7 bad_json@1"},
	    {"[0x10]", "!!-7 bad_json@1"},
	    {"[TRUE]", "!!-7 bad_json@1"},
	    {"[12abc]", "!!-7 bad_json@1"},
	    {"['a']", "!!-7 bad_json@1"},
	    {"[\"a\"b\"]", "!!-7 bad_json@4"},
	    {"1 1", "!!-7 bad_json@2"},
	    {"]", "!!-7 bad_json@0"},
	    {",", "!!-7 bad_json@0"},
	    {"[]]", "!!-7 bad_json@2"},
	    {"\xEF\xBB[1]", "!!-7 bad_json@2"},
	    {"[\xEF\xBB\xBF]", "!!-7 bad_json@1"},
	    {"{,}", "!!-7 bad_json@1"},
	    {"", "!!-7 empty@0"},
	    {" \n", "!!-7 empty@2"},
	    {"[", "!!-7 truncated@1"},
	    {"[1", "!!-7 truncated@2"},
	    {"[1,", "!!-7 truncated@3"},
	    {"{\"a", "!!-7 truncated@3"},
	    {"{\"a\"", "!!-7 truncated@4"},
	    {"{\"a\":", "!!-7 truncated@5"},
	    {"[tru", "!!-7 truncated@4"},
	    {"\"a\\", "!!-7 truncated@3"},
	    {"\"\\u12", "!!-7 truncated@5"},
	    {"[\"a\"", "!!-7 truncated@4"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		size_t len = strlen(CASES[i].text);

		for (size_t block = 0; block <= len; block++) {
			char *got = tokens(CASES[i].text, len, block),
			     *drop = dropped(CASES[i].text, len, block);

			assert_string_equal(tail_of(got), CASES[i].end);
			assert_string_equal(drop, CASES[i].end);
			free(got);
			free(drop);
		}
	}
}

static char *nested(size_t depth)
{
	char *text = malloc(2 * depth + 1);

	assert_non_null(text);
	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	text[2 * depth] = '\0';
	return text;
}

static void test_depth(void **state)
{
	char *deep = nested(512), *deeper = nested(513), *deepest = nested(10000), *got;

	(void)state;
	got = tokens(deep, 1024, 0);
	assert_null(strstr(got, "!!"));
	free(got);
	got = dropped(deep, 1024, 0);
	assert_string_equal(got, "");
	free(got);
	got = tokens(deeper, 1026, 0);
	assert_non_null(strstr(got, "!!-7 too_deep@512"));
	free(got);
	got = dropped(deepest, 20000, 7);
	assert_string_equal(got, "!!-7 too_deep@512");
	free(got);
	free(deep);
	free(deeper);
	free(deepest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values), cmocka_unit_test(test_escapes), cmocka_unit_test(test_nul_in_text),
	    cmocka_unit_test(test_flaws),  cmocka_unit_test(test_errors),  cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
