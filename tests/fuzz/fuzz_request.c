#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/http_request.h"
#include "tests/fuzz/scratch_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A request as it comes from the socket: a line "METHOD TARGET", lines "Name: value", an empty line, the
 * body. {profile} and {plan} stand for the ids of a stored profile and a stored plan. */

enum { HEADERS = 16, TEXT_MAX = 1 << 16 };

/* The service over a store of its own. No job runs but the two that make what is stored. */
static struct {
	struct scratch_store scratch;
	struct api_service *api;
	char profile[STORE_ID_MAX], plan[STORE_ID_MAX];
} all;

static const char TRACE[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":1,"
    "\"dur\":70},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":20,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)\","
    "\"pid\":0,\"tid\":20,\"ts\":20,\"dur\":20,\"args\":{\"device\":0,\"stream\":20,\"correlation\":2}}]}";
static const char PLAN[] = "{\"kind\":\"schedule\",\"schedule\":\"1f1b\",\"stages\":4,\"micro_batches\":8,"
                           "\"forward\":1,\"backward\":2}";

static int no_submit(struct job_queue *q, const char *id, const char *kind, const char *object)
{
	char *kept = strcmp(kind, "plan") == 0 ? all.plan : all.profile;

	(void)q;
	(void)object;
	if (!kept[0])
		snprintf(kept, STORE_ID_MAX, "%s", id);
	return SB_OK;
}

static int no_status(struct job_queue *q, const char *id, struct job_status *out)
{
	(void)q;
	*out = (struct job_status){.kind = "plan", .created_us = 1};
	snprintf(out->id, sizeof(out->id), "%s", id);
	snprintf(out->object, sizeof(out->object), "%s", id);
	return SB_OK;
}

static int no_cancel(struct job_queue *q, const char *id)
{
	(void)q;
	(void)id;
	return SB_ENOENT;
}

static void no_counts(struct job_queue *q, int64_t out_by_state[5])
{
	(void)q;
	memset(out_by_state, 0, 5 * sizeof(*out_by_state));
}

static void drop_all(void)
{
	api_service_free(&all.api);
	scratch_store_drop(&all.scratch);
}

static void no_progress(void *self, double share)
{
	(void)self;
	must(share >= 0 && share <= 1);
}

static bool never(void *self)
{
	(void)self;
	return false;
}

static void run(const char *kind, const char *id)
{
	const struct job_control control = {.progress = no_progress, .canceled = never};

	must(api_job_run(all.api, kind, id, &control, NULL) == SB_OK);
}

/* A profile that is read, and a plan that is found. */
static void fill_store(void)
{
	const struct api_pair json = {"Content-Type", "application/json"};
	struct api_req upload = {.method = "POST", .path = "/v1/profiles"};
	struct api_req plan = {.method = "POST",
	                       .path = "/v1/plans",
	                       .headers = &json,
	                       .header_count = 1,
	                       .body = PLAN,
	                       .body_len = sizeof(PLAN) - 1};
	struct api_res res = {0};
	struct upload *up = NULL;
	json_t *found;

	must(upload_begin(all.scratch.store, 1 << 20, 0, &up, NULL) == SB_OK);
	must(upload_file(up, "trace.json", NULL) == SB_OK);
	must(upload_append(up, TRACE, strlen(TRACE), NULL) == SB_OK);
	upload.upload = &up;
	api_handle(all.api, &upload, &res);
	must(res.status == 202);
	api_res_clear(&res);
	run("profile", all.profile);
	api_handle(all.api, &plan, &res);
	must(res.status == 202);
	api_res_clear(&res);
	run("plan", all.plan);
	/* the job is found; the plan that it made has an id of its own */
	api_handle(all.api, &plan, &res);
	found = json_loadb(res.body, res.body_len, 0, NULL);
	must(res.status == 200 && found);
	snprintf(all.plan, sizeof(all.plan), "%s", json_string_value(json_object_get(found, "id")));
	json_decref(found);
	api_res_clear(&res);
}

static void begin(void)
{
	static const struct job_ops jobs = {no_submit, no_status, no_cancel, no_counts};
	struct api_config config = {.job_ops = &jobs,
	                            .limits = API_LIMITS_DEFAULT,
	                            .thresholds = THRESHOLDS_DEFAULT,
	                            .listen_host = "127.0.0.1",
	                            .listen_port = 8080};

	scratch_store_open(&all.scratch);
	config.store = all.scratch.store;
	must(api_service_new(&config, &all.api) == SB_OK);
	atexit(drop_all);
	fill_store();
}

/* The text with ids in place of {profile} and {plan}. The caller frees. */
static char *with_ids(const char *text, size_t len)
{
	char *out = calloc(1, TEXT_MAX + STORE_ID_MAX + 1), *end = out;

	must(out != NULL);
	while (len > 0 && end < out + TEXT_MAX) {
		bool profile = len >= 9 && strncmp(text, "{profile}", 9) == 0;
		size_t taken = profile ? 9 : len >= 6 && strncmp(text, "{plan}", 6) == 0 ? 6 : 1;

		if (taken > 1)
			end += snprintf(end, STORE_ID_MAX, "%s", profile ? all.profile : all.plan);
		else
			*end++ = *text;
		text += taken;
		len -= taken;
	}
	return out;
}

/* The next line, ended by NUL in place; NULL at the empty one and at the end. */
static char *next_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	if (!*line)
		return NULL;
	if (end)
		*end = '\0';
	*at = end ? end + 1 : line + strlen(line);
	return *line ? line : NULL;
}

static size_t read_headers(char **at, struct api_pair headers[HEADERS])
{
	size_t n = 0;
	char *line, *value;

	while (n < HEADERS && (line = next_line(at)) && (value = strchr(line, ':'))) {
		*value++ = '\0';
		headers[n++] = (struct api_pair){line, value + strspn(value, " \t")};
	}
	return n;
}

/* What is answered is JSON where it says so, and no fault of the service. */
static void check_answer(const struct api_res *res)
{
	json_t *body;
	bool packed = false;

	must(res->status >= 200 && res->status < 500);
	for (size_t i = 0; i < res->header_count; i++)
		packed = packed || strcmp(res->headers[i].name, "Content-Encoding") == 0;
	if (!res->body || packed || !res->content_type || !strstr(res->content_type, "json"))
		return;
	body = json_loadb(res->body, res->body_len, 0, NULL);
	must(body != NULL);
	must(res->status < 400 || json_is_string(json_object_get(body, "code")));
	json_decref(body);
}

/* Uploads and searches have targets of their own, and what is stored stays. */
static bool is_asked_here(const struct api_req *req)
{
	if (strcmp(req->method, "DELETE") == 0)
		return strncmp(req->path, "/v1/p", 5) != 0;
	return strcmp(req->method, "POST") != 0 ||
	       (strcmp(req->path, "/v1/profiles") != 0 && strcmp(req->path, "/v1/plans") != 0);
}

static void check_header_values(const struct api_pair *headers, size_t count)
{
	char name[64], boundary[80];

	for (size_t i = 0; i < count; i++) {
		(void)disposition_filename(headers[i].value, name, sizeof(name));
		(void)multipart_boundary(headers[i].value, boundary, sizeof(boundary));
		if (request_id_valid(headers[i].value))
			must(strlen(headers[i].value) <= 64);
	}
}

static void ask(char *text)
{
	struct api_pair headers[HEADERS];
	struct framing framing;
	struct target target = {0};
	struct api_res res = {0};
	struct api_req req = {.headers = headers};
	char *line = next_line(&text), *raw = line ? strchr(line, ' ') : NULL;

	if (!raw)
		return;
	*raw++ = '\0';
	req.method = strcmp(line, "HEAD") == 0 ? "GET" : line;
	req.header_count = read_headers(&text, headers);
	check_header_values(headers, req.header_count);
	if (framing_check(headers, req.header_count, "HTTP/1.1", &framing).status != 0 ||
	    target_parse(raw, &target).status != 0)
		return;
	must(target.path[0] == '/' && !strstr(target.path, "//") && target.query_count <= QUERY_MAX);
	req.path = target.path;
	req.query = target.query;
	req.query_count = target.query_count;
	req.body = text;
	req.body_len = strlen(text);
	if (is_asked_here(&req) && !api_precheck(all.api, &req, (int64_t)req.body_len, &res))
		api_handle(all.api, &req, &res);
	if (res.status)
		check_answer(&res);
	api_res_clear(&res);
	target_clear(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size > TEXT_MAX)
		return 0;
	if (!all.api)
		begin();
	text = with_ids((const char *)data, size);
	ask(text);
	free(text);
	return 0;
}
