#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

const char *api_header(const struct api_req *req, const char *name)
{
	for (size_t i = 0; i < req->header_count; i++) {
		if (strcasecmp(req->headers[i].name, name) == 0)
			return req->headers[i].value;
	}
	return NULL;
}

void api_res_clear(struct api_res *res)
{
	free(res->body);
	*res = (struct api_res){0};
}

void api_res_header(struct api_res *res, const char *name, const char *value)
{
	char *to;
	size_t n = 0;

	if (res->header_count == API_HEADERS_MAX)
		return;
	res->headers[res->header_count].name = name;
	to = res->headers[res->header_count].value;
	/* a line break would begin a header of the sender's choice */
	for (; value[n] && n + 1 < sizeof(res->headers[0].value); n++) {
		to[n] = value[n];
		if ((unsigned char)value[n] < 0x20 || value[n] == 0x7f)
			to[n] = '_';
	}
	to[n] = '\0';
	res->header_count++;
}

const char *res_header(const struct api_res *res, const char *name)
{
	for (size_t i = 0; i < res->header_count; i++) {
		if (strcmp(res->headers[i].name, name) == 0)
			return res->headers[i].value;
	}
	return NULL;
}

void reply_text(struct call *c, int status, const char *content_type, char *body, size_t len)
{
	free(c->res->body);
	c->res->status = status;
	c->res->content_type = content_type;
	c->res->body = body;
	c->res->body_len = len;
}

void reply_buf(struct call *c, int status, const char *content_type, struct sb_buf *b)
{
	size_t len = b->len;

	reply_text(c, status, content_type, sb_buf_take(b), len);
}

void reply_json(struct call *c, int status, json_t *body)
{
	size_t len = 0;
	char *text = body ? json_write(body, &len) : NULL;

	json_decref(body);
	if (!text) {
		struct sb_error err = {0};

		sb_fail(&err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
		api_problem_from(c->res, &err);
		return;
	}
	reply_text(c, status, "application/json", text, len);
}

void reply_empty(struct call *c, int status)
{
	reply_text(c, status, NULL, NULL, 0);
}

/* Position of the first byte that Jansson did not like, as a problem. */
static void bad_json(struct call *c, const json_error_t *e)
{
	struct sb_error err = {0};

	sb_fail_at(&err, SB_EINVAL, "bad_json", NULL, e->line, e->position, "The body is not JSON: %s.",
	           e->text);
	api_problem_from(c->res, &err);
}

json_t *body_object(struct call *c)
{
	json_error_t e;
	json_t *j;

	if (!c->req->body || c->req->body_len == 0) {
		api_problem(c->res, 400, "no_body", "The request needs a JSON object as its body.");
		return NULL;
	}
	j = json_read_request(c->req->body, c->req->body_len, &e);
	if (!j) {
		bad_json(c, &e);
		return NULL;
	}
	if (!json_is_object(j)) {
		json_decref(j);
		api_problem(c->res, 400, "wrong_type", "The body must be a JSON object.");
		return NULL;
	}
	return j;
}
