#include <stdio.h>
#include <string.h>

#include "api/internal.h"
#include "web/assets.h"

/* The packed bytes are another representation: another tag (RFC 9110, section 8.8.3.3). */
static void add_etag(struct call *c, const struct web_asset *a, bool packed)
{
	char tag[120];
	size_t n = strlen(a->etag);

	if (packed && n > 1)
		snprintf(tag, sizeof(tag), "%.*s-gzip\"", (int)(n - 1), a->etag);
	else
		snprintf(tag, sizeof(tag), "%s", a->etag);
	api_res_header(c->res, "ETag", tag);
}

void assets_get(struct call *c)
{
	const struct web_asset *a = web_asset_find(c->req->path);
	bool packed, routed = !a && html_accepted(api_header(c->req, "Accept"));

	/* a person who follows an old link gets the page, a program gets its 404 */
	if (routed)
		a = web_asset_find("/");

	if (!a) {
		api_problem(c->res, 404, "no_such_path", "There is nothing at this path.");
		return;
	}
	packed = a->gzip && gzip_accepted(api_header(c->req, "Accept-Encoding"));
	c->res->status = 200;
	c->res->content_type = a->content_type;
	c->res->static_body = (const char *)(packed ? a->gzip : a->data);
	c->res->body_len = packed ? a->gzip_len : a->len;
	if (packed)
		api_res_header(c->res, "Content-Encoding", "gzip");
	add_etag(c, a, packed);
	api_res_header(c->res, "Vary", routed ? "Accept, Accept-Encoding" : "Accept-Encoding");
	api_res_header(c->res, "Cache-Control", "no-cache");
	if (a->csp) {
		api_res_header(c->res, "Content-Security-Policy", a->csp);
		api_res_header(c->res, "Referrer-Policy", "same-origin");
		api_res_header(c->res, "Permissions-Policy", "camera=(), geolocation=(), microphone=()");
	}
}
