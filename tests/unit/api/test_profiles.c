#include "tests/unit/api/helper.h"

#include "tests/unit/api/fake_planner.h"

/* Two kernels and a collective on one device, in us: compute 10..30 and 50..60, communication 20..40.
 * By hand: span 50, compute 30, communication 20, overlap 10, exposed 10, busy 40, free 10. */
static const char TRACE[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":20,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)\","
    "\"pid\":0,\"tid\":20,\"ts\":20,\"dur\":20,\"args\":{\"device\":0,\"stream\":20,\"correlation\":2}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":10,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":3}}]}";

static void upload_trace(struct fixture *f, char id[64])
{
	assert_int_equal(upload_one(f, "/v1/profiles?name=my%20run", "trace.json", TRACE, NULL), 202);
	snprintf(id, 64, "%s", text_at(f->json, "id"));
}

static int get(struct fixture *f, const char *id, const char *part)
{
	char target[128];

	snprintf(target, sizeof(target), "/v1/profiles/%s%s", id, part);
	return ask(f, "GET", target, NULL);
}

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

/* What the queue tells of the job while its work returns: the result is stored, the end is not noted yet. */
static void about_to_end(struct fixture *f, const char *id)
{
	struct job_status *j = &f->queue.status;

	*j = (struct job_status){
	    .kind = "profile", .state = JOB_RUNNING, .progress = 0.9, .created_us = 1, .started_us = 2};
	snprintf(j->id, sizeof(j->id), "%s", id);
	snprintf(j->object, sizeof(j->object), "%s", id);
	f->queue.status_rc = f->queue.cancel_rc = SB_OK;
}

static void a_job_is_done_once_its_profile_is(void **state)
{
	struct fixture f;
	char id[64], target[96];

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	about_to_end(&f, id);
	snprintf(target, sizeof(target), "/v1/jobs/%s", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "running");
	assert_int_equal(ask(&f, "DELETE", target, NULL), 202);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "done");
	assert_int_equal(json_real_value(json_object_get(f.json, "progress")), 1);
	assert_int_equal(ask(&f, "DELETE", target, NULL), 409);
	assert_problem(&f, 409, "already_ended");
	upload_one(&f, "/v1/profiles", "x", "no profile at all", NULL);
	snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
	about_to_end(&f, id);
	run_job(&f, id, NULL);
	snprintf(target, sizeof(target), "/v1/jobs/%s", id);
	assert_int_equal(ask(&f, "GET", target, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "failed");
	assert_true(json_is_object(json_object_get(f.json, "error")));
	assert_int_equal(ask(&f, "DELETE", target, NULL), 409);
	tear_down(&f);
}

static void nothing_is_made_again_for_a_job_that_has_not_ended(void **state)
{
	struct fixture f;
	char id[64], path[256];

	(void)state;
	set_up(&f);
	upload_trace(&f, id);
	assert_int_equal(run_job(&f, id, NULL), SB_OK);
	snprintf(path, sizeof(path), "%s/profiles/%s/operators", f.place.data, id);
	assert_int_equal(truncate(path, 10), 0);
	about_to_end(&f, id);
	f.queue.submit_rc = SB_ECONFLICT;
	assert_int_equal(get(&f, id, "/operators"), 409);
	assert_non_null(header_of(&f, "Retry-After"));
	get(&f, id, "");
	assert_string_equal(text_at(f.json, "state"), "ready");
	/* as two requests at once may leave it: queued, without a job */
	f.queue.status.state = JOB_DONE;
	assert_int_equal(get(&f, id, "/operators"), 409);
	f.queue.submit_rc = SB_OK;
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
	    cmocka_unit_test(a_job_is_done_once_its_profile_is),
	    cmocka_unit_test(nothing_is_made_again_for_a_job_that_has_not_ended),
	    cmocka_unit_test(a_document_that_is_not_there_is_made),
	    cmocka_unit_test(a_repeated_key_makes_no_second_profile),
	};

	return cmocka_run_group_tests_name("profiles", tests, NULL, NULL);
}
