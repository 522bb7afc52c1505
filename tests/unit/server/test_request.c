#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http_request.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct refusal framing(const struct api_pair *headers, size_t count, struct framing *out)
{
	return framing_check(headers, count, "HTTP/1.1", out);
}

static void good_framing_is_understood(void **state)
{
	const struct api_pair none[] = {{"Host", "a"}};
	const struct api_pair sized[] = {
	    {"host", "a"}, {"CONTENT-LENGTH", "9223372036854775807"}, {"Expect", "100-Continue"}};
	const struct api_pair chunked[] = {{"Host", "a"}, {"Transfer-Encoding", "Chunked"}};
	struct framing f;

	(void)state;
	assert_int_equal(framing(none, COUNT(none), &f).status, 0);
	assert_true(f.content_length == 0 && !f.has_body && !f.expect_continue);
	assert_int_equal(framing(sized, COUNT(sized), &f).status, 0);
	assert_true(f.content_length == INT64_MAX && f.has_body && f.expect_continue);
	assert_int_equal(framing(chunked, COUNT(chunked), &f).status, 0);
	assert_true(f.content_length == -1 && f.has_body);
	assert_int_equal(framing_check(NULL, 0, "HTTP/1.0", &f).status, 0);
	assert_false(f.host_seen);
}

static void every_smuggling_shape_is_refused(void **state)
{
	static const struct {
		struct api_pair headers[3];
		size_t count;
		const char *code;
	} cases[] = {
	    {{{"Host", "a"}, {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}},
	     3,
	     "ambiguous_length"},
	    {{{"Host", "a"}, {"Content-Length", "5"}, {"Content-Length", "6"}}, 3, "repeated_content_length"},
	    {{{"Host", "a"}, {"Content-Length", "5"}, {"content-length", "5"}}, 3, "repeated_content_length"},
	    {{{"Host", "a"}, {"Content-Length", "5, 5"}}, 2, "bad_content_length"},
	    {{{"Host", "a"}, {"Content-Length", "+5"}}, 2, "bad_content_length"},
	    {{{"Host", "a"}, {"Content-Length", "0x10"}}, 2, "bad_content_length"},
	    {{{"Host", "a"}, {"Content-Length", ""}}, 2, "bad_content_length"},
	    {{{"Host", "a"}, {"Content-Length", "9223372036854775808"}}, 2, "bad_content_length"},
	    {{{"Host", "a"}, {"Transfer-Encoding", "gzip, chunked"}}, 2, "unknown_transfer_encoding"},
	    {{{"Host", "a"}, {"Transfer-Encoding", ""}}, 2, "unknown_transfer_encoding"},
	    {{{"Host", "a"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}},
	     3,
	     "repeated_transfer_encoding"},
	    {{{"Host", "a"}, {"Host", "a"}}, 2, "repeated_host"},
	    {{{"X", "a"}}, 1, "missing_host"},
	    {{{"Host", ""}}, 1, "missing_host"},
	    {{{"Host ", "a"}}, 1, "bad_header"},
	    {{{"Host", "a"}, {"", "b"}}, 2, "bad_header"},
	    {{{"Host", "a"}, {"Content-Type", "a/b"}, {"Content-Type", "a/c"}}, 3, "repeated_content_type"},
	};
	struct framing f = {.content_length = 77};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct refusal r = framing(cases[i].headers, cases[i].count, &f);

		assert_int_equal(r.status, 400);
		assert_string_equal(r.code, cases[i].code);
	}
	assert_true(f.content_length == 77);
}

static void an_old_client_cannot_send_chunks(void **state)
{
	const struct api_pair chunked[] = {{"Host", "a"}, {"Transfer-Encoding", "chunked"}};
	const struct api_pair expect[] = {{"Host", "a"}, {"Expect", "the worst"}};
	struct framing f;

	(void)state;
	assert_int_equal(framing_check(chunked, COUNT(chunked), "HTTP/1.0", &f).status, 400);
	assert_int_equal(framing(expect, COUNT(expect), &f).status, 417);
}

static void targets_are_taken_apart(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(target_parse("/v1/profiles?name=a%20b+c&x&&y=&z==", &t).status, 0);
	assert_string_equal(t.path, "/v1/profiles");
	assert_string_equal(t.authority, "");
	assert_int_equal(t.query_count, 4);
	assert_string_equal(t.query[0].name, "name");
	assert_string_equal(t.query[0].value, "a b c");
	assert_string_equal(t.query[1].name, "x");
	assert_null(t.query[1].value);
	assert_string_equal(t.query[2].value, "");
	assert_string_equal(t.query[3].value, "=");
	target_clear(&t);

	assert_int_equal(target_parse("HTTP://a.b:80?q=1", &t).status, 0);
	assert_string_equal(t.path, "/");
	assert_string_equal(t.authority, "a.b:80");
	assert_int_equal(t.query_count, 1);
	target_clear(&t);

	assert_int_equal(target_parse("/%61%c3%a9.b/..c/.../d+e", &t).status, 0);
	assert_string_equal(t.path, "/a\xc3\xa9.b/..c/.../d+e");
	target_clear(&t);
}

static void hostile_targets_are_refused(void **state)
{
	static const char *const cases[] = {
	    "",       "*",         "hello",   "/a%00b",   "/a%0ab", "/a%7f",      "/a\\b",     "/a%5cb",
	    "/a//b",  "//a",       "/a/./b",  "/a/../b",  "/..",    "/.",         "/a/%2e%2e", "/a/.%2E/b",
	    "/a%2fb", "/a%2Fb",    "/a%",     "/a%4",     "/a%zz",  "/a#b",       "/a?b=%00",  "/a?b%0d=c",
	    "/a?%",   "ftp://a/b", "http:/a", "/a\x01/b", "/a\x7f", "http://a//b"};
	struct target t = {.query_count = 99};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(target_parse(cases[i], &t).status, 400);
	assert_int_equal(t.query_count, 99);
}

static void targets_have_bounds(void **state)
{
	char *text = malloc(TARGET_MAX + 2);
	struct target t;

	(void)state;
	memset(text, 'a', TARGET_MAX + 1);
	text[0] = '/';
	text[TARGET_MAX + 1] = '\0';
	assert_int_equal(target_parse(text, &t).status, 414);
	text[TARGET_MAX] = '\0';
	assert_int_equal(target_parse(text, &t).status, 0);
	target_clear(&t);
	snprintf(text, TARGET_MAX, "/?");
	for (int i = 0; i < QUERY_MAX; i++)
		strncat(text, "a&", 3);
	assert_int_equal(target_parse(text, &t).status, 0);
	assert_int_equal(t.query_count, QUERY_MAX);
	target_clear(&t);
	strncat(text, "a", 2);
	assert_int_equal(target_parse(text, &t).status, 400);
	free(text);
}

static void header_parameters_are_found(void **state)
{
	char out[16];

	(void)state;
	assert_true(disposition_filename("attachment; filename=\"a; \\\"b.json\"; size=1", out, sizeof(out)));
	assert_string_equal(out, "a; \"b.json");
	assert_true(disposition_filename("attachment;x=\"filename=no\" ;FILENAME=t.gz", out, sizeof(out)));
	assert_string_equal(out, "t.gz");
	assert_true(disposition_filename("a; filename=\"0123456789012345678\"", out, sizeof(out)));
	assert_string_equal(out, "012345678901234");
	assert_false(disposition_filename("attachment; filename=\"\"", out, sizeof(out)));
	assert_false(disposition_filename("attachment", out, sizeof(out)));
}

static void boundaries_are_found(void **state)
{
	char out[80];
	char seventy_one[128] = "multipart/form-data; boundary=";

	(void)state;
	assert_true(multipart_boundary("Multipart/Form-Data; charset=x; boundary=\"a b\"", out, sizeof(out)));
	assert_string_equal(out, "a b");
	assert_false(multipart_boundary("multipart/form-data", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/form-data; boundary=", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/mixed; boundary=a", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/form-dat; boundary=a", out, sizeof(out)));
	/* what the library would read differently, or not at all */
	assert_false(multipart_boundary("multipart/form-data; boundary=a", out, sizeof(out)));
	assert_true(multipart_boundary("multipart/form-data; boundary=\"a\"", out, sizeof(out)));
	assert_true(multipart_boundary("multipart/form-data; boundary=ab", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/form-data; Boundary=ab", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/form-data; boundary=ab; charset=x", out, sizeof(out)));
	assert_false(multipart_boundary("multipart/form-data; x-boundary=cd; boundary=ab", out, sizeof(out)));
	memset(seventy_one + strlen(seventy_one), 'b', 71);
	assert_false(multipart_boundary(seventy_one, out, sizeof(out)));
	seventy_one[strlen(seventy_one) - 1] = '\0';
	assert_true(multipart_boundary(seventy_one, out, sizeof(out)));
}

static void request_ids_are_plain(void **state)
{
	char text[66];

	(void)state;
	assert_true(request_id_valid("Az09._-"));
	assert_false(request_id_valid(""));
	assert_false(request_id_valid("a b"));
	assert_false(request_id_valid("a\r\nX: y"));
	memset(text, 'a', sizeof(text));
	text[65] = '\0';
	assert_false(request_id_valid(text));
	text[64] = '\0';
	assert_true(request_id_valid(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_framing_is_understood),
	    cmocka_unit_test(every_smuggling_shape_is_refused),
	    cmocka_unit_test(an_old_client_cannot_send_chunks),
	    cmocka_unit_test(targets_are_taken_apart),
	    cmocka_unit_test(hostile_targets_are_refused),
	    cmocka_unit_test(targets_have_bounds),
	    cmocka_unit_test(header_parameters_are_found),
	    cmocka_unit_test(boundaries_are_found),
	    cmocka_unit_test(request_ids_are_plain),
	};

	return cmocka_run_group_tests_name("server/request", tests, NULL, NULL);
}
