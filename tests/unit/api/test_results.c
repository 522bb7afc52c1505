/* Results while the job of a profile ends, and what they tell of queues. */
#include "tests/unit/api/uploaded.h"

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

static void queue_is(const json_t *queue, const char *name, int samples, int empty, int full, double mean)
{
	assert_string_equal(text_at(queue, "name"), name);
	assert_int_equal(json_integer_value(json_object_get(queue, "samples")), samples);
	assert_int_equal(json_integer_value(json_object_get(queue, "empty")), empty);
	assert_int_equal(json_integer_value(json_object_get(queue, "full")), full);
	assert_float_equal(json_number_value(json_object_get(queue, "mean_size")), mean, 1e-9);
}

/* Sizes 1, 1, 0, 1 and one batch that found the queue empty: what the rule of empty queues is made from
 * (samples of the MindInsight era, 8.3). */
static void sizes_of_queues_are_told(void **state)
{
	static const struct {
		const char *text;
		int samples, empty, full;
		double mean;
	} CASES[] = {{"0 0 1 4 9\n0 1 1 4 9\n0 2 1 8 9\n1 1 1 1 9\n0 0 2 4 9\n0 1 2 4 9\n0 2 2 8 9\n"
	              "1 1 2 1 9\n0 0 3 4 9\n0 1 3 4 9\n0 2 3 8 9\n1 1 3 0 9\n0 0 4 4 9\n0 1 4 4 9\n"
	              "0 2 4 8 9\n1 1 4 1 9\n",
	              4, 1, 3, 0.75},
	             {"0 1 1 4 10\n0 2 1 4 10\n0 0 1 0 10\n1 64 1 0 10\n", 1, 1, 0, 0}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		char id[64];

		set_up(&f);
		assert_int_equal(
		    upload_one(&f, "/v1/profiles", "p/device_queue_profiling_0.txt", CASES[i].text, NULL),
		    202);
		snprintf(id, sizeof(id), "%s", text_at(f.json, "id"));
		assert_int_equal(run_job(&f, id, NULL), SB_OK);
		assert_int_equal(get(&f, id, "/input-pipeline"), 200);
		assert_int_equal(json_array_size(json_object_get(f.json, "queues")), 1);
		queue_is(json_array_get(json_object_get(f.json, "queues"), 0), "device_queue",
		         CASES[i].samples, CASES[i].empty, CASES[i].full, CASES[i].mean);
		tear_down(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_is_done_once_its_profile_is),
	    cmocka_unit_test(nothing_is_made_again_for_a_job_that_has_not_ended),
	    cmocka_unit_test(sizes_of_queues_are_told),
	};

	return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
