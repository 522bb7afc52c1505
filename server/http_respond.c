#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "server/http_private.h"

/* Below, the header costs more than it saves; above, the time on this thread. */
enum { GZIP_LEAST = 1400, GZIP_MOST = 4 << 20, GZIP_LEVEL = 1 };

enum { SEND_SECONDS = 60, SEND_RATE = 16384 };

void decide(struct call *c, int status, const char *code, const char *detail)
{
	api_res_clear(&c->res);
	memset(&c->res, 0, sizeof(c->res));
	api_problem(&c->res, status, code, detail);
	if (status == 503)
		api_res_header(&c->res, "Retry-After", "1");
	c->decided = true;
}

void decide_error(struct call *c, const struct sb_error *err)
{
	api_res_clear(&c->res);
	memset(&c->res, 0, sizeof(c->res));
	api_problem_from(&c->res, err);
	c->decided = true;
}

static char *res_header(struct api_res *res, const char *name)
{
	for (size_t i = 0; i < res->header_count; i++)
		if (strcasecmp(res->headers[i].name, name) == 0)
			return res->headers[i].value;
	return NULL;
}

static char *gzip(char *data, size_t len, size_t *out_len)
{
	z_stream z = {0};
	char *out = NULL;
	size_t bound;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	bound = deflateBound(&z, (uLong)len);
	out = malloc(bound);
	z.next_in = (Bytef *)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)bound;
	if (out && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	*out_len = z.total_out;
	deflateEnd(&z);
	return out;
}

static bool worth_packing(struct api_res *res)
{
	return res->status == 200 && (res->body || res->static_body) && res->body_len >= GZIP_LEAST &&
	       res->body_len <= GZIP_MOST && res->content_type && strstr(res->content_type, "json") &&
	       !res_header(res, "Content-Encoding") && res->header_count + 2 <= API_HEADERS_MAX;
}

void respond_prepare(struct call *c)
{
	const char *accept = api_header(&c->req, "Accept-Encoding");
	struct api_res *res = &c->res;
	char *etag, *packed;
	size_t len;

	if (!worth_packing(res))
		return;
	if (!res_header(res, "Vary"))
		api_res_header(res, "Vary", "Accept-Encoding");
	if (!accept || !accepts_gzip(accept))
		return;
	packed = gzip(res->body ? res->body : without_const(res->static_body), res->body_len, &len);
	if (!packed)
		return;
	free(res->body);
	res->body = packed;
	res->body_len = len;
	api_res_header(res, "Content-Encoding", "gzip");
	/* other bytes, same meaning: a weak tag (RFC 9110, section 8.8.1) */
	etag = res_header(res, "ETag");
	if (etag && etag[0] == '"' && strlen(etag) + 2 < sizeof(res->headers[0].value)) {
		memmove(etag + 2, etag, strlen(etag) + 1);
		etag[0] = 'W';
		etag[1] = '/';
	}
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
	if (fine && !res_header(res, "X-Content-Type-Options"))
		fine = add(r, "X-Content-Type-Options", "nosniff");
	if (fine && !res_header(res, "Cache-Control"))
		fine = add(r, "Cache-Control", res_header(res, "ETag") ? "no-cache" : "no-store");
	if (fine && !res_header(res, "X-Request-Id"))
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
