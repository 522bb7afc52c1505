#include "tests/unit/api/helper.h"

#include "api/internal.h"
#include "tests/unit/api/fake_planner.h"

static void entity_tags_compare_weakly(void **state)
{
	(void)state;
	assert_true(etag_matches("\"a\"", "\"a\""));
	assert_true(etag_matches("W/\"a\"", "\"a\""));
	assert_true(etag_matches("\"x\", \"a\"", "\"a\""));
	assert_true(etag_matches(" \"x\",W/\"a\" ", "W/\"a\""));
	assert_true(etag_matches("*", "\"a\""));
	assert_true(etag_matches("\"x,y\", \"a\"", "\"a\""));
	assert_false(etag_matches("\"ab\"", "\"a\""));
	assert_false(etag_matches("\"x\"", "\"a\""));
	assert_false(etag_matches("a", "\"a\""));
	assert_false(etag_matches("", "\"a\""));
	assert_false(etag_matches("\"never closed", "\"a\""));
}

static void gzip_is_taken_when_it_is_asked_for(void **state)
{
	(void)state;
	assert_true(gzip_accepted("gzip"));
	assert_true(gzip_accepted("deflate, gzip;q=0.5, br"));
	assert_true(gzip_accepted("GZIP"));
	assert_true(gzip_accepted("*"));
	assert_false(gzip_accepted(NULL));
	assert_false(gzip_accepted(""));
	assert_false(gzip_accepted("br"));
	assert_false(gzip_accepted("gzip;q=0"));
	assert_false(gzip_accepted("gzip; q=0.000, *"));
	assert_false(gzip_accepted("*;q=0"));
	assert_false(gzip_accepted("gzipped"));
	assert_true(gzip_accepted("br;q=1, GZIP;q=0.1"));
	assert_false(gzip_accepted("gzip;q=0, br"));
	assert_false(gzip_accepted("x-gzipped"));
	assert_false(gzip_accepted(",,,;"));
}

static void only_our_hosts_are_answered(void **state)
{
	static const char *const good[] = {"localhost:8080",        "LOCALHOST:8080", "localhost.:8080",
	                                   "127.0.0.1:8080",        "127.9.9.9:8080", "[::1]:8080",
	                                   "[0:0:0:0:0:0:0:1]:8080"};
	static const char *const bad[] = {"",
	                                  "localhost",
	                                  "localhost:80",
	                                  "localhost:8080x",
	                                  "localhost:",
	                                  "localhost:-1",
	                                  "evil.example:8080",
	                                  "localhost.evil.example:8080",
	                                  "127.0.0.1.nip.io:8080",
	                                  "128.0.0.1:8080",
	                                  "2130706433:8080",
	                                  "0x7f.1:8080",
	                                  "::1:8080",
	                                  "[::1:8080",
	                                  "[::2]:8080",
	                                  "[::ffff:10.0.0.1]:8080",
	                                  "user@localhost:8080",
	                                  "localhost:8080, localhost:8080",
	                                  "10.0.0.5:8080"};
	struct api_config c = {.listen_host = "127.0.0.1", .listen_port = 8080};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(host_is_ours(&c, good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(host_is_ours(&c, bad[i]));
	c.listen_port = 80;
	assert_true(host_is_ours(&c, "localhost"));
	c.listen_host = "10.0.0.5";
	assert_true(host_is_ours(&c, "10.0.0.5"));
	c.allow_remote = true;
	assert_true(host_is_ours(&c, "box.example:1234"));
	assert_false(host_is_ours(&c, "no host"));
}

static void only_our_pages_are_served(void **state)
{
	static const char *const bad[] = {"null",
	                                  "",
	                                  "http://evil.example",
	                                  "http://evil.example:8080",
	                                  "http://localhost:3000",
	                                  "http://localhost",
	                                  "https://localhost",
	                                  "file://localhost:8080",
	                                  "chrome-extension://abcdef",
	                                  "http://localhost:8080/path",
	                                  "http://localhost:8080@evil.example"};
	struct api_config c = {.listen_host = "127.0.0.1", .listen_port = 8080};

	(void)state;
	assert_true(origin_is_ours(&c, "http://localhost:8080", "localhost:8080"));
	assert_true(origin_is_ours(&c, "http://127.0.0.1:8080", "localhost:8080"));
	assert_true(origin_is_ours(&c, "HTTP://[::1]:8080", "[::1]:8080"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(origin_is_ours(&c, bad[i], "localhost:8080"));
	c.allow_remote = true;
	assert_true(origin_is_ours(&c, "http://box.example:8080", "box.example:8080"));
	assert_true(origin_is_ours(&c, "https://box.example", "box.example"));
	assert_false(origin_is_ours(&c, "http://evil.example:8080", "box.example:8080"));
	assert_false(origin_is_ours(&c, "http://box.example:9090", "box.example:8080"));
	assert_false(origin_is_ours(&c, "null", "box.example:8080"));
}

static void refusals_before_the_body(void **state)
{
	static const char *const plain[] = {"Host", "localhost:8080", NULL};
	static const char *const foreign[] = {"host", "evil.example:8080", NULL};
	static const char *const page[] = {"Host", "localhost:8080", "Origin", "http://evil.example", NULL};
	static const char *const json[] = {"Host", "localhost:8080", "Content-Type",
	                                   "application/json; charset=utf-8", NULL};
	static const char *const form[] = {"Content-Type", "application/jsonp", NULL};
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(precheck(&f, "GET", "/v1/profiles", 0, plain), 0);
	assert_int_equal(precheck(&f, "GET", "/v1/profiles", 0, foreign), 403);
	assert_problem(&f, 403, "foreign_host");
	assert_int_equal(precheck(&f, "POST", "/v1/profiles", 10, page), 403);
	assert_problem(&f, 403, "foreign_origin");
	/* nobody from elsewhere learns which paths there are */
	assert_int_equal(precheck(&f, "GET", "/nowhere", 0, foreign), 403);
	assert_int_equal(precheck(&f, "GET", "/v1/nowhere", 0, plain), 404);
	assert_int_equal(precheck(&f, "GET", "/v1/profiles?color=red", 0, plain), 400);
	assert_string_equal(text_at(json_array_get(json_object_get(f.json, "errors"), 0), "pointer"),
	                    "/query/color");
	assert_int_equal(precheck(&f, "GET", "/v1/profiles?limit=1&limit=2", 0, plain), 400);
	assert_int_equal(precheck(&f, "POST", "/v1/plans", 10, json), 0);
	assert_int_equal(precheck(&f, "POST", "/v1/plans", 10, form), 415);
	assert_string_equal(header_of(&f, "Accept-Post"), "application/json");
	assert_int_equal(precheck(&f, "POST", "/v1/plans", 10, plain), 415);
	assert_int_equal(precheck(&f, "POST", "/v1/plans", (1 << 20) + 1, json), 413);
	assert_int_equal(precheck(&f, "POST", "/v1/profiles", 1 << 21, plain), 0);
	assert_int_equal(precheck(&f, "POST", "/v1/profiles", (INT64_C(16) << 30) + 1, plain), 413);
	assert_int_equal(precheck(&f, "POST", "/v1/profiles", -1, plain), 0); /* chunked */
	tear_down(&f);
}

static void methods_and_paths(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "PATCH", "/v1/models/x", NULL), 405);
	assert_string_equal(header_of(&f, "Allow"), "GET, HEAD, PUT, DELETE");
	assert_int_equal(ask(&f, "POST", "/livez", NULL), 405);
	assert_string_equal(header_of(&f, "Allow"), "GET, HEAD");
	assert_int_equal(ask(&f, "PUT", "/no/such/page", NULL), 405);
	assert_int_equal(ask(&f, "GET", "/no/such/page", NULL), 404);
	assert_problem(&f, 404, "no_such_path");
	assert_string_equal(text_at(f.json, "instance"), "/no/such/page");
	assert_int_equal(ask(&f, "GET", "/v1/profiles/a/b/c", NULL), 404);
	assert_int_equal(ask(&f, "GET", "/v1/profiles/", NULL), 404);
	assert_string_equal(api_route_of("/v1/profiles/abc/operators"), "/v1/profiles/{id}/operators");
	assert_string_equal(api_route_of("/v1/profiles"), "/v1/profiles");
	assert_string_equal(api_route_of("/v1/secret"), "other");
	assert_int_equal(api_mode_of("POST", "/v1/profiles"), API_UPLOAD);
	/* a page may hold hundreds of large documents: not on a thread that serves other connections */
	assert_int_equal(api_mode_of("GET", "/v1/profiles"), API_POOL);
	assert_int_equal(api_mode_of("GET", "/v1/profiles/x"), API_INLINE);
	assert_int_equal(api_mode_of("POST", "/v1/plans"), API_POOL);
	assert_int_equal(api_mode_of("GET", "/nowhere"), API_INLINE);
	tear_down(&f);
}

static void errors_become_statuses(void **state)
{
	/* design page api: errors */
	static const struct {
		int code, status;
	} cases[] = {{SB_EINVAL, 400},    {SB_ENOENT, 404},      {SB_ECONFLICT, 409},   {SB_ELIMIT, 413},
	             {SB_EFORMAT, 422},   {SB_EIMPOSSIBLE, 422}, {SB_EINFEASIBLE, 422}, {SB_EBUSY, 503},
	             {SB_EREADONLY, 503}, {SB_ENOSPC, 507},      {SB_EIO, 500}};
	struct api_res res = {0};
	struct sb_error err = {0};
	json_t *o;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(status_of(cases[i].code), cases[i].status);
	sb_fail_at(&err, SB_EFORMAT, "truncated", "a/\xff\"<b>.json", 7, 4711, "The file ends in a value.");
	snprintf(err.field, sizeof(err.field), "/x/0");
	api_problem_from(&res, &err);
	assert_int_equal(res.status, 422);
	assert_non_null(o = json_loadb(res.body, res.body_len, 0, NULL));
	assert_string_equal(text_at(o, "code"), "truncated");
	assert_string_equal(text_at(o, "file"), "a/\xEF\xBF\xBD\"<b>.json");
	assert_int_equal(json_integer_value(json_object_get(o, "line")), 7);
	assert_int_equal(json_integer_value(json_object_get(o, "offset")), 4711);
	assert_string_equal(text_at(json_array_get(json_object_get(o, "errors"), 0), "pointer"), "/x/0");
	json_decref(o);
	api_res_clear(&res);
	sb_fail(&err, SB_EBUSY, "busy", "Later.");
	api_problem_from(&res, &err);
	assert_string_equal(res.headers[0].name, "Retry-After");
	api_res_clear(&res);
	/* a value that would end the header and begin another */
	api_res_header(&res, "Location", "/x\r\nSet-Cookie: a=b");
	assert_string_equal(res.headers[0].value, "/x__Set-Cookie: a=b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entity_tags_compare_weakly),
	    cmocka_unit_test(gzip_is_taken_when_it_is_asked_for),
	    cmocka_unit_test(only_our_hosts_are_answered),
	    cmocka_unit_test(only_our_pages_are_served),
	    cmocka_unit_test(refusals_before_the_body),
	    cmocka_unit_test(methods_and_paths),
	    cmocka_unit_test(errors_become_statuses),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
