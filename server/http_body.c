#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/http_private.h"

static const char *query_value(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->req.query_count; i++)
		if (strcmp(c->req.query[i].name, name) == 0)
			return c->req.query[i].value;
	return NULL;
}

/* Content-Encoding: a file may come compressed (it is kept as it came, the reader knows gzip), anything else
 * may not. */
static bool encoding_fits(const struct call *c, bool raw_file)
{
	const char *value = api_header(&c->req, "Content-Encoding");

	if (!value || strcasecmp(value, "identity") == 0)
		return true;
	return raw_file && (strcasecmp(value, "gzip") == 0 || strcasecmp(value, "x-gzip") == 0);
}

static int begin_raw(struct call *c, struct sb_error *err)
{
	const char *disposition = api_header(&c->req, "Content-Disposition");
	const char *name = query_value(c, "name");
	char label[1024];

	if (name && *name)
		snprintf(label, sizeof(label), "%s", name);
	else if (!disposition || !disposition_filename(disposition, label, sizeof(label)))
		snprintf(label, sizeof(label), "upload");
	return upload_file(c->upload, label, err);
}

static void begin_upload(struct call *c)
{
	struct http_server *s = c->server;
	const char *type = api_header(&c->req, "Content-Type");
	int64_t expected = c->framing.content_length > 0 ? c->framing.content_length : 0;
	bool form = type && strncasecmp(type, "multipart/", strlen("multipart/")) == 0;
	char boundary[80];
	struct sb_error err = {0};
	int rc;

	if (form && !multipart_boundary(type, boundary, sizeof(boundary))) {
		decide(
		    c, 415, "unsupported_media_type",
		    "A multipart upload must be multipart/form-data with a boundary of 2 to 70 bytes as its "
		    "last parameter.");
		return;
	}
	if (!encoding_fits(c, !form)) {
		decide(c, 415, "unsupported_encoding", "This Content-Encoding is not understood.");
		return;
	}
	rc = upload_begin(s->config.store, s->config.limits.upload_bytes, expected, &c->upload, &err);
	if (rc == SB_OK && !form)
		rc = begin_raw(c, &err);
	if (rc != SB_OK)
		decide_error(c, &err);
	else if (form && !multipart_new(c, boundary))
		decide(c, 503, "out_of_memory", "The service is out of memory.");
}

void body_begin(struct call *c)
{
	if (c->mode == API_UPLOAD)
		begin_upload(c);
	else if (c->framing.has_body && !encoding_fits(c, false))
		decide(c, 415, "unsupported_encoding", "A JSON body must not be compressed.");
}

static void take_json(struct call *c, const char *data, size_t size)
{
	int rc = sb_buf_add(&c->body, data, size);

	if (rc == SB_ELIMIT)
		decide(c, 413, "too_large", "The body is longer than a request may be.");
	else if (rc != SB_OK)
		decide(c, 503, "out_of_memory", "The service is out of memory.");
}

bool body_take(struct call *c, const char *data, size_t size)
{
	struct sb_error err = {0};

	if (c->decided) {
		c->discarded += (int64_t)size;
		return c->discarded <= c->server->config.http.drain_bytes;
	}
	if (c->mode != API_UPLOAD)
		take_json(c, data, size);
	else if (c->multipart)
		multipart_take(c, data, size);
	else if (upload_append(c->upload, data, size, &err) != SB_OK)
		decide_error(c, &err);
	/* no longer needed: its disk space is given back at once */
	if (c->decided)
		body_clear(c);
	return true;
}

void body_end(struct call *c)
{
	if (c->multipart)
		multipart_end(c);
	if (c->decided)
		body_clear(c);
}

void body_clear(struct call *c)
{
	multipart_free(&c->multipart);
	upload_abort(&c->upload);
	sb_buf_free(&c->body);
}
