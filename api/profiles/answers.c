#include "api/profiles/answers.h"

#include <string.h>

#include "api/json.h"

static json_t *parse(const char *text, size_t len)
{
	return json_loadb(text ? text : "", len, 0, NULL);
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static int failed(const json_t *profile, struct sb_error *err)
{
	const json_t *e = json_object_get(profile, "error"), *line = json_object_get(e, "line");
	const char *detail = text_of(e, "detail");

	return sb_fail_at(err, SB_EFORMAT, "profile_failed", text_of(e, "file"), json_integer_value(line), -1,
	                  "the profile cannot be read: %s", *detail ? detail : "no reason was given");
}

int answer_profile(const char *text, size_t len, struct answer_profile *out, struct sb_error *err)
{
	JSON_AUTO body = parse(text, len);
	const char *id = text_of(body, "id"), *state = text_of(body, "state");

	if (!store_id_is_valid(id) || !*state || strlen(state) >= sizeof(out->state))
		return sb_fail(err, SB_EIO, "bad_answer",
		               "the service answered with something else than a profile");
	if (strcmp(state, "failed") == 0)
		return failed(body, err);
	memcpy(out->id, id, strlen(id) + 1);
	memcpy(out->state, state, strlen(state) + 1);
	return SB_OK;
}

double answer_progress(const char *text, size_t len)
{
	JSON_AUTO body = parse(text, len);
	const json_t *progress = json_object_get(body, "progress");

	return json_is_number(progress) ? json_number_value(progress) : -1;
}

int answer_refused(long status, const char *text, size_t len, struct sb_error *err)
{
	JSON_AUTO problem = parse(text, len);
	const char *detail = text_of(problem, "detail");

	if (!*detail)
		detail = text_of(problem, "title");
	return sb_fail(err, SB_EIO, "refused", "the service answered %ld: %s", status,
	               *detail ? detail : "no reason was given");
}
