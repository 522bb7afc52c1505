#include <stdio.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

static const char *const STATES[] = {"queued", "running", "done", "failed", "canceled"};

static json_t *time_or_null(int64_t us)
{
	char text[32];

	if (us <= 0)
		return json_null();
	store_time_text(us, text);
	return json_string(text);
}

static json_t *error_or_null(const struct sb_error *e)
{
	json_t *o;

	if (e->code == SB_OK)
		return json_null();
	o = json_object();
	json_object_set_new(o, "status", json_integer(status_of(e->code)));
	json_object_set_new(o, "code", json_text(e->word, strlen(e->word)));
	json_object_set_new(o, "detail", json_text(e->text, strlen(e->text)));
	json_object_set_new(o, "file", e->file[0] ? json_text(e->file, strlen(e->file)) : json_null());
	json_object_set_new(o, "line", e->line > 0 ? json_integer(e->line) : json_null());
	json_object_set_new(o, "offset", e->offset > 0 ? json_integer(e->offset) : json_null());
	return o;
}

static json_t *job_json(const struct job_status *j)
{
	json_t *o = json_object();
	char path[80];

	snprintf(path, sizeof(path), "/v1/profiles/%.40s", j->object);
	json_object_set_new(o, "id", json_string(j->id));
	json_object_set_new(o, "kind", json_string(j->kind));
	json_object_set_new(o, "state", json_string(STATES[j->state]));
	json_object_set_new(o, "progress", json_real(j->progress));
	json_object_set_new(o, "created_at", time_or_null(j->created_us));
	json_object_set_new(o, "started_at", time_or_null(j->started_us));
	json_object_set_new(o, "ended_at", time_or_null(j->ended_us));
	json_object_set_new(o, "result", json_string(path));
	json_object_set_new(o, "error", error_or_null(&j->error));
	return o;
}

/* How far the stored profile of a job is. */
static int stored_end(struct call *c, const char *object, struct job_status *out, struct sb_error *err)
{
	struct store *s = c->s->config.store;
	struct store_profile p = {0};
	int rc = store_profile_get(s, object, &p, err);

	if (rc != SB_OK)
		return rc;
	memcpy(out->id, p.id, sizeof(out->id));
	memcpy(out->object, p.id, sizeof(out->object));
	if (out->created_us == 0)
		out->created_us = p.created_us;
	if (strcmp(p.state, "ready") == 0) {
		out->state = JOB_DONE;
		out->progress = 1;
	} else if (stored_error(s, &p, &out->error)) {
		out->state = out->error.code == SB_ECANCELED ? JOB_CANCELED : JOB_FAILED;
	}
	store_profile_clear(&p);
	return SB_OK;
}

/* A job that the queue has forgotten, or not taken yet, is as its profile stands. */
static bool from_profile(struct call *c, struct job_status *out)
{
	struct sb_error err = {0};

	*out = (struct job_status){.kind = "profile", .state = JOB_QUEUED};
	if (stored_end(c, c->param, out, &err) != SB_OK) {
		if (err.code == SB_ENOENT)
			sb_fail(&err, SB_ENOENT, "not_found", "there is no such job");
		api_problem_from(c->res, &err);
		return false;
	}
	return true;
}

static bool find_job(struct call *c, struct job_status *out)
{
	if (c->s->config.job_ops->status(c->s->config.jobs, c->param, out) != SB_OK)
		return from_profile(c, out);
	/* its result is stored a moment before the queue sees it end: who has seen the result must not find
	 * the job running */
	if (out->state == JOB_RUNNING)
		stored_end(c, out->object, out, NULL);
	return true;
}

void jobs_get(struct call *c)
{
	struct job_status j = {0};

	if (find_job(c, &j))
		reply_json(c, 200, job_json(&j));
}

void jobs_cancel(struct call *c)
{
	struct job_status j = {0};
	int rc = SB_ECONFLICT;

	if (!find_job(c, &j))
		return;
	if (j.state < JOB_DONE) {
		rc = c->s->config.job_ops->cancel(c->s->config.jobs, c->param);
		if (!find_job(c, &j))
			return;
	}
	if (rc == SB_OK)
		reply_json(c, 202, job_json(&j));
	else if (rc == SB_ECONFLICT || j.state >= JOB_DONE)
		api_problem(c->res, 409, "already_ended", "The job has ended already.");
	else
		api_problem(c->res, 503, "busy", "The job has not been taken up yet. Try again shortly.");
}
