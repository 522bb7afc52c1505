#include <string.h>

#include "server/http_private.h"

enum { SEND_SECONDS = 60, SEND_RATE = 16384 };

void decide(struct call *c, int status, const char *code, const char *detail)
{
	api_problem(&c->res, status, code, detail);
	api_finish(&c->res, &c->req);
	c->decided = true;
}

void decide_error(struct call *c, const struct sb_error *err)
{
	api_problem_from(&c->res, err);
	api_finish(&c->res, &c->req);
	c->decided = true;
}

static bool add(struct MHD_Response *r, const char *name, const char *value)
{
	return MHD_add_response_header(r, name, value) == MHD_YES;
}

static bool add_headers(struct call *c, struct MHD_Response *r)
{
	struct api_res *res = &c->res;
	bool fine = !res->content_type || add(r, "Content-Type", res->content_type);

	for (size_t i = 0; fine && i < res->header_count; i++)
		fine = add(r, res->headers[i].name, res->headers[i].value);
	if (fine)
		fine = add(r, "X-Request-Id", c->req.request_id);
	if (fine && (c->close || atomic_load(c->server->config.draining)))
		fine = add(r, "Connection", "close");
	return fine;
}

static struct MHD_Response *make_response(struct api_res *res)
{
	struct MHD_Response *r;

	if (!res->body)
		return MHD_create_response_from_buffer(res->static_body ? res->body_len : 0,
		                                       without_const(res->static_body),
		                                       MHD_RESPMEM_PERSISTENT);
	r = MHD_create_response_from_buffer(res->body_len, res->body, MHD_RESPMEM_MUST_FREE);
	if (r)
		res->body = NULL;
	return r;
}

enum MHD_Result respond_send(struct call *c)
{
	struct MHD_Response *r;
	enum MHD_Result queued = MHD_NO;

	c->sent = (int64_t)c->res.body_len;
	r = make_response(&c->res);
	if (!r)
		return MHD_NO;
	if (add_headers(c, r))
		queued = MHD_queue_response(c->connection, (unsigned)c->res.status, r);
	else
		LOG(c->server->config.log, LOG_ERROR, "a response header was refused",
		    LOG_TEXT("request_id", c->req.request_id));
	MHD_destroy_response(r);
	c->phase = CALL_SENT;
	peer_expect(c->peer, SEND_SECONDS + (int)(c->sent / SEND_RATE));
	return queued;
}
