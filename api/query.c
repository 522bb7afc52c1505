#include <stdio.h>
#include <string.h>

#include "api/internal.h"
#include "base/num.h"

static bool knows(const struct route *r, const char *name)
{
	for (const char *const *q = r->query; q && *q; q++) {
		if (strcmp(*q, name) == 0)
			return true;
	}
	return false;
}

bool query_check(const struct route *r, const struct api_req *req, struct api_res *res)
{
	for (size_t i = 0; i < req->query_count; i++) {
		const char *name = req->query[i].name;

		if (!knows(r, name)) {
			problem_query(res, name, "This call does not know this query parameter.");
			return false;
		}
		for (size_t k = 0; k < i; k++) {
			if (strcmp(req->query[k].name, name) == 0) {
				problem_query(res, name, "This query parameter is given more than once.");
				return false;
			}
		}
	}
	return true;
}

const char *query_text(const struct call *c, const char *name)
{
	for (size_t i = 0; i < c->req->query_count; i++) {
		if (strcmp(c->req->query[i].name, name) == 0)
			return c->req->query[i].value ? c->req->query[i].value : "";
	}
	return NULL;
}

bool query_int(struct call *c, const char *name, int64_t least, int64_t most, int64_t *out)
{
	const char *text = query_text(c, name);
	char detail[120];
	int64_t v;

	if (!text)
		return true;
	if (sb_parse_int(text, strlen(text), &v) == SB_OK && v >= least && v <= most) {
		*out = v;
		return true;
	}
	snprintf(detail, sizeof(detail), "This must be a whole number from %lld to %lld.", (long long)least,
	         (long long)most);
	problem_query(c->res, name, detail);
	return false;
}

bool query_word(struct call *c, const char *name, const char *const *words, size_t count, size_t *out)
{
	const char *text = query_text(c, name);
	char detail[200] = "This must be one of:";

	if (!text)
		return true;
	for (size_t i = 0; i < count; i++) {
		size_t at = strlen(detail);

		if (strcmp(words[i], text) == 0) {
			*out = i;
			return true;
		}
		snprintf(detail + at, sizeof(detail) - at, " %s", words[i]);
	}
	problem_query(c->res, name, detail);
	return false;
}

bool query_rank(struct call *c, int64_t *out)
{
	const char *text = query_text(c, "rank");

	*out = RANK_NOT_GIVEN;
	if (!text || strcmp(text, "unknown") != 0)
		return query_int(c, "rank", 0, INT32_MAX, out);
	*out = SB_NULL;
	return true;
}

bool query_time(struct call *c, const char *name, int64_t *out)
{
	const char *text = query_text(c, name);

	*out = SB_NULL;
	if (!text || (sb_parse_us(text, strlen(text), out) == SB_OK && *out != SB_NULL))
		return true;
	problem_query(c->res, name, "This must be a time in microseconds, such as 1500.25.");
	return false;
}
