#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plan_jobs.h"
#include "api/plans/plans.h"

#define ROUTE "POST /v1/plans"

static void answer_job(struct call *c, const char *id)
{
	char path[80];

	snprintf(path, sizeof(path), "/v1/jobs/%.40s", id);
	job_reply(c, 202, id);
	if (c->res->status != 202)
		return;
	api_res_header(c->res, "Location", path);
	api_res_header(c->res, "Retry-After", "1");
}

/* false when somebody has deleted the plan since it was found. */
static bool answer_found(struct call *c, const char *id, const struct plan_job *job)
{
	struct store_plan stored = {0};
	struct sb_error err = {0};
	int rc = store_plan_get(c->s->config.store, job->plan, &stored, &err);

	if (rc == SB_ENOENT)
		return false;
	if (rc != SB_OK) {
		api_problem_from(c->res, &err);
		return true;
	}
	plan_reply(c, plan_jobs_tell(c->s->plan_jobs, id) ? 201 : 200, &stored);
	idem_keep_waited(c, ROUTE, job->digest);
	return true;
}

/* What has become of the search after the wait; false when its plan is gone again. */
static bool answer_waited(struct call *c, const char *id)
{
	const struct api_config *config = &c->s->config;
	struct plan_job job = {0};
	bool there = true;

	if (!plan_jobs_look(c->s->plan_jobs, id, &job)) {
		api_problem(c->res, 503, "busy", "The search is not known any more. Ask again.");
	} else if (!job.ended && config->draining && config->draining(config->draining_self)) {
		/* the job goes with this process */
		api_problem(c->res, 503, "stopping", "The service stops. Ask again shortly.");
	} else if (!job.ended) {
		answer_job(c, id);
	} else if (job.plan[0]) {
		there = answer_found(c, id, &job);
	} else {
		problem_stored(c->res, status_of(job.error.code), job.problem);
		job.problem = NULL;
	}
	free(job.problem);
	return there;
}

/* Hands the request to a job, and waits for it as long as the client likes. */
static void search(struct call *c, const struct idem *idem, const char *digest, const json_t *resolved)
{
	int wait = prefer_wait(c->req, (int)c->s->config.limits.plan_wait_seconds);
	char *text = json_dumps(resolved, JSON_COMPACT | JSON_REAL_PRECISION(17));
	struct sb_error err = {0};
	char id[STORE_ID_MAX];
	int rc = text ? plan_jobs_enter(c->s, digest, text, id, &err) : sb_no_memory(&err);

	free(text);
	if (rc != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	idem_claim(c, idem, digest);
	answer_job(c, id);
	if (c->res->status == 202)
		wait_for_job(c, id, wait);
}

void plans_create(struct call *c)
{
	struct plan_lookup lookup = plans_lookup(c->s);
	JSON_AUTO request = NULL;
	JSON_AUTO resolved = NULL;
	struct store_plan stored = {0};
	struct sb_error err = {0};
	char *canonical = NULL, digest[65];
	IDEM_AUTO idem = {0};
	int rc;

	/* who waited for a plan that was deleted meanwhile asks anew, and is told the job */
	if (c->req->waited && c->req->waited_job[0] && answer_waited(c, c->req->waited_job))
		return;
	request = body_object(c);
	if (!request)
		return;
	if (plan_canonical(&lookup, request, &resolved, &canonical, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	store_sha256(canonical, strlen(canonical), digest);
	free(canonical);
	if (!idem_begin(c, ROUTE, &idem) || idem_replay(c, &idem, digest))
		return;
	rc = store_plan_find(c->s->config.store, digest, &stored, &err);
	if (rc == SB_OK) {
		plan_reply(c, 200, &stored);
		idem_keep(c, &idem, digest);
	} else if (rc == SB_ENOENT) {
		search(c, &idem, digest, resolved);
	} else {
		api_problem_from(c->res, &err);
	}
}
