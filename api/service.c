#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/internal.h"
#include "api/plan_jobs.h"
#include "api/plans/plans.h"
#include "web/assets.h"

const struct api_limits API_LIMITS_DEFAULT = {.upload_bytes = INT64_C(16) << 30,
                                              .inflated_bytes = INT64_C(64) << 30,
                                              .ratio = 200,
                                              .ratio_from = INT64_C(64) << 20,
                                              .archive_files = 100000,
                                              .request_bytes = INT64_C(1) << 20,
                                              .plan_wait_seconds = 2};

/* To make it takes some milliseconds, too long for each request. */
static void make_kinds(struct api_service *s)
{
	JSON_AUTO kinds = plan_kinds();

	s->kinds = kinds ? json_write(kinds, &s->kinds_length) : NULL;
	if (s->kinds)
		store_sha256(s->kinds, s->kinds_length, s->kinds_version);
}

int api_service_new(const struct api_config *config, struct api_service **out)
{
	struct api_service *s = calloc(1, sizeof(*s));

	if (!s)
		return SB_ENOMEM;
	s->config = *config;
	pthread_mutex_init(&s->lock, NULL);
	s->metrics = metrics_new();
	s->timelines = timelines_new();
	s->plan_jobs = plan_jobs_new();
	make_kinds(s);
	if (config->listen_host)
		s->listen_host = strdup(config->listen_host);
	s->config.listen_host = s->listen_host;
	if (!s->metrics || !s->timelines || !s->plan_jobs || !s->kinds ||
	    (config->listen_host && !s->listen_host)) {
		api_service_free(&s);
		return SB_ENOMEM;
	}
	*out = s;
	return SB_OK;
}

void api_service_free(struct api_service **sp)
{
	struct api_service *s = *sp;

	if (!s)
		return;
	metrics_free(&s->metrics);
	timelines_free(&s->timelines);
	plan_jobs_free(&s->plan_jobs);
	free(s->kinds);
	free(s->listen_host);
	pthread_mutex_destroy(&s->lock);
	free(s);
	*sp = NULL;
}

const char *api_route_of(const char *path)
{
	const char *t = route_template(path);

	if (t)
		return t;
	return web_asset_find(path) ? "/{asset}" : "other";
}

static void no_route(struct api_res *res, const char *allow)
{
	if (!allow[0]) {
		api_problem(res, 404, "no_such_path", "There is nothing at this path.");
		return;
	}
	api_problem(res, 405, "method_not_allowed", "This path does not know this method.");
	api_res_header(res, "Allow", allow);
}

static bool check_origin(struct api_service *s, const struct api_req *req, struct api_res *res)
{
	const char *host = api_header(req, "Host"), *origin = api_header(req, "Origin");

	/* only HTTP/1.0 comes without Host: no browser, so nobody's page */
	if (host && !host_is_ours(&s->config, host)) {
		api_problem(res, 403, "foreign_host", "This service does not answer to this host name.");
		return false;
	}
	if (origin && !origin_is_ours(&s->config, origin, host ? host : "")) {
		api_problem(res, 403, "foreign_origin", "Pages from elsewhere may not use this service.");
		return false;
	}
	return true;
}

static bool is_json_type(const char *type)
{
	size_t n;

	if (!type)
		return false;
	n = strcspn(type, "; \t");
	return n == strlen("application/json") && strncasecmp(type, "application/json", n) == 0;
}

static bool check_body(struct api_service *s, const struct route *r, const struct api_req *req,
                       int64_t content_length, struct api_res *res)
{
	int64_t most = r->mode == API_UPLOAD ? s->config.limits.upload_bytes : s->config.limits.request_bytes;

	if (content_length > most) {
		char detail[100];

		snprintf(detail, sizeof(detail), "The body may have at most %lld bytes.", (long long)most);
		api_problem(res, 413, "too_large", detail);
		return false;
	}
	if (r->json_body && !is_json_type(api_header(req, "Content-Type"))) {
		api_problem(res, 415, "unsupported_media_type", "The body must be sent as application/json.");
		if (strcmp(req->method, "POST") == 0)
			api_res_header(res, "Accept-Post", "application/json");
		return false;
	}
	return true;
}

void api_finish(struct api_res *res, const struct api_req *req)
{
	problem_finish(res, req);
	api_res_header(res, "X-Content-Type-Options", "nosniff");
	if (!res_header(res, "Cache-Control"))
		api_res_header(res, "Cache-Control", res_header(res, "ETag") ? "no-cache" : "no-store");
}

bool api_precheck(struct api_service *s, const struct api_req *req, int64_t content_length,
                  struct api_res *res)
{
	char param[PARAM_MAX], allow[64];
	const struct route *r = route_find(req->method, req->path, param, allow);
	bool fine = check_origin(s, req, res);

	if (fine && !r) {
		no_route(res, allow);
		fine = false;
	}
	fine = fine && query_check(r, req, res) && check_body(s, r, req, content_length, res);
	if (!fine)
		api_finish(res, req);
	return !fine;
}

void api_handle(struct api_service *s, const struct api_req *req, struct api_res *res)
{
	struct call c = {.s = s, .req = req, .res = res};
	char allow[64];
	const struct route *r = route_find(req->method, req->path, c.param, allow);

	if (!r) {
		no_route(res, allow);
	} else if (query_check(r, req, res)) {
		c.subject = r->subject;
		r->handler(&c);
	}
	represent(&c);
	api_finish(res, req);
}
