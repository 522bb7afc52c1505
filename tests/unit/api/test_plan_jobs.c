#include "tests/unit/api/helper.h"

#include "tests/unit/api/fake_planner.h"

/* The address of the job that the last answer tells of. */
static void location_of(const struct fixture *f, char out[96])
{
	const char *location = header_of(f, "Location");

	assert_non_null(location);
	snprintf(out, 96, "%s", location);
}

#define SLOW "{\"kind\":\"strategy\",\"a\":7}"

static void a_long_search_is_a_job(void **state)
{
	struct fixture f;
	char job[96], plan[96];

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 202);
	assert_string_equal(text_at(f.json, "kind"), "plan");
	assert_string_equal(text_at(f.json, "state"), "queued");
	assert_true(json_is_null(json_object_get(f.json, "result")));
	assert_non_null(header_of(&f, "Retry-After"));
	location_of(&f, job);
	assert_memory_equal(job, "/v1/jobs/", 9);
	/* the same request joins it */
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 202);
	assert_string_equal(header_of(&f, "Location"), job);
	assert_int_equal(f.queue.plans, 1);
	assert_int_equal(run_search(&f), SB_OK);
	/* it is told as done even while the queue does not know yet */
	f.queue.status.state = JOB_RUNNING;
	assert_int_equal(ask(&f, "GET", job, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "done");
	assert_true(json_is_null(json_object_get(f.json, "error")));
	snprintf(plan, sizeof(plan), "%s", text_at(f.json, "result"));
	assert_int_equal(ask(&f, "GET", plan, NULL), 200);
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 200);
	assert_string_equal(header_of(&f, "Location"), plan);
	/* the queue forgets, the process ends: the plan stands for its job */
	f.queue.status_rc = SB_ENOENT;
	api_service_free(&f.api);
	make_service(&f);
	assert_int_equal(ask(&f, "GET", job, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "done");
	assert_string_equal(text_at(f.json, "result"), plan);
	tear_down(&f);
}

static void two_that_wait_for_one_search(void **state)
{
	struct api_req waiting = {.method = "POST", .path = "/v1/plans", .waited = true};
	struct fixture f;

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	ask(&f, "POST", "/v1/plans", SLOW);
	memcpy(waiting.waited_job, f.queue.status.id, sizeof(waiting.waited_job));
	assert_int_equal(run_search(&f), SB_OK);
	for (int i = 0; i < 2; i++) {
		clear_answer(&f);
		api_handle(f.api, &waiting, &f.res);
		assert_int_equal(f.res.status, i == 0 ? 201 : 200);
	}
	tear_down(&f);
}

static void a_plan_that_is_deleted_before_who_waits_reads_it(void **state)
{
	struct api_req waiting = {
	    .method = "POST", .path = "/v1/plans", .body = SLOW, .body_len = strlen(SLOW), .waited = true};
	struct fixture f;
	char first[96], plan[96];

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	ask(&f, "POST", "/v1/plans", SLOW);
	location_of(&f, first);
	memcpy(waiting.waited_job, f.queue.status.id, sizeof(waiting.waited_job));
	assert_int_equal(run_search(&f), SB_OK);
	f.queue.status.state = JOB_DONE;
	assert_int_equal(ask(&f, "GET", first, NULL), 200);
	snprintf(plan, sizeof(plan), "%s", text_at(f.json, "result"));
	assert_int_equal(ask(&f, "DELETE", plan, NULL), 204);
	clear_answer(&f);
	api_handle(f.api, &waiting, &f.res);
	assert_int_equal(f.res.status, 202);
	assert_string_not_equal(header_of(&f, "Location"), first);
	assert_int_equal(f.queue.plans, 2);
	tear_down(&f);
}

static void a_failed_search_tells_the_whole_problem(void **state)
{
	static const char never[] = "{\"kind\":\"strategy\",\"method\":\"never\"}";
	struct fixture f;
	char job[96];
	json_t *error;

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	assert_int_equal(ask(&f, "POST", "/v1/plans", never), 202);
	location_of(&f, job);
	assert_int_equal(run_search(&f), SB_EINFEASIBLE);
	assert_int_equal(ask(&f, "GET", job, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "failed");
	assert_true(json_is_null(json_object_get(f.json, "result")));
	error = json_object_get(f.json, "error");
	assert_int_equal(json_integer_value(json_object_get(error, "status")), 422);
	assert_string_equal(text_at(error, "code"), "infeasible");
	assert_int_equal(json_integer_value(json_object_get(error, "least_memory_bytes")), 99);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(error, "nearest"), "nodes")), 2);
	/* what failed is searched for again, as it always was */
	f.queue.slow = false;
	assert_int_equal(ask(&f, "POST", "/v1/plans", never), 422);
	assert_int_equal(f.queue.plans, 2);
	tear_down(&f);
}

static void a_canceled_search(void **state)
{
	struct fixture f;
	char job[96];

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 202);
	location_of(&f, job);
	f.queue.cancel_rc = SB_OK;
	f.queue.canceled = true;
	assert_int_equal(ask(&f, "DELETE", job, NULL), 202);
	/* nobody joins it any more */
	assert_int_equal(run_search(&f), SB_ECANCELED);
	assert_int_equal(ask(&f, "GET", job, NULL), 200);
	assert_string_equal(text_at(f.json, "state"), "canceled");
	assert_string_equal(text_at(json_object_get(f.json, "error"), "code"), "canceled");
	f.queue.canceled = f.queue.slow = false;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 201);
	assert_int_equal(f.queue.plans, 2);
	tear_down(&f);
}

static void a_search_is_not_joined_once_it_is_canceled(void **state)
{
	struct fixture f;
	char first[96];

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	ask(&f, "POST", "/v1/plans", SLOW);
	location_of(&f, first);
	f.queue.cancel_rc = SB_OK;
	assert_int_equal(ask(&f, "DELETE", first, NULL), 202);
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 202);
	assert_string_not_equal(header_of(&f, "Location"), first);
	tear_down(&f);
}

static void preferences_decide_the_wait(void **state)
{
	static const struct {
		const char *prefer;
		int seconds;
	} cases[] = {{"wait=7", 7},    {"wait=100", 25}, {"respond-async", 0}, {"respond-async, wait=3", 3},
	             {"Wait=4; x", 4}, {"wait=0", 0},    {"wait=soon", 2},     {"handling=lenient", 2}};
	struct fixture f;

	(void)state;
	set_up(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct api_pair headers[] = {{"Prefer", cases[i].prefer}};
		const struct api_req req = {.method = "POST",
		                            .path = "/v1/plans",
		                            .headers = headers,
		                            .header_count = 1,
		                            .body = SLOW,
		                            .body_len = strlen(SLOW)};

		clear_answer(&f);
		api_handle(f.api, &req, &f.res);
		assert_int_equal(f.res.status, 202);
		assert_int_equal(f.res.wait_job[0] ? f.res.wait_seconds : 0, cases[i].seconds);
	}
	tear_down(&f);
}

static void too_many_searches(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	f.queue.submit_rc = SB_EBUSY;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 503);
	assert_problem(&f, 503, "busy");
	assert_non_null(header_of(&f, "Retry-After"));
	f.queue.submit_rc = SB_OK;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 201);
	tear_down(&f);
}

static void a_stop_ends_the_wait_without_a_promise(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	f.queue.slow = f.draining = true;
	assert_int_equal(ask(&f, "POST", "/v1/plans", SLOW), 503);
	assert_problem(&f, 503, "stopping");
	tear_down(&f);
}

static void a_key_that_saw_a_job(void **state)
{
	static const char *const key[] = {"Idempotency-Key", "k-2", NULL};
	struct fixture f;
	char job[96];

	(void)state;
	set_up(&f);
	f.queue.slow = true;
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", SLOW, NULL, key), 202);
	location_of(&f, job);
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", SLOW, NULL, key), 202);
	assert_string_equal(header_of(&f, "Location"), job);
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", "{\"kind\":\"other\"}", NULL, key), 422);
	assert_problem(&f, 422, "idempotency_key_reused");
	assert_int_equal(run_search(&f), SB_OK);
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", SLOW, NULL, key), 200);
	assert_int_equal(ask_with(&f, "POST", "/v1/plans", SLOW, NULL, key), 200);
	assert_int_equal(f.queue.plans, 1);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_long_search_is_a_job),
	    cmocka_unit_test(two_that_wait_for_one_search),
	    cmocka_unit_test(a_plan_that_is_deleted_before_who_waits_reads_it),
	    cmocka_unit_test(a_failed_search_tells_the_whole_problem),
	    cmocka_unit_test(a_canceled_search),
	    cmocka_unit_test(a_search_is_not_joined_once_it_is_canceled),
	    cmocka_unit_test(preferences_decide_the_wait),
	    cmocka_unit_test(too_many_searches),
	    cmocka_unit_test(a_stop_ends_the_wait_without_a_promise),
	    cmocka_unit_test(a_key_that_saw_a_job),
	};

	return cmocka_run_group_tests_name("plan jobs", tests, NULL, NULL);
}
