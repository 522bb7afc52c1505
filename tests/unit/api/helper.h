#ifndef SB_TESTS_UNIT_API_HELPER_H
#define SB_TESTS_UNIT_API_HELPER_H
/* The api over a temporary store, with a job queue that only notes what it is given: no socket, no thread. */
#include "tests/unit/storage/helper.h"

#include <jansson.h>

#include "api/http.h"

struct job_queue {
	char ids[64][STORE_ID_MAX];
	size_t count;
	int submit_rc, status_rc, cancel_rc;
	struct job_status status;
	bool canceled; /* what the running job is told */
	bool slow;     /* no search ends while a request waits for it */
	size_t plans;  /* submitted */
};

static inline int queue_submit(struct job_queue *q, const char *id, const char *kind, const char *object)
{
	assert_string_equal(id, object);
	if (q->submit_rc != SB_OK)
		return q->submit_rc;
	if (strcmp(kind, "plan") == 0) {
		q->status = (struct job_status){.kind = "plan", .created_us = 1};
		snprintf(q->status.id, STORE_ID_MAX, "%s", id);
		snprintf(q->status.object, STORE_ID_MAX, "%s", id);
		q->status_rc = SB_OK;
		q->plans++;
		return SB_OK;
	}
	assert_string_equal(kind, "profile");
	assert_true(q->count < 64);
	snprintf(q->ids[q->count++], STORE_ID_MAX, "%s", id);
	return SB_OK;
}

static inline int queue_status(struct job_queue *q, const char *id, struct job_status *out)
{
	(void)id;
	if (q->status_rc == SB_OK)
		*out = q->status;
	return q->status_rc;
}

static inline int queue_cancel(struct job_queue *q, const char *id)
{
	(void)id;
	return q->cancel_rc;
}

static inline void queue_counts(struct job_queue *q, int64_t out_by_state[5])
{
	memset(out_by_state, 0, 5 * sizeof(*out_by_state));
	out_by_state[JOB_QUEUED] = (int64_t)q->count;
}

static const struct job_ops QUEUE_OPS = {queue_submit, queue_status, queue_cancel, queue_counts};

struct fixture {
	struct place place;
	struct store *store;
	struct job_queue queue;
	struct api_service *api;
	struct api_res res;
	json_t *json; /* of the last answer, NULL when it was no JSON */
	bool draining;
};

static inline bool is_draining(void *self)
{
	return ((struct fixture *)self)->draining;
}

static inline void make_service(struct fixture *f)
{
	struct api_config config = {.job_ops = &QUEUE_OPS,
	                            .limits = API_LIMITS_DEFAULT,
	                            .thresholds = THRESHOLDS_DEFAULT,
	                            .draining = is_draining,
	                            .draining_self = f,
	                            .listen_host = "127.0.0.1",
	                            .listen_port = 8080,
	                            .store = f->store,
	                            .jobs = &f->queue};

	assert_int_equal(api_service_new(&config, &f->api), SB_OK);
}

static inline void set_up(struct fixture *f)
{
	*f = (struct fixture){.queue.status_rc = SB_ENOENT, .queue.cancel_rc = SB_ENOENT};
	make_dir(&f->place);
	f->store = must_open(&f->place);
	make_service(f);
}

static inline void clear_answer(struct fixture *f)
{
	json_decref(f->json);
	f->json = NULL;
	api_res_clear(&f->res);
}

static inline void tear_down(struct fixture *f)
{
	clear_answer(f);
	api_service_free(&f->api);
	store_close(&f->store);
	drop_dir(&f->place);
}

static inline const char *header_of(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->res.header_count; i++) {
		if (strcmp(f->res.headers[i].name, name) == 0)
			return f->res.headers[i].value;
	}
	return NULL;
}

/* Splits "/path?a=b&c" (no escapes). */
static inline size_t split_target(char *target, struct api_pair out[8])
{
	char *at = strchr(target, '?');
	size_t n = 0;

	while (at && n < 8) {
		char *value;

		*at++ = '\0';
		out[n].name = at;
		at = strchr(at, '&');
		value = strchr(out[n].name, '=');
		if (at)
			*at = '\0';
		if (value && (!at || value < at))
			*value++ = '\0';
		else
			value = NULL;
		out[n++].value = value;
	}
	return n;
}

static inline void keep_json(struct fixture *f)
{
	if (f->res.body && f->res.content_type && strstr(f->res.content_type, "json") &&
	    !header_of(f, "Content-Encoding"))
		assert_non_null(f->json = json_loadb(f->res.body, f->res.body_len, 0, NULL));
}

static inline void never_progress(void *self, double share)
{
	(void)self;
	assert_true(share >= 0 && share <= 1);
}

static inline bool queue_canceled(void *self)
{
	return ((struct job_queue *)self)->canceled;
}

static inline int run_kind(struct fixture *f, const char *kind, const char *id, struct sb_error *err)
{
	const struct job_control control = {
	    .self = &f->queue, .progress = never_progress, .canceled = queue_canceled};

	return api_job_run(f->api, kind, id, &control, err);
}

/* Runs the job of a profile here and now. */
static inline int run_job(struct fixture *f, const char *id, struct sb_error *err)
{
	return run_kind(f, "profile", id, err);
}

/* Runs the search that was submitted last, as a job thread would. */
static inline int run_search(struct fixture *f)
{
	struct job_status *j = &f->queue.status;
	int rc = run_kind(f, "plan", j->id, &j->error);

	j->state = rc == SB_OK ? JOB_DONE : rc == SB_ECANCELED ? JOB_CANCELED : JOB_FAILED;
	return rc;
}

/* What the server does with an answer that asks to wait. */
static inline void wait_as_asked(struct fixture *f, struct api_req *req)
{
	if (!f->res.wait_job[0])
		return;
	assert_true(f->res.wait_seconds > 0 && f->res.wait_seconds <= 25);
	if (!f->queue.slow && strcmp(f->res.wait_job, f->queue.status.id) == 0 &&
	    f->queue.status.state == JOB_QUEUED)
		run_search(f);
	req->waited = true;
	memcpy(req->waited_job, f->res.wait_job, sizeof(req->waited_job));
	api_res_clear(&f->res);
	api_handle(f->api, req, &f->res);
}

/* One request; headers is a list of name, value, …, NULL. Returns the status. */
static inline int ask_with(struct fixture *f, const char *method, const char *target, const char *body,
                           struct upload **up, const char *const *headers)
{
	char copy[512];
	struct api_pair query[8], pairs[8];
	struct api_req req = {.method = method, .path = copy, .query = query, .headers = pairs, .upload = up};

	snprintf(copy, sizeof(copy), "%s", target);
	req.query_count = split_target(copy, query);
	for (; headers && *headers; headers += 2)
		pairs[req.header_count++] = (struct api_pair){headers[0], headers[1]};
	req.body = body;
	req.body_len = body ? strlen(body) : 0;
	clear_answer(f);
	api_handle(f->api, &req, &f->res);
	if (strcmp(copy, "/v1/plans") == 0)
		wait_as_asked(f, &req);
	keep_json(f);
	return f->res.status;
}

static inline int ask(struct fixture *f, const char *method, const char *target, const char *body)
{
	return ask_with(f, method, target, body, NULL, NULL);
}

/* May the request go on to its body? 0, or the status of the refusal. */
static inline int precheck(struct fixture *f, const char *method, const char *target, int64_t length,
                           const char *const *headers)
{
	char copy[512];
	struct api_pair query[8], pairs[8];
	struct api_req req = {.method = method, .path = copy, .query = query, .headers = pairs};
	bool refused;

	snprintf(copy, sizeof(copy), "%s", target);
	req.query_count = split_target(copy, query);
	for (; headers && *headers; headers += 2)
		pairs[req.header_count++] = (struct api_pair){headers[0], headers[1]};
	clear_answer(f);
	refused = api_precheck(f->api, &req, length, &f->res);
	keep_json(f);
	return refused ? f->res.status : 0;
}

static inline const char *text_at(const json_t *o, const char *name)
{
	const char *t = json_string_value(json_object_get(o, name));

	return t ? t : "(none)";
}

/* Every problem document has these members (RFC 9457 and design page api). */
static inline void assert_problem(const struct fixture *f, int status, const char *code)
{
	assert_int_equal(f->res.status, status);
	assert_string_equal(f->res.content_type, "application/problem+json");
	assert_int_equal(json_integer_value(json_object_get(f->json, "status")), status);
	assert_string_equal(text_at(f->json, "code"), code);
	assert_true(json_is_string(json_object_get(f->json, "type")));
	assert_true(json_is_string(json_object_get(f->json, "title")));
	assert_true(json_is_string(json_object_get(f->json, "detail")));
	assert_true(json_is_string(json_object_get(f->json, "instance")));
}

/* Uploads one file; the body of the answer is in f->json. */
static inline int upload_one(struct fixture *f, const char *target, const char *path, const char *bytes,
                             const char *const *headers)
{
	UPLOAD_AUTO up = NULL;

	assert_int_equal(upload_begin(f->store, 1 << 24, 0, &up, NULL), SB_OK);
	assert_int_equal(upload_file(up, path, NULL), SB_OK);
	assert_int_equal(upload_append(up, bytes, strlen(bytes), NULL), SB_OK);
	return ask_with(f, "POST", target, NULL, &up, headers);
}

#endif
