#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* A quality value: 0 when it is "0", "0.", "0.0", "0.00" or "0.000". */
static bool is_zero(const char *q, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (q[i] != '0' && q[i] != '.')
			return false;
	}
	return len > 0;
}

/* 1 accepted, 0 refused, -1 not named. */
static int coding(const char *accept, const char *name)
{
	size_t n = strlen(name);

	while (*accept) {
		size_t end = strcspn(accept, ","), start = strspn(accept, " \t");
		const char *item = accept + start, *q;

		if (start < end && strncasecmp(item, name, n) == 0 && strchr(" \t;,", item[n])) {
			size_t len;

			q = memmem(item, end - start, "q=", 2);
			if (!q)
				return 1;
			len = strspn(q + 2, "0123456789.");
			return is_zero(q + 2, len) ? 0 : 1;
		}
		accept += end;
		accept += *accept == ',';
	}
	return -1;
}

bool gzip_accepted(const char *accept)
{
	int named;

	if (!accept)
		return false;
	named = coding(accept, "gzip");
	if (named < 0)
		named = coding(accept, "x-gzip");
	return named >= 0 ? named > 0 : coding(accept, "*") > 0;
}

static const char *own_etag(const struct api_res *res)
{
	for (size_t i = 0; i < res->header_count; i++) {
		if (strcmp(res->headers[i].name, "ETag") == 0)
			return res->headers[i].value;
	}
	return NULL;
}

void conditional(struct call *c)
{
	struct api_res *res = c->res;
	const char *asked = api_header(c->req, "If-None-Match"), *etag;
	char digest[65], tag[40];

	if (res->status != 200 || strcmp(c->req->method, "GET") != 0)
		return;
	if (!own_etag(res)) {
		if (!res->body)
			return;
		store_sha256(res->body, res->body_len, digest);
		snprintf(tag, sizeof(tag), "\"%.32s\"", digest);
		api_res_header(res, "ETag", tag);
		api_res_header(res, "Vary", "Accept-Encoding");
	}
	etag = own_etag(res);
	if (!asked || !etag || !etag_matches(asked, etag))
		return;
	free(res->body);
	res->body = NULL;
	res->static_body = NULL;
	res->body_len = 0;
	res->content_type = NULL;
	res->status = 304;
}
