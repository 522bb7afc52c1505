#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/plan_jobs.h"
#include "api/plans/plans.h"

/* Stores a fresh answer under the job's id; somebody may have stored the same one meanwhile. */
static int keep(struct api_service *s, const char *id, const char *digest, const char *kind, json_t *answer,
                char out_id[STORE_ID_MAX], struct sb_error *err)
{
	struct store_plan p = {.created_us = store_now_us()}, stored = {0};
	bool existing = false;
	JSON_AUTO o = NULL;
	int rc;

	snprintf(p.id, sizeof(p.id), "%.39s", id);
	snprintf(p.digest, sizeof(p.digest), "%s", digest);
	snprintf(p.kind, sizeof(p.kind), "%s", kind ? kind : "");
	o = plan_document(p.id, p.created_us, answer);
	p.text = o ? json_write(o, NULL) : NULL;
	if (!p.text)
		return sb_no_memory(err);
	rc = store_plan_put(s->config.store, &p, &stored, &existing, err);
	free(p.text);
	if (rc == SB_OK)
		memcpy(out_id, stored.id, sizeof(stored.id));
	store_plan_clear(&stored);
	return rc;
}

/* *out_plan: where the plan is stored. */
static int search(struct api_service *s, const char *id, const char *digest, const char *text,
                  const struct job_control *control, char out_plan[STORE_ID_MAX], json_t **out_extra,
                  struct sb_error *err)
{
	const struct sb_watch watch = {control->self, control->canceled, control->progress};
	const struct plan_lookup lookup = {.watch = &watch};
	JSON_AUTO request = text ? json_loads(text, 0, NULL) : NULL;
	double start = monotonic_seconds();
	json_t *answer = NULL;
	int rc;

	if (!request)
		return sb_no_memory(err);
	rc = plan_solve(&lookup, request, &answer, out_extra, err);
	metrics_plan(s->metrics, rc, monotonic_seconds() - start);
	if (rc == SB_OK)
		rc = keep(s, id, digest, json_string_value(json_object_get(request, "kind")), answer,
		          out_plan, err);
	if (rc == SB_EINFEASIBLE && !err->word[0])
		snprintf(err->word, sizeof(err->word), "infeasible");
	return rc;
}

/* Keeps the whole problem document that the request is answered with. */
static void record_failure(struct api_service *s, const char *id, const struct sb_error *why, json_t *extra)
{
	struct api_res res = {0};

	problem_with(&res, why, extra);
	plan_jobs_failed(s->plan_jobs, id, why, res.body);
	res.body = NULL;
	api_res_clear(&res);
}

int plan_search_run(struct api_service *s, const char *id, const struct job_control *control,
                    struct sb_error *err)
{
	struct plan_job job = {0};
	char plan[STORE_ID_MAX] = "", *text = plan_jobs_begin(s->plan_jobs, id);
	json_t *extra = NULL;
	int rc;

	if (!plan_jobs_look(s->plan_jobs, id, &job) || control->canceled(control->self))
		rc = sb_fail(err, SB_ECANCELED, "canceled", "The job was canceled.");
	else
		rc = search(s, id, job.digest, text, control, plan, &extra, err);
	free(text);
	if (rc == SB_OK) {
		json_decref(extra);
		plan_jobs_found(s->plan_jobs, id, plan);
	} else {
		record_failure(s, id, err, extra);
	}
	return rc;
}
