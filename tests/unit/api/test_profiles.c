#include "tests/unit/api/fake_planner.h"
#include "tests/unit/api/uploaded.h"

static void an_upload_is_read_by_a_job(void **state)
{
	struct fixture f;
	char id[64], location[96];
	struct sb_error err = {0};
	json_t *row = NULL;

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	assert_string_equal(text_at(f.json, "state"), "queued");
	snprintf(location, sizeof(location), "/v1/profiles/%s", id);
	assert_string_equal(header_of(&f, "Location"), location);
	assert_int_equal(f.queue.count, 1);
	assert_string_equal(f.queue.ids[0], id);
	assert_int_equal(get(&f, id, "/breakdown"), 409);
	assert_problem(&f, 409, "not_ready");
	assert_string_equal(header_of(&f, "Retry-After"), "1");
	assert_int_equal(get(&f, id, "/operators"), 409);

	assert_int_equal(run_job(&f, id, &err), SB_OK);
	assert_int_equal(get(&f, id, ""), 200);
	assert_string_equal(text_at(f.json, "state"), "ready");
	assert_string_equal(text_at(f.json, "format"), "kineto");
	assert_true(json_is_null(json_object_get(f.json, "error")));
	assert_int_equal(json_integer_value(json_object_get(f.json, "bytes")), sizeof(TRACE) - 1);
	assert_int_equal(get(&f, id, "/breakdown"), 200);
	for (size_t i = 0; i < json_array_size(json_object_get(f.json, "rows")); i++) {
		row = json_array_get(json_object_get(f.json, "rows"), i);
		if (json_is_null(json_object_get(row, "step")))
			break;
	}
	assert_true(json_real_value(json_object_get(row, "span_us")) == 50);
	assert_true(json_real_value(json_object_get(row, "compute_us")) == 30);
	assert_true(json_real_value(json_object_get(row, "communication_exposed_us")) == 10);
	assert_true(json_real_value(json_object_get(row, "free_us")) == 10);
	assert_int_equal(get(&f, id, "/operators?by=name&sort=total&limit=1"), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "rows")), 1);
	row = json_array_get(json_object_get(f.json, "rows"), 0);
	assert_string_equal(text_at(row, "name"), "gemm");
	assert_int_equal(json_integer_value(json_object_get(row, "count")), 2);
	assert_int_equal(get(&f, id, "/operators?by=colour"), 400);
	assert_int_equal(get(&f, id, "/operators?rank=-1"), 400);
	assert_int_equal(get(&f, id, "/communication"), 200);
	assert_int_equal(get(&f, id, "/analysis"), 200);
	assert_true(json_is_object(json_object_get(f.json, "verdict")));
	assert_int_equal(get(&f, id, "/advice"), 200);
	tear_down(&f);
}

static void what_is_no_profile_fails_with_its_problem(void **state)
{
	struct fixture f;
	char id[64], target[96];
	struct sb_error err = {0};

	(void)state;
	set_up(&f);
	assert_int_equal(upload_one(&f, "/v1/profiles", "dir/picture.png", "\x89PNG\r\n\x1a\n....", NULL),
	                 202);
	assert_string_equal(text_at(f.json, "name"), "picture.png");
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	assert_int_equal(run_job(&f, id, &err), SB_EFORMAT);
	assert_int_equal(get(&f, id, ""), 200);
	assert_string_equal(text_at(f.json, "state"), "failed");
	assert_true(json_is_object(json_object_get(f.json, "error")));
	assert_int_equal(get(&f, id, "/breakdown"), 422);
	assert_string_equal(text_at(f.json, "profile"), id);
	assert_string_equal(text_at(f.json, "code"), err.word);
	assert_int_equal(get(&f, id, "/operators"), 422);
	snprintf(target, sizeof(target), "/v1/jobs/%s", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "failed");
	assert_int_equal(ask(&f, "DELETE", target, NULL), 409);
	tear_down(&f);
}

static void empty_and_misnamed_uploads_are_refused(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(upload_one(&f, "/v1/profiles", "trace.json", "", NULL), 422);
	assert_problem(&f, 422, "empty");
	assert_string_equal(text_at(f.json, "file"), "trace.json");
	assert_int_equal(upload_one(&f, "/v1/profiles?name=a\nb", "trace.json", "x", NULL), 400);
	assert_int_equal(upload_one(&f, "/v1/profiles?name=\xff", "trace.json", "x", NULL), 400);
	assert_int_equal(ask(&f, "POST", "/v1/profiles", NULL), 400);
	assert_int_equal(ask(&f, "GET", "/v1/profiles", NULL), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "items")), 0);
	tear_down(&f);
}

/* The server calls again once the job has ended, without the upload. */
static int second_call(struct fixture *f, const char *id)
{
	struct api_req req = {.method = "POST", .path = "/v1/profiles", .waited = true};
	struct upload *none = NULL;

	req.upload = &none;
	snprintf(req.waited_job, sizeof(req.waited_job), "%s", id);
	clear_answer(f);
	api_handle(f->api, &req, &f->res);
	keep_json(f);
	return f->res.status;
}

static void who_prefers_to_wait_gets_the_result(void **state)
{
	static const char *const wait[] = {"Prefer", "respond-async, wait=90", NULL};
	struct fixture f;
	char id[64];

	(void)state;
	set_up(&f);
	assert_int_equal(upload_one(&f, "/v1/profiles", "trace.json", TRACE, wait), 202);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	assert_string_equal(f.res.wait_job, id);
	assert_int_equal(f.res.wait_seconds, 25); /* the cap of the design page */
	assert_int_equal(second_call(&f, id), 202);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	assert_int_equal(second_call(&f, id), 201);
	assert_string_equal(text_at(f.json, "state"), "ready");
	assert_non_null(header_of(&f, "Location"));
	assert_int_equal(upload_one(&f, "/v1/profiles", "x", "no profile at all", wait), 202);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	run_job(&f, id, NULL);
	assert_int_equal(second_call(&f, id), 422);
	assert_string_equal(text_at(f.json, "profile"), id);
	tear_down(&f);
}

static void a_stop_is_no_failure_but_a_cancel_is(void **state)
{
	struct fixture f;
	char id[64], target[96];
	struct sb_error err = {0};

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	f.queue.canceled = f.draining = true;
	assert_int_equal(run_job(&f, id, &err), SB_ECANCELED);
	assert_int_equal(get(&f, id, ""), 200);
	assert_string_equal(text_at(f.json, "state"), "queued");
	f.draining = false;
	assert_int_equal(run_job(&f, id, &err), SB_ECANCELED);
	assert_int_equal(get(&f, id, ""), 200);
	assert_string_equal(text_at(f.json, "state"), "failed");
	assert_string_equal(text_at(json_object_get(f.json, "error"), "code"), "canceled");
	snprintf(target, sizeof(target), "/v1/jobs/%s", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "canceled");
	tear_down(&f);
}

static void a_deleted_profile_ends_its_job(void **state)
{
	struct fixture f;
	char id[64], target[96];
	struct sb_error err = {0};

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	snprintf(target, sizeof(target), "/v1/profiles/%s", id);
	assert_int_equal(ask(&f, "DELETE", target, NULL), 204);
	assert_int_equal(ask(&f, "DELETE", target, NULL), 404);
	assert_int_equal(run_job(&f, id, &err), SB_ECANCELED);
	assert_int_equal(get(&f, id, "/analysis"), 404);
	assert_int_equal(get(&f, id, "/operators"), 404);
	assert_int_equal(get(&f, "..", ""), 404);
	tear_down(&f);
}

static void a_full_queue_keeps_the_profile(void **state)
{
	struct fixture f;
	char first[64], second[64];

	(void)state;
	set_up(&f);
	upload_trace(&f, first);
	f.queue.submit_rc = SB_EBUSY;
	upload_trace(&f, second);
	assert_int_equal(f.queue.count, 1);
	f.queue.submit_rc = SB_OK;
	/* when a job ends, there is room again */
	assert_int_equal(run_job(&f, first, NULL), SB_OK);
	assert_int_equal(f.queue.count, 2);
	assert_string_equal(f.queue.ids[1], second);
	f.queue.count = 0;
	assert_int_equal(api_resume_jobs(f.api, NULL), SB_OK);
	assert_int_equal(f.queue.count, 1);
	tear_down(&f);
}

static void a_lost_side_file_is_made_again(void **state)
{
	struct fixture f;
	char id[64], path[256];

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	snprintf(path, sizeof(path), "%s/profiles/%s/operators", f.place.data, id);
	assert_int_equal(truncate(path, 10), 0);
	f.queue.count = 0;
	assert_int_equal(get(&f, id, "/operators"), 409);
	assert_int_equal(f.queue.count, 1);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	assert_int_equal(get(&f, id, "/operators"), 200);
	tear_down(&f);
}

/* As an older version left it, which did not know of input pipelines. */
static void a_document_that_is_not_there_is_made(void **state)
{
	const struct store_document old = {.name = "breakdown", .text = "{}", .len = 2};
	struct fixture f;
	char id[64];

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	assert_int_equal(store_profile_finish(f.store, id, "ready", "{}", &old, 1, NULL), SB_OK);
	f.queue.count = 0;
	assert_int_equal(get(&f, id, "/breakdown"), 200);
	assert_int_equal(f.queue.count, 0);
	assert_int_equal(get(&f, id, "/input-pipeline"), 409);
	assert_int_equal(f.queue.count, 1);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	assert_int_equal(get(&f, id, "/input-pipeline"), 200);
	tear_down(&f);
}

static void a_repeated_key_makes_no_second_profile(void **state)
{
	static const char *const key[] = {"Idempotency-Key", "up", NULL};
	struct fixture f;
	char id[64];

	(void)state;
	set_up(&f);
	assert_int_equal(upload_one(&f, "/v1/profiles?name=a", "t", TRACE, key), 202);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	assert_int_equal(upload_one(&f, "/v1/profiles?name=a", "t", TRACE, key), 202);
	assert_string_equal(text_at(f.json, "id"), id);
	assert_int_equal(upload_one(&f, "/v1/profiles?name=b", "t", TRACE, key), 422);
	assert_int_equal(f.queue.count, 1);
	assert_int_equal(ask(&f, "GET", "/v1/profiles", NULL), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "items")), 1);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_upload_is_read_by_a_job),
	    cmocka_unit_test(what_is_no_profile_fails_with_its_problem),
	    cmocka_unit_test(empty_and_misnamed_uploads_are_refused),
	    cmocka_unit_test(who_prefers_to_wait_gets_the_result),
	    cmocka_unit_test(a_stop_is_no_failure_but_a_cancel_is),
	    cmocka_unit_test(a_deleted_profile_ends_its_job),
	    cmocka_unit_test(a_full_queue_keeps_the_profile),
	    cmocka_unit_test(a_lost_side_file_is_made_again),
	    cmocka_unit_test(a_document_that_is_not_there_is_made),
	    cmocka_unit_test(a_repeated_key_makes_no_second_profile),
	};

	return cmocka_run_group_tests_name("profiles", tests, NULL, NULL);
}
