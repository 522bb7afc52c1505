#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

static void copy(char *out, size_t size, const json_t *o, const char *name)
{
	const char *t = json_string_value(json_object_get(o, name));

	snprintf(out, size, "%s", t ? t : "");
}

static void error_from(const json_t *o, struct sb_error *out)
{
	const json_t *offset = json_object_get(o, "offset");

	*out = (struct sb_error){.code = (int)json_integer_value(json_object_get(o, "number")),
	                         .line = json_integer_value(json_object_get(o, "line")),
	                         .offset = json_is_integer(offset) ? json_integer_value(offset) : -1};
	copy(out->word, sizeof(out->word), o, "code");
	copy(out->text, sizeof(out->text), o, "detail");
	copy(out->file, sizeof(out->file), o, "file");
	copy(out->field, sizeof(out->field), o, "field");
}

char *error_facts(const struct sb_error *err)
{
	json_t *e = json_object();
	JSON_AUTO o = json_object();

	json_object_set_new(e, "number", json_integer(err->code));
	json_object_set_new(e, "code", json_text(err->word, strlen(err->word)));
	json_object_set_new(e, "detail", json_text(err->text, strlen(err->text)));
	json_object_set_new(e, "file", json_text(err->file, strlen(err->file)));
	json_object_set_new(e, "line", json_integer(err->line));
	json_object_set_new(e, "offset", json_integer(err->offset));
	json_object_set_new(e, "field", json_text(err->field, strlen(err->field)));
	json_object_set_new(o, "error", e);
	return json_write(o, NULL);
}

/* A failed profile without facts was given up by the store at its start. */
static void given_up(struct store *s, const char *id, struct sb_error *out)
{
	int fd = -1;

	if (store_profile_open(s, id, &fd, NULL) != SB_OK) {
		sb_fail(out, SB_EIO, "upload_missing",
		        "The bytes of this profile are no longer in the store.");
		return;
	}
	close(fd);
	sb_fail(out, SB_EFORMAT, "gave_up",
	        "Reading this profile ended the service several times; it is not tried again.");
}

bool stored_error(struct store *s, const struct store_profile *p, struct sb_error *out)
{
	JSON_AUTO facts = NULL;
	const json_t *e;

	if (strcmp(p->state, "failed") != 0)
		return false;
	facts = p->facts ? json_loads(p->facts, 0, NULL) : NULL;
	e = json_object_get(facts, "error");
	if (e)
		error_from(e, out);
	else
		given_up(s, p->id, out);
	return true;
}

json_t *stored_profile(struct store *s, const struct store_profile *p)
{
	JSON_AUTO facts = p->facts ? json_loads(p->facts, 0, NULL) : NULL;
	struct sb_error err;
	bool failed = stored_error(s, p, &err);

	return document_profile(p->id, p->name, p->state, p->created_us, p->bytes, p->sha256, facts,
	                        failed ? &err : NULL);
}

void profile_submit(struct api_service *s, const char *id)
{
	int rc = s->config.job_ops->submit(s->config.jobs, id, "profile", id);

	/* SB_ECONFLICT: it is queued already */
	if (rc != SB_OK && rc != SB_ECONFLICT)
		atomic_store(&s->backlog, true);
}

void answer_not_ready(struct call *c)
{
	struct store *s = c->s->config.store;
	struct store_profile p = {0};
	struct sb_error err = {0};
	json_t *extra;

	if (store_profile_get(s, c->param, &p, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	if (stored_error(s, &p, &err)) {
		/* reading is over: whatever it was, the request cannot succeed later */
		if (status_of(err.code) >= 500 || err.code == SB_ECANCELED)
			err.code = SB_EFORMAT;
		extra = json_object();
		json_object_set_new(extra, "profile", json_string(p.id));
		problem_with(c->res, &err, extra);
	} else {
		api_problem(c->res, 409, "not_ready", "The profile is still being read.");
		api_res_header(c->res, "Retry-After", "1");
	}
	store_profile_clear(&p);
}
