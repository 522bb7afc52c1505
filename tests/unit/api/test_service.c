#include "tests/unit/api/helper.h"

#include <sys/wait.h>

#include "api/internal.h"
#include "tests/unit/api/fake_planner.h"

static void the_page_is_served(void **state)
{
	static const char *const gzip[] = {"Accept-Encoding", "gzip", NULL};
	struct fixture f;
	char tag[128];

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "GET", "/", NULL), 200);
	assert_non_null(strstr(f.res.content_type, "text/html"));
	assert_non_null(strstr(header_of(&f, "Content-Security-Policy"), "frame-ancestors 'none'"));
	assert_string_equal(header_of(&f, "Vary"), "Accept-Encoding");
	assert_string_equal(header_of(&f, "X-Content-Type-Options"), "nosniff");
	snprintf(tag, sizeof(tag), "%s", header_of(&f, "ETag"));
	assert_int_equal(ask_with(&f, "GET", "/", NULL, NULL, gzip), 200);
	assert_string_equal(header_of(&f, "Content-Encoding"), "gzip");
	assert_string_not_equal(header_of(&f, "ETag"), tag);
	assert_int_equal((unsigned char)f.res.static_body[0], 0x1f);
	{
		const char *const seen[] = {"If-None-Match", tag, NULL};

		assert_int_equal(ask_with(&f, "GET", "/", NULL, NULL, seen), 304);
		assert_null(f.res.static_body);
	}
	assert_int_equal(ask(&f, "GET", "/licenses", NULL), 200);
	assert_string_equal(api_route_of("/"), "/{asset}");
	tear_down(&f);
}

static void an_old_link_gets_the_page(void **state)
{
	static const char *const browser[] = {"Accept", "text/html,application/xhtml+xml,*/*;q=0.8", NULL};
	static const char *const refuses[] = {"Accept", "text/html;q=0, */*", NULL};
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(ask_with(&f, "GET", "/profiles/old", NULL, NULL, browser), 200);
	assert_non_null(strstr(f.res.content_type, "text/html"));
	assert_string_equal(header_of(&f, "Vary"), "Accept, Accept-Encoding");
	assert_int_equal(ask_with(&f, "GET", "/profiles/old", NULL, NULL, refuses), 404);
	assert_int_equal(ask(&f, "GET", "/profiles/old", NULL), 404);
	/* nothing under /v1 is ever the page */
	assert_int_equal(ask_with(&f, "GET", "/v1/old", NULL, NULL, browser), 404);
	assert_problem(&f, 404, "no_such_path");
	tear_down(&f);
}

static void large_json_is_packed(void **state)
{
	static const char *const gzip[] = {"Accept-Encoding", "gzip", NULL};
	struct fixture f;
	char plain[80], packed[80];

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "GET", "/openapi.json", NULL), 200);
	assert_string_equal(header_of(&f, "Vary"), "Accept-Encoding");
	snprintf(plain, sizeof(plain), "%s", header_of(&f, "ETag"));
	assert_int_equal(plain[0], '"');
	assert_int_equal(ask_with(&f, "GET", "/openapi.json", NULL, NULL, gzip), 200);
	assert_string_equal(header_of(&f, "Content-Encoding"), "gzip");
	assert_int_equal((unsigned char)f.res.body[0], 0x1f);
	assert_string_equal(header_of(&f, "Vary"), "Accept-Encoding");
	snprintf(packed, sizeof(packed), "%s", header_of(&f, "ETag"));
	assert_int_equal(packed[0], '"');
	assert_string_not_equal(plain, packed);
	{
		const char *const seen[] = {"Accept-Encoding", "gzip", "If-None-Match", packed, NULL};
		const char *const other[] = {"Accept-Encoding", "gzip", "If-None-Match", plain, NULL};

		assert_int_equal(ask_with(&f, "GET", "/openapi.json", NULL, NULL, seen), 304);
		assert_string_equal(header_of(&f, "ETag"), packed);
		assert_null(header_of(&f, "Content-Encoding"));
		/* the plain bytes are another representation: they are sent anew */
		assert_int_equal(ask_with(&f, "GET", "/openapi.json", NULL, NULL, other), 200);
	}
	/* too small to gain anything */
	assert_int_equal(ask_with(&f, "GET", "/v1/version", NULL, NULL, gzip), 200);
	assert_null(header_of(&f, "Content-Encoding"));
	tear_down(&f);
}

static void instance_is_a_reference(void **state)
{
	const struct api_req req = {
	    .method = "GET", .path = "/v1/profiles/a b\"<\xC3\xA9", .request_id = "r1"};
	const struct api_req unread = {.method = "GET", .request_id = "r2"};
	struct api_res res = {0};
	json_t *o;

	(void)state;
	api_problem(&res, 400, "bad", "It is bad.");
	api_finish(&res, &req);
	o = json_loadb(res.body, res.body_len, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(o, "instance")),
	                    "/v1/profiles/a%20b%22%3C%C3%A9");
	assert_string_equal(json_string_value(json_object_get(o, "request_id")), "r1");
	json_decref(o);
	api_problem(&res, 400, "bad_target", "It cannot be read.");
	api_finish(&res, &unread);
	o = json_loadb(res.body, res.body_len, 0, NULL);
	assert_null(json_object_get(o, "instance"));
	assert_string_equal(json_string_value(json_object_get(o, "request_id")), "r2");
	json_decref(o);
	api_res_clear(&res);
}

static void health_and_version(void **state)
{
	struct fixture f;
	json_t *limits;

	(void)state;
	set_up(&f);
	assert_int_equal(ask(&f, "GET", "/livez", NULL), 200);
	assert_string_equal(header_of(&f, "Cache-Control"), "no-store");
	assert_int_equal(ask(&f, "GET", "/readyz", NULL), 200);
	assert_int_equal(ask(&f, "GET", "/readyz?verbose", NULL), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "checks")), 2);
	f.draining = true;
	assert_int_equal(ask(&f, "GET", "/readyz", NULL), 503);
	assert_problem(&f, 503, "stopping");
	assert_int_equal(ask(&f, "GET", "/readyz?verbose", NULL), 503);
	assert_problem(&f, 503, "stopping");
	assert_int_equal(json_array_size(json_object_get(f.json, "checks")), 2);
	assert_int_equal(ask(&f, "GET", "/livez", NULL), 200);
	assert_int_equal(ask(&f, "GET", "/v1/version", NULL), 200);
	limits = json_object_get(f.json, "limits");
	assert_int_equal(json_integer_value(json_object_get(limits, "upload_bytes")), INT64_C(17179869184));
	assert_int_equal(json_integer_value(json_object_get(limits, "archive_files")), 100000);
	assert_int_equal(ask(&f, "GET", "/openapi.json", NULL), 200);
	assert_null(f.res.body);
	{
		json_t *o = json_loadb(f.res.static_body, f.res.body_len, JSON_REJECT_DUPLICATES, NULL);

		assert_string_equal(text_at(o, "openapi"), "3.1.0");
		json_decref(o);
	}
	tear_down(&f);
}

static json_t *contract(struct fixture *f)
{
	json_t *o;

	assert_int_equal(ask(f, "GET", "/openapi.json", NULL), 200);
	o = json_loadb(f->res.static_body, f->res.body_len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	return o;
}

/* Does the operation list this query parameter, itself or by reference? */
static bool has_query(const json_t *o, const json_t *operation, const char *name)
{
	const json_t *shared = json_object_get(json_object_get(o, "components"), "parameters");
	const json_t *list = json_object_get(operation, "parameters");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *p = json_array_get(list, i);
		const char *ref = json_string_value(json_object_get(p, "$ref"));

		if (ref)
			p = json_object_get(shared, strrchr(ref, '/') + 1);
		if (strcmp(text_at(p, "in"), "query") == 0 && strcmp(text_at(p, "name"), name) == 0)
			return true;
	}
	return false;
}

static void the_contract_and_the_table_agree(void **state)
{
	struct fixture f;
	json_t *o, *paths, *path;
	const char *key;
	size_t operations = 0;

	(void)state;
	set_up(&f);
	o = contract(&f);
	paths = json_object_get(o, "paths");
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &ROUTES[i];
		const char *method = strcmp(r->method, "GET") == 0    ? "get"
		                     : strcmp(r->method, "POST") == 0 ? "post"
		                     : strcmp(r->method, "PUT") == 0  ? "put"
		                                                      : "delete";
		const json_t *operation = json_object_get(json_object_get(paths, r->path), method);

		assert_non_null(operation);
		for (const char *const *q = r->query; q && *q; q++)
			assert_true(has_query(o, operation, *q));
	}
	json_object_foreach(paths, key, path) operations += json_object_size(path);
	assert_int_equal(operations, ROUTE_COUNT);
	json_decref(o);
	tear_down(&f);
}

/* promtool reads standard input; where it is not installed, its part is left out and that is said. */
static void ask_promtool(const char *text, size_t len)
{
	FILE *in = tmpfile();
	int status;
	pid_t child;

	assert_non_null(in);
	assert_int_equal(fwrite(text, 1, len, in), len);
	assert_int_equal(fflush(in), 0);
	child = fork();
	if (child == 0) {
		lseek(fileno(in), 0, SEEK_SET);
		dup2(fileno(in), STDIN_FILENO);
		execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	fclose(in);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 127)
		print_message("promtool is not installed: its check is skipped\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
}

/* The rules that promtool does not check: each family once and in one piece, no sample twice, every histogram
 * with +Inf equal to its count. */
static void metrics_keep_the_rules(void **state)
{
	struct fixture f;
	char *line, *rest, family[128] = "", seen[64][128], inf[64] = "";
	size_t families = 0;

	(void)state;
	set_up(&f);
	api_count(f.api, "GET", "/v1/profiles", 200, 1500, 0, 100);
	api_count(f.api, "GET", "/v1/profiles", 200, 3000000000, 0, 100);
	api_count(f.api, "BREW", "/coffee\"\n", 418, 10, 0, 0);
	assert_int_equal(ask(&f, "GET", "/metrics", NULL), 200);
	assert_string_equal(f.res.content_type, "text/plain; version=0.0.4; charset=utf-8");
	assert_int_equal(f.res.body[f.res.body_len - 1], '\n');
	assert_non_null(strstr(f.res.body,
	                       "signalbox_http_requests_total{route=\"/v1/profiles\",method=\"GET\","
	                       "status=\"200\"} 2\n"));
	assert_non_null(strstr(f.res.body, "signalbox_http_requests_total{route=\"other\",method=\"other\","
	                                   "status=\"other\"} 1\n"));
	assert_non_null(strstr(f.res.body,
	                       "signalbox_http_request_duration_seconds_bucket{route=\"/v1/profiles\","
	                       "le=\"0.0025\"} 1\n"));
	assert_non_null(strstr(f.res.body,
	                       "signalbox_http_request_duration_seconds_bucket{route=\"/v1/profiles\","
	                       "le=\"600\"} 1\n"));
	ask_promtool(f.res.body, f.res.body_len);
	for (line = strtok_r(f.res.body, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "# TYPE ", 7) == 0) {
			assert_int_equal(sscanf(line + 7, "%127s", family), 1);
			for (size_t i = 0; i < families; i++)
				assert_string_not_equal(seen[i], family);
			assert_true(families < 64);
			memcpy(seen[families++], family, sizeof(family));
		} else if (line[0] != '#') {
			assert_int_equal(strncmp(line, family, strlen(family)), 0);
			if (strstr(line, "le=\"+Inf\"} "))
				snprintf(inf, sizeof(inf), "%s", strrchr(line, ' '));
			if (strstr(line, "_seconds_count"))
				assert_string_equal(strrchr(line, ' '), inf);
		}
	}
	tear_down(&f);
}

static void jobs_are_told_and_canceled(void **state)
{
	struct fixture f;
	char id[STORE_ID_MAX], target[96];

	(void)state;
	set_up(&f);
	store_new_id(id);
	snprintf(target, sizeof(target), "/v1/jobs/%s", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 404);
	f.queue.status = (struct job_status){
	    .kind = "profile", .state = JOB_RUNNING, .progress = 0.25, .created_us = 1, .started_us = 2};
	memcpy(f.queue.status.id, id, sizeof(id));
	memcpy(f.queue.status.object, id, sizeof(id));
	f.queue.status_rc = f.queue.cancel_rc = SB_OK;
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "running");
	assert_true(json_real_value(json_object_get(f.json, "progress")) == 0.25);
	assert_string_equal(text_at(f.json, "created_at"), "1970-01-01T00:00:00.000001Z");
	assert_true(json_is_null(json_object_get(f.json, "ended_at")));
	assert_int_equal(ask(&f, "DELETE", target, NULL), 202);
	f.queue.cancel_rc = SB_ECONFLICT;
	assert_int_equal(ask(&f, "DELETE", target, NULL), 409);
	assert_problem(&f, 409, "already_ended");
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_page_is_served),     cmocka_unit_test(an_old_link_gets_the_page),
	    cmocka_unit_test(large_json_is_packed),   cmocka_unit_test(instance_is_a_reference),
	    cmocka_unit_test(health_and_version),     cmocka_unit_test(the_contract_and_the_table_agree),
	    cmocka_unit_test(metrics_keep_the_rules), cmocka_unit_test(jobs_are_told_and_canceled),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
