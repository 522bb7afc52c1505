#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/json.h"

/* A text of 1 MB: plain, or with a character of three bytes across the place of the cut. */
static void check_long(bool plain, size_t block)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 20);
	JPULL_AUTO j = NULL;
	struct memory_stream m;
	struct jpull_value v;

	assert_non_null(text);
	memset(text, 'a', len);
	text[0] = '[';
	text[1] = '"';
	if (!plain)
		memcpy(text + 2 + JPULL_TOKEN_MAX - 2, (const char[]){'\\', 'u', '2', '0', 'A', 'C'}, 6);
	memcpy(text + len, (const char[]){'"', ',', '7', ']'}, 4);
	memory_stream_init(&m, "t", text, len + 4, block);
	assert_int_equal(jpull_new(&m.base, &j), SB_OK);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(v.token, JPULL_STRING);
	assert_int_equal(v.len, plain ? JPULL_TOKEN_MAX : JPULL_TOKEN_MAX - 2);
	assert_int_equal(v.text[v.len - 1], 'a');
	assert_int_equal(jpull_flaws(j)->long_string.count, 1);
	assert_int_equal(jpull_flaws(j)->long_string.offset, 1);
	assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
	assert_int_equal(v.token, JPULL_NUMBER);
	assert_int_equal(v.offset, len + 2);
	free(text);
}

static void test_long_text(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		check_long(i == 0, 0);
		check_long(i == 0, 1);
		check_long(i == 0, 4096);
		check_long(i == 0, 65537);
	}
}

static void test_skip(void **state)
{
	static const char TEXT[] = "{\"a\":{\"x\":[1,{\"y\":\"]}\\\"\"}],\"z\":{}},\"b\":[[]],\"c\":3}";

	(void)state;
	for (size_t block = 0; block < sizeof(TEXT); block++) {
		JPULL_AUTO j = NULL;
		struct memory_stream m;
		struct jpull_value v;

		memory_stream_init(&m, "t", TEXT, sizeof(TEXT) - 1, block);
		assert_int_equal(jpull_new(&m.base, &j), SB_OK);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(v.token, JPULL_OBJECT);
		assert_int_equal(jpull_depth(j), 2);
		assert_int_equal(jpull_skip(j, &v, NULL), SB_OK);
		assert_int_equal(jpull_depth(j), 1);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(v.len, 1);
		assert_int_equal(v.text[0], 'b');
		assert_int_equal(jpull_drop(j, NULL), SB_OK);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(v.text[0], 'c');
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(v.token, JPULL_NUMBER);
		assert_int_equal(jpull_skip(j, &v, NULL), SB_OK);
		assert_int_equal(jpull_next(j, &v, NULL), SB_OK);
		assert_int_equal(v.token, JPULL_OBJECT_END);
	}
}

/* The short cut gives what two calls of jpull_next() give. */
static void test_pair(void **state)
{
	static const char TEXT[] =
	    "{\"a\" : 12.5 , \"b\":\"x y\",\"c\":true,\"d\":\"\\n\",\"e\":{},\"f\":-1}";
	static const char WANTED[] = "a=12.5;b=x y;f=-1;";

	(void)state;
	for (size_t block = 0; block < sizeof(TEXT); block++) {
		JPULL_AUTO j = NULL;
		struct memory_stream m;
		struct jpull_value k, v;
		char got[80] = "", slow[80] = "";

		memory_stream_init(&m, "t", TEXT, sizeof(TEXT) - 1, block);
		assert_int_equal(jpull_new(&m.base, &j), SB_OK);
		assert_false(jpull_pair(j, &k, &v));
		assert_int_equal(jpull_next(j, &k, NULL), SB_OK);
		for (;;) {
			size_t n = strlen(got);

			if (jpull_pair(j, &k, &v)) {
				assert_memory_equal(TEXT + k.offset + 1, k.text, k.len);
				snprintf(got + n, sizeof(got) - n, "%.*s=%.*s;", (int)k.len, k.text,
				         (int)v.len, v.text);
				continue;
			}
			assert_int_equal(jpull_next(j, &k, NULL), SB_OK);
			if (k.token == JPULL_OBJECT_END)
				break;
			n = strlen(slow);
			snprintf(slow + n, sizeof(slow) - n, "%.*s", (int)k.len, k.text);
			assert_int_equal(jpull_drop(j, NULL), SB_OK);
		}
		if (block == 0) {
			assert_string_equal(got, WANTED);
			assert_string_equal(slow, "cde");
		}
	}
}

static void test_recover(void **state)
{
	static const char *const KEYS[] = {"name", "ph", NULL};
	static const char TEXT[] = "[{\"ph\":1},{\"name\":\"a\"b\"}, {\"x\":1},\n {\"ph\" :2}]";

	(void)state;
	for (size_t block = 0; block < sizeof(TEXT); block++) {
		JPULL_AUTO j = NULL;
		struct memory_stream m;
		struct jpull_value v = {0};
		struct sb_error err = {0};
		int rc;

		memory_stream_init(&m, "t", TEXT, sizeof(TEXT) - 1, block);
		assert_int_equal(jpull_new(&m.base, &j), SB_OK);
		do {
			rc = jpull_next(j, &v, &err);
		} while (rc == SB_OK);
		assert_string_equal(err.word, "bad_json");
		assert_int_equal(jpull_recover(j, 1, KEYS, &err), SB_OK);
		assert_int_equal(jpull_depth(j), 1);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_OBJECT);
		assert_int_equal(v.offset, strstr(TEXT, "{\"ph\" :") - TEXT);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_KEY);
		assert_int_equal(v.len, 2);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.text[0], '2');
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_ARRAY_END);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_END);
		assert_int_equal(jpull_recover(j, 1, KEYS, &err), SB_EFORMAT);
		assert_string_equal(err.word, "truncated");
	}
}

static void test_recover_member(void **state)
{
	static const char TEXT[] = "{\"a\":\"x\"y,\"\"kk\":1,\"k\" : [5]}";

	(void)state;
	for (size_t block = 0; block < sizeof(TEXT); block++) {
		JPULL_AUTO j = NULL;
		struct memory_stream m;
		struct jpull_value v = {0};
		struct sb_error err = {0};

		memory_stream_init(&m, "t", TEXT, sizeof(TEXT) - 1, block);
		assert_int_equal(jpull_new(&m.base, &j), SB_OK);
		assert_int_equal(jpull_recover_member(j, "k", &err), SB_OK);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_ARRAY);
		assert_int_equal(jpull_drop(j, &err), SB_OK);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(jpull_next(j, &v, &err), SB_OK);
		assert_int_equal(v.token, JPULL_OBJECT_END);
		assert_int_equal(jpull_recover_member(j, "k", &err), SB_EFORMAT);
		assert_string_equal(err.word, "truncated");
	}
}

static int broken_stream(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	(void)s;
	(void)out_data;
	(void)out_len;
	return sb_fail(err, SB_ELIMIT, "zip_bomb", "Too much.");
}

static void test_stream_error(void **state)
{
	struct stream s = {.next = broken_stream, .path = "x"};
	JPULL_AUTO j = NULL;
	struct jpull_value v;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(jpull_new(&s, &j), SB_OK);
	assert_int_equal(jpull_next(j, &v, &err), SB_ELIMIT);
	assert_string_equal(err.word, "zip_bomb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_long_text),      cmocka_unit_test(test_skip),
	    cmocka_unit_test(test_pair),           cmocka_unit_test(test_recover),
	    cmocka_unit_test(test_recover_member), cmocka_unit_test(test_stream_error),
	};

	return cmocka_run_group_tests_name("json walk", tests, NULL, NULL);
}
