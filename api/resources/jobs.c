#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plan_jobs.h"
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
	char detail[SB_ERROR_SENTENCE_MAX];
	json_t *o;

	if (e->code == SB_OK)
		return json_null();
	sb_error_sentence(e, detail);
	o = json_object();
	json_object_set_new(o, "status", json_integer(status_of(e->code)));
	json_object_set_new(o, "code", json_text(e->word, strlen(e->word)));
	json_object_set_new(o, "detail", json_text(detail, strlen(detail)));
	json_object_set_new(o, "file", e->file[0] ? json_text(e->file, strlen(e->file)) : json_null());
	json_object_set_new(o, "line", e->line > 0 ? json_integer(e->line) : json_null());
	json_object_set_new(o, "offset", e->offset > 0 ? json_integer(e->offset) : json_null());
	return o;
}

static json_t *path_of(const char *collection, const char *id)
{
	char path[80];

	snprintf(path, sizeof(path), "/v1/%s/%.40s", collection, id);
	return json_string(path);
}

/* A plan is there only once its search has ended; what that failed with is the problem document that the
 * request is answered with. */
static void add_plan(struct call *c, const struct job_status *j, json_t *o)
{
	struct plan_job job = {0};
	struct api_res res = {0};

	plan_jobs_look(c->s->plan_jobs, j->id, &job);
	json_object_set_new(o, "result",
	                    j->state == JOB_DONE ? path_of("plans", job.plan[0] ? job.plan : j->id)
	                                         : json_null());
	if (!job.problem && j->error.code != SB_OK) { /* forgotten, but for its sentence */
		api_problem_from(&res, &j->error);
		job.problem = res.body;
		res.body = NULL;
		api_res_clear(&res);
	}
	json_object_set_new(o, "error", job.problem ? json_loads(job.problem, 0, NULL) : json_null());
	free(job.problem);
}

static json_t *job_json(struct call *c, const struct job_status *j)
{
	json_t *o = json_object();

	json_object_set_new(o, "id", json_string(j->id));
	json_object_set_new(o, "kind", json_string(j->kind));
	json_object_set_new(o, "state", json_string(STATES[j->state]));
	json_object_set_new(o, "progress", json_real(j->progress));
	json_object_set_new(o, "created_at", time_or_null(j->created_us));
	json_object_set_new(o, "started_at", time_or_null(j->started_us));
	json_object_set_new(o, "ended_at", time_or_null(j->ended_us));
	if (strcmp(j->kind, "plan") == 0) {
		add_plan(c, j, o);
	} else {
		json_object_set_new(o, "result", path_of("profiles", j->object));
		json_object_set_new(o, "error", error_or_null(&j->error));
	}
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

static int stored_plan(struct call *c, const char *id, struct job_status *out, struct sb_error *err)
{
	struct store_plan p = {0};
	int rc = store_plan_get(c->s->config.store, id, &p, err);

	if (rc != SB_OK)
		return rc;
	*out = (struct job_status){.kind = "plan",
	                           .state = JOB_DONE,
	                           .progress = 1,
	                           .created_us = p.created_us,
	                           .ended_us = p.created_us};
	memcpy(out->id, p.id, sizeof(out->id));
	memcpy(out->object, p.id, sizeof(out->object));
	store_plan_clear(&p);
	return SB_OK;
}

/* A job that the queue has forgotten, or not taken yet, is as its profile or plan stands. */
static bool from_store(struct call *c, const char *id, struct job_status *out)
{
	struct sb_error err = {0};
	int rc;

	*out = (struct job_status){.kind = "profile", .state = JOB_QUEUED};
	rc = stored_end(c, id, out, &err);
	if (rc == SB_ENOENT)
		rc = stored_plan(c, id, out, &err);
	if (rc == SB_OK)
		return true;
	if (rc == SB_ENOENT)
		sb_fail(&err, SB_ENOENT, "not_found", "there is no such job");
	api_problem_from(c->res, &err);
	return false;
}

/* How far a plan's search is. */
static void searched(struct call *c, struct job_status *out)
{
	struct plan_job job = {0};

	if (!plan_jobs_look(c->s->plan_jobs, out->id, &job) || !job.ended)
		return;
	out->error = job.error;
	out->state = job.error.code == SB_OK          ? JOB_DONE
	             : job.error.code == SB_ECANCELED ? JOB_CANCELED
	                                              : JOB_FAILED;
	if (out->state == JOB_DONE)
		out->progress = 1;
	free(job.problem);
}

static bool find_job(struct call *c, const char *id, struct job_status *out)
{
	if (c->s->config.job_ops->status(c->s->config.jobs, id, out) != SB_OK)
		return from_store(c, id, out);
	/* its result is stored a moment before the queue sees it end: who has seen the result must not find
	 * the job running */
	if (out->state == JOB_RUNNING && strcmp(out->kind, "plan") == 0)
		searched(c, out);
	else if (out->state == JOB_RUNNING)
		stored_end(c, out->object, out, NULL);
	return true;
}

void job_reply(struct call *c, int status, const char *id)
{
	struct job_status j = {0};

	if (find_job(c, id, &j))
		reply_json(c, status, job_json(c, &j));
}

void jobs_get(struct call *c)
{
	job_reply(c, 200, c->param);
}

void jobs_cancel(struct call *c)
{
	struct job_status j = {0};
	int rc = SB_ECONFLICT;

	if (!find_job(c, c->param, &j))
		return;
	if (j.state < JOB_DONE) {
		plan_jobs_cancel(c->s->plan_jobs, c->param);
		rc = c->s->config.job_ops->cancel(c->s->config.jobs, c->param);
		if (!find_job(c, c->param, &j))
			return;
	}
	if (rc == SB_OK)
		reply_json(c, 202, job_json(c, &j));
	else if (rc == SB_ECONFLICT || j.state >= JOB_DONE)
		api_problem(c->res, 409, "already_ended", "The job has ended already.");
	else
		api_problem(c->res, 503, "busy", "The job has not been taken up yet. Try again shortly.");
}
