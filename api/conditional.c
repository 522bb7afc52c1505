#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"

/* The opaque part of an entity tag, without W/. */
static const char *strong_part(const char *tag)
{
	return strncmp(tag, "W/", 2) == 0 ? tag + 2 : tag;
}

bool etag_matches(const char *list, const char *etag)
{
	const char *want = strong_part(etag);
	size_t n = strlen(want);

	while (*list) {
		list += strspn(list, " \t,");
		if (*list == '*')
			return true;
		list = strong_part(list);
		if (*list != '"')
			return false;
		if (strncmp(list, want, n) == 0 && (list[n] == '\0' || strchr(" \t,", list[n])))
			return true;
		list = strchr(list + 1, '"');
		if (!list)
			return false;
		list++;
	}
	return false;
}

/* Other bytes, another tag (RFC 9110, section 8.8.3.3). version: what names the plain bytes, or NULL. */
static void add_etag(struct api_res *res, const char *version, bool packed)
{
	char digest[65], tag[60];

	if (!version) {
		store_sha256(res->body ? res->body : res->static_body, res->body_len, digest);
		digest[32] = '\0';
		version = digest;
	}
	snprintf(tag, sizeof(tag), packed ? "\"%.48s-gzip\"" : "\"%.48s\"", version);
	api_res_header(res, "ETag", tag);
	api_res_header(res, "Vary", "Accept-Encoding");
}

static void not_modified(struct api_res *res)
{
	free(res->body);
	res->body = NULL;
	res->static_body = NULL;
	res->body_len = 0;
	res->content_type = NULL;
	res->status = 304;
}

void represent(struct call *c)
{
	struct api_res *res = c->res;
	const char *asked = api_header(c->req, "If-None-Match"), *etag;
	bool packed = pack_fits(res) && gzip_accepted(api_header(c->req, "Accept-Encoding"));

	if (res->status != 200)
		return;
	if (strcmp(c->req->method, "GET") == 0) {
		if (!res_header(res, "ETag") && (res->body || res->static_body))
			add_etag(res, c->version[0] ? c->version : NULL, packed);
		etag = res_header(res, "ETag");
		if (asked && etag && etag_matches(asked, etag)) {
			not_modified(res);
			return;
		}
	}
	/* a tag of packed bytes must not stand over plain ones */
	if (packed && !pack(res))
		api_problem(res, 503, "out_of_memory", "The service is out of memory.");
}
