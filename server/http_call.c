#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/clock.h"
#include "server/http_private.h"

void *call_new(void *server, const char *uri, struct MHD_Connection *connection)
{
	struct http_server *s = server;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->raw = strndup(uri ? uri : "", TARGET_MAX + 1);
	if (!c->raw) {
		free(c);
		return NULL;
	}
	c->server = s;
	c->connection = connection;
	c->peer = info ? info->socket_context : NULL;
	c->started_ns = clock_now_ns();
	sb_buf_init(&c->body, (size_t)s->config.limits.request_bytes);
	atomic_fetch_add(&s->under_way, 1);
	peer_expect(c->peer, s->config.http.header_seconds);
	return c;
}

struct header_sink {
	struct call *call;
	bool full;
};

static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct header_sink *sink = arg;
	struct call *c = sink->call;

	(void)kind;
	sink->full = c->req.header_count == HEADERS_MAX;
	if (sink->full)
		return MHD_NO;
	c->headers[c->req.header_count++] = (struct api_pair){key, value ? value : ""};
	return MHD_YES;
}

static void put_hex(char *out, uint64_t v)
{
	for (int i = 15; i >= 0; i--, v >>= 4)
		out[i] = "0123456789abcdef"[v & 15];
}

static void make_request_id(struct call *c)
{
	const char *given = api_header(&c->req, "X-Request-Id");
	char *out = c->req.request_id;

	if (given && request_id_valid(given)) {
		snprintf(out, sizeof(c->req.request_id), "%s", given);
		return;
	}
	put_hex(out, c->server->run);
	put_hex(out + 16, atomic_fetch_add(&c->server->request_count, 1));
	out[32] = '\0';
}

static void refuse(struct call *c, struct refusal r)
{
	decide(c, r.status, r.code, r.detail);
	c->close = true;
}

/* The checks that need no route. A request that fails one may be an attack on a proxy in front of us: its
 * connection is never used again. */
static void check_shape(struct call *c, const char *version)
{
	struct header_sink sink = {.call = c};
	struct refusal r;
	const char *host;

	MHD_get_connection_values(c->connection, MHD_HEADER_KIND, take_header, &sink);
	c->req.headers = c->headers;
	make_request_id(c);
	if (sink.full) {
		refuse(c, (struct refusal){431, "too_many_headers", "The request has too many headers."});
		return;
	}
	r = framing_check(c->headers, c->req.header_count, version, &c->framing);
	if (r.status == 0)
		r = target_parse(c->raw, &c->target);
	if (r.status) {
		refuse(c, r);
		return;
	}
	host = api_header(&c->req, "Host");
	if (c->target.authority[0] && host && strcasecmp(c->target.authority, host) != 0)
		refuse(c, (struct refusal){400, "host_mismatch", "The request target names another host."});
	c->req.path = c->target.path;
	c->req.query = c->target.query;
	c->req.query_count = c->target.query_count;
}

static void check_route(struct call *c)
{
	c->req.method = strcmp(c->method, "HEAD") == 0 ? "GET" : c->method;
	c->mode = api_mode_of(c->req.method, c->req.path);
	c->decided = api_precheck(c->server->config.api, &c->req, c->framing.content_length, &c->res);
	if (!c->decided && c->framing.has_body &&
	    (strcmp(c->req.method, "GET") == 0 || strcmp(c->req.method, "DELETE") == 0))
		decide(c, 400, "unexpected_body", "This method takes no body.");
}

/* A refusal before the body is read reaches the client only when it waits for it (Expect); otherwise it gets
 * a reset instead, unless the body is read first. */
static bool answer_at_once(const struct call *c)
{
	if (!c->decided)
		return false;
	return c->close ||
	       (c->framing.has_body && (c->framing.expect_continue ||
	                                c->framing.content_length > c->server->config.http.drain_bytes));
}

static enum MHD_Result begin(struct call *c, const char *method, const char *version)
{
	snprintf(c->method, sizeof(c->method), "%s", method);
	c->phase = CALL_BODY;
	peer_expect(c->peer, 0);
	check_shape(c, version);
	if (!c->decided)
		check_route(c);
	if (!c->decided)
		body_begin(c);
	if (answer_at_once(c)) {
		c->close = true;
		return respond_send(c);
	}
	if (!c->framing.has_body)
		return MHD_YES;
	if (c->mode == API_UPLOAD || c->decided)
		peer_body(c->peer, true);
	else
		peer_expect(c->peer, c->server->config.http.stall_seconds);
	return MHD_YES;
}

static enum MHD_Result take(struct call *c, const char *data, size_t *size)
{
	size_t n = *size;
	int64_t before = clock_now_ns();
	bool go_on = body_take(c, data, n);

	*size = 0;
	c->received += (int64_t)n;
	if (c->peer) {
		atomic_fetch_add(&c->peer->body_bytes, (int64_t)n);
		atomic_fetch_add(&c->peer->blocked_ns, clock_now_ns() - before);
	}
	return go_on ? MHD_YES : MHD_NO;
}

static enum MHD_Result whole(struct call *c)
{
	peer_body(c->peer, false);
	peer_expect(c->peer, 0);
	if (!c->decided)
		body_end(c);
	if (c->decided)
		return respond_send(c);
	c->req.body = c->body.data;
	c->req.body_len = c->body.len;
	c->req.upload = &c->upload;
	return wait_run(c);
}

enum MHD_Result call_handle(void *server, struct MHD_Connection *connection, const char *url,
                            const char *method, const char *version, const char *data, size_t *size,
                            void **call)
{
	struct call *c = *call;
	enum call_phase phase;

	(void)server;
	(void)connection;
	(void)url;
	if (!c)
		return MHD_NO;
	phase = c->phase;
	switch (phase) {
	case CALL_NEW: return begin(c, method, version);
	case CALL_BODY: return *size ? take(c, data, size) : whole(c);
	case CALL_ANSWERED: return respond_send(c);
	case CALL_AWAY:
	case CALL_SENT: break;
	}
	return MHD_NO;
}

static void report(struct call *c, enum MHD_RequestTerminationCode code)
{
	struct http_server *s = c->server;
	const char *route = c->target.path ? api_route_of(c->target.path) : "other";
	int64_t us = (clock_now_ns() - c->started_ns) / 1000;
	bool sent = c->phase == CALL_SENT && code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
	/* 499: the client left before its answer */
	int status = sent ? c->res.status : 499;
	bool probe =
	    strcmp(route, "/livez") == 0 || strcmp(route, "/readyz") == 0 || strcmp(route, "/metrics") == 0;

	api_count(s->config.api, c->method, route, status, us, c->received, c->sent);
	LOG(s->config.log, probe ? LOG_DEBUG : LOG_INFO, "request", LOG_TEXT("request_id", c->req.request_id),
	    LOG_TEXT("method", c->method), LOG_TEXT("route", route), LOG_NUM("status", status),
	    LOG_NUM("dur_ms", us / 1000), LOG_NUM("bytes_in", c->received), LOG_NUM("bytes_out", c->sent));
}

void call_completed(void *server, struct MHD_Connection *connection, void **call,
                    enum MHD_RequestTerminationCode code)
{
	struct http_server *s = server;
	struct call *c = *call;

	(void)connection;
	*call = NULL;
	if (!c)
		return;
	report(c, code);
	peer_body(c->peer, false);
	/* the next request may begin after silence, but must then be quick */
	peer_expect(c->peer, s->config.http.idle_seconds + s->config.http.header_seconds);
	body_clear(c);
	api_res_clear(&c->res);
	target_clear(&c->target);
	free(c->raw);
	free(c);
	atomic_fetch_sub(&s->under_way, 1);
}
