#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ZLIB_CONST
#include <zlib.h>

#include "api/internal.h"

/* Below, the header costs more than it saves; above, the time on the connection's thread. */
enum { PACK_LEAST = 1024, PACK_MOST = 4 << 20, PACK_LEVEL = 1 };

/* A quality value: 0 when it is "0", "0.", "0.0", "0.00" or "0.000". */
static bool is_zero(const char *q, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (q[i] != '0' && q[i] != '.')
			return false;
	}
	return len > 0;
}

/* What an Accept field says of an item: 1 accepted, 0 refused, -1 not named. */
static int listed(const char *accept, const char *name)
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
	named = listed(accept, "gzip");
	if (named < 0)
		named = listed(accept, "x-gzip");
	return named >= 0 ? named > 0 : listed(accept, "*") > 0;
}

bool html_accepted(const char *accept)
{
	return accept && listed(accept, "text/html") > 0;
}

bool pack_fits(const struct api_res *res)
{
	return res->status == 200 && (res->body || res->static_body) && res->body_len >= PACK_LEAST &&
	       res->body_len <= PACK_MOST && res->content_type && strstr(res->content_type, "json") &&
	       !res_header(res, "Content-Encoding");
}

bool pack(struct api_res *res)
{
	z_stream z = {0};
	size_t bound;
	char *out;

	if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	bound = deflateBound(&z, (uLong)res->body_len);
	out = malloc(bound);
	z.next_in = (const Bytef *)(res->body ? res->body : res->static_body);
	z.avail_in = (uInt)res->body_len;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)bound;
	if (out && deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	if (out) {
		free(res->body);
		res->body = out;
		res->static_body = NULL;
		res->body_len = z.total_out;
		api_res_header(res, "Content-Encoding", "gzip");
	}
	deflateEnd(&z);
	return out != NULL;
}
