#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

static const struct {
	int code, status;
} STATUSES[] = {
    {SB_EINVAL, 400},  {SB_ENOENT, 404},      {SB_ECONFLICT, 409},   {SB_ECANCELED, 409}, {SB_ELIMIT, 413},
    {SB_EFORMAT, 422}, {SB_EIMPOSSIBLE, 422}, {SB_EINFEASIBLE, 422}, {SB_EIO, 500},       {SB_ENOMEM, 503},
    {SB_EBUSY, 503},   {SB_EREADONLY, 503},   {SB_ENOSPC, 507},
};

int status_of(int code)
{
	for (size_t i = 0; i < sizeof(STATUSES) / sizeof(STATUSES[0]); i++) {
		if (STATUSES[i].code == code)
			return STATUSES[i].status;
	}
	return 500;
}

const char *status_phrase(int status)
{
	switch (status) {
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 406: return "Not Acceptable";
	case 408: return "Request Timeout";
	case 409: return "Conflict";
	case 413: return "Content Too Large";
	case 414: return "URI Too Long";
	case 415: return "Unsupported Media Type";
	case 417: return "Expectation Failed";
	case 422: return "Unprocessable Content";
	case 429: return "Too Many Requests";
	case 431: return "Request Header Fields Too Large";
	case 500: return "Internal Server Error";
	case 501: return "Not Implemented";
	case 503: return "Service Unavailable";
	case 505: return "HTTP Version Not Supported";
	case 507: return "Insufficient Storage";
	default: return "Error";
	}
}

static json_t *text_json(const char *text)
{
	return json_text(text, strlen(text));
}

/* `type` is about:blank, as RFC 9457, section 4.2.1 has it for problems that the status describes: the title
 * is the status phrase then, and `code` tells the cases apart. A type of our own would have to resolve to a
 * page. */
static json_t *document(int status, const char *code, const char *detail)
{
	json_t *o = json_object();

	json_object_set_new(o, "type", json_string("about:blank"));
	json_object_set_new(o, "title", json_string(status_phrase(status)));
	json_object_set_new(o, "status", json_integer(status));
	json_object_set_new(o, "detail", text_json(detail));
	json_object_set_new(o, "code", text_json(code));
	return o;
}

static void set(struct api_res *res, int status, char *text, size_t len)
{
	api_res_clear(res);
	res->status = status;
	res->content_type = "application/problem+json";
	res->body = text;
	res->body_len = len;
	if (status == 503)
		api_res_header(res, "Retry-After", "1");
}

static void send(struct api_res *res, int status, json_t *o)
{
	/* for the moment when there is no memory left to say so */
	static const char LAST[] =
	    "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
	    "\"detail\":\"The service is out of memory.\",\"code\":\"out_of_memory\"}";
	size_t len = 0;
	char *text = o ? json_write(o, &len) : NULL;

	json_decref(o);
	set(res, text ? status : 503, text, len);
	if (!text) {
		res->static_body = LAST;
		res->body_len = sizeof(LAST) - 1;
	}
}

void api_problem(struct api_res *res, int status, const char *code, const char *detail)
{
	send(res, status, document(status, code, detail));
}

static void add_error(json_t *o, json_t *error)
{
	json_t *errors = json_array();

	json_array_append_new(errors, error);
	json_object_set_new(o, "errors", errors);
}

void problem_stored(struct api_res *res, int status, char *text)
{
	if (!text) {
		api_problem(res, 503, "out_of_memory", "The service is out of memory.");
		return;
	}
	set(res, status, text, strlen(text));
}

void problem_query(struct api_res *res, const char *name, const char *detail)
{
	json_t *o = document(400, "bad_query", detail), *e = json_object();
	char pointer[80] = "/query/";
	size_t room = sizeof(pointer) - strlen(pointer) - 1;

	strncat(pointer, name, room);
	json_object_set_new(e, "pointer", text_json(pointer));
	json_object_set_new(e, "detail", text_json(detail));
	add_error(o, e);
	send(res, 400, o);
}

void problem_with(struct api_res *res, const struct sb_error *err, json_t *extra)
{
	int status = status_of(err->code);
	const char *code = err->word[0] ? err->word : "error";
	char detail[SB_ERROR_SENTENCE_MAX];
	json_t *o;

	sb_error_sentence(err, detail);
	o = document(status, code, detail);

	if (err->file[0])
		json_object_set_new(o, "file", text_json(err->file));
	if (err->line > 0)
		json_object_set_new(o, "line", json_integer(err->line));
	/* an error that was never filled in has offset 0, and no position */
	if (err->offset > 0 || (err->offset == 0 && (err->file[0] || err->line > 0)))
		json_object_set_new(o, "offset", json_integer(err->offset));
	if (err->field[0]) {
		json_t *e = json_object();

		json_object_set_new(e, "pointer", text_json(err->field));
		json_object_set_new(e, "detail", text_json(err->text));
		add_error(o, e);
	}
	if (extra)
		json_object_update_missing(o, extra);
	json_decref(extra);
	send(res, status, o);
}

void api_problem_from(struct api_res *res, const struct sb_error *err)
{
	problem_with(res, err, NULL);
}

/* A path as a URI reference (RFC 3986, section 3.3). NULL when out of memory. */
static json_t *path_reference(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                            "-._~!$&'()*+,;=:@/";
	char *text = malloc(3 * strlen(path) + 1), *to = text;
	json_t *j;

	if (!text)
		return NULL;
	for (; *path; path++) {
		if (strchr(plain, *path))
			*to++ = *path;
		else
			to += snprintf(to, 4, "%%%02X", (unsigned char)*path);
	}
	*to = '\0';
	j = json_string(text);
	free(text);
	return j;
}

void problem_finish(struct api_res *res, const struct api_req *req)
{
	JSON_AUTO o = NULL;
	size_t len;
	char *text;

	if (!res->body || !res->content_type || strcmp(res->content_type, "application/problem+json") != 0)
		return;
	o = json_loadb(res->body, res->body_len, 0, NULL);
	if (!o || json_object_get(o, "instance"))
		return;
	if (req->path)
		json_object_set_new(o, "instance", path_reference(req->path));
	if (req->request_id[0])
		json_object_set_new(o, "request_id", text_json(req->request_id));
	text = json_write(o, &len);
	if (!text)
		return;
	free(res->body);
	res->body = text;
	res->body_len = len;
}
