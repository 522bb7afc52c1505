#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/plans/parse.h"
#include "api/profiles/json_build.h"
#include "api/profiles/measured.h"
#include "base/num.h"

/* What plans foretold against what profiles of their runs measured: POST and GET /v1/plans/{id}/profiles, GET
 * /v1/accuracy. */

#define ROWS_MAX 100000

static double share_of(int64_t predicted, int64_t measured)
{
	return (double)predicted / (double)measured - 1;
}

static json_t *row_json(const struct store_measurement *m)
{
	bool bytes = m->predicted_bytes != SB_NULL && m->measured_bytes != SB_NULL && m->measured_bytes > 0;
	char created[32];

	store_time_text(m->created_us, created);
	return json_pack("{s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:o,s:o,s:o}", "plan", m->plan, "profile", m->profile,
	                 "created_at", created, "steps", (json_int_t)m->steps, "predicted_seconds",
	                 (double)m->predicted_ns / 1e9, "measured_seconds", (double)m->measured_ns / 1e9,
	                 "error", share_of(m->predicted_ns, m->measured_ns), "predicted_bytes",
	                 json_int_or_null(m->predicted_bytes), "measured_bytes",
	                 json_int_or_null(m->measured_bytes), "memory_error",
	                 bytes ? json_real(share_of(m->predicted_bytes, m->measured_bytes)) : json_null());
}

/* Errors of the step over all rows; null where there are none. */
static json_t *summary_json(const struct store_measurement *rows, size_t count)
{
	double *errors = malloc((count + 1) * sizeof(*errors)), mean = 0, bias = 0, median;
	json_t *o;

	if (!errors)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		double e = share_of(rows[i].predicted_ns, rows[i].measured_ns);

		errors[i] = fabs(e);
		mean += errors[i] / (double)count;
		bias += e / (double)count;
	}
	median = sb_median(errors, count);
	o = json_pack("{s:I,s:o,s:o,s:o,s:o}", "count", (json_int_t)count, "mean_error",
	              json_real_or_null(count > 0 ? mean : NAN), "median_error", json_real_or_null(median),
	              "worst_error", json_real_or_null(count > 0 ? errors[count - 1] : NAN), "bias",
	              json_real_or_null(count > 0 ? bias : NAN));
	free(errors);
	return o;
}

/* The rows behind the cursor, with what all of them say together. */
static void answer_rows(struct call *c, const char *plan, bool summary)
{
	struct store_measurement *rows = NULL;
	struct sb_error err = {0};
	struct page page;
	size_t count = 0, at = 0, n = 0;
	char last[32] = "";
	int64_t after = INT64_MAX;
	json_t *items, *object;

	if (!page_begin(c, 'a', false, &page))
		return;
	if (page.after[0] && sb_parse_int(page.after, strlen(page.after), &after) != SB_OK) {
		problem_query(c->res, "cursor", "This is no cursor of this list.");
		return;
	}
	if (store_measurement_list(c->s->config.store, plan, ROWS_MAX, &rows, &count, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	items = json_array();
	object = summary ? json_pack("{s:o}", "summary", summary_json(rows, count)) : json_object();
	while (at < count && rows[at].seq >= after)
		at++;
	for (; at < count && n < page.limit; at++, n++) {
		json_array_append_new(items, row_json(&rows[at]));
		snprintf(last, sizeof(last), "%lld", (long long)rows[at].seq);
	}
	page_end_with(c, 'a', &page, object, items, at < count ? last : NULL);
	free(rows);
}

/* The stored document of its memory; NULL when it is not there. */
static json_t *memory_of(struct call *c, const char *id)
{
	char *text = NULL;
	size_t len = 0;
	json_t *o = NULL;

	if (store_document_get(c->s->config.store, id, "memory", &text, &len, NULL) == SB_OK)
		o = json_loadb(text, len, 0, NULL);
	free(text);
	return o;
}

/* What a plan foretells of a step. */
static int read_prediction(const struct store_plan *p, struct store_measurement *m, struct sb_error *err)
{
	JSON_AUTO plan = json_loads(p->text, 0, NULL);
	const json_t *predicted = json_object_get(plan, "predicted");
	const json_t *seconds = json_object_get(predicted, "step_seconds");
	const json_t *bytes = json_object_get(predicted, "memory_bytes");
	double ns = json_is_number(seconds) ? json_number_value(seconds) * 1e9 : NAN;

	if (!(ns >= 1 && ns < 9e18))
		return sb_fail(err, SB_EIMPOSSIBLE, "no_prediction",
		               "This plan does not foretell the time of a training step.");
	m->predicted_ns = llround(ns);
	m->predicted_bytes = json_is_integer(bytes) ? json_integer_value(bytes) : SB_NULL;
	return SB_OK;
}

static int read_profile(struct call *c, const char *id, struct store_measurement *m, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/profile");
	struct measured_step step;
	BREAKDOWN_AUTO rows = {0};
	JSON_AUTO memory = memory_of(c, id);
	int rc = results_breakdown(c, id, &rows, err);

	if (rc == SB_ENOENT)
		return results_lacking(c, id, &here, err);
	if (rc == SB_OK && measured_step_of(&rows, memory, &step) != SB_OK)
		rc = sb_no_memory(err);
	if (rc != SB_OK)
		return rc;
	if (step.steps == 0)
		return parse_fail(err, SB_EIMPOSSIBLE, "no_steps", &root, "profile",
		                  "is of a capture without steps");
	m->steps = step.steps;
	m->measured_ns = step.step_ns;
	m->measured_bytes = step.peak_bytes;
	return SB_OK;
}

static int measure(struct call *c, const json_t *request, struct store_measurement *m, struct sb_error *err)
{
	static const char *const members[] = {"profile", NULL};
	struct place root = place_of("");
	struct store_plan plan = {0};
	const char *profile = NULL;
	int rc = store_plan_get(c->s->config.store, c->param, &plan, err);

	if (rc == SB_OK)
		rc = parse_members(request, &root, members, err);
	if (rc == SB_OK)
		rc = parse_text(request, &root, "profile", REQUIRED, &profile, err);
	if (rc == SB_OK && !store_id_is_valid(profile))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "unknown_profile", &root, "profile",
		                "is no profile's id");
	if (rc == SB_OK)
		rc = read_prediction(&plan, m, err);
	if (rc == SB_OK)
		rc = read_profile(c, profile, m, err);
	if (rc == SB_OK) {
		snprintf(m->plan, sizeof(m->plan), "%s", plan.id);
		snprintf(m->profile, sizeof(m->profile), "%s", profile);
	}
	store_plan_clear(&plan);
	return rc;
}

void plan_profiles_create(struct call *c)
{
	struct store_measurement m = {.created_us = store_now_us()};
	JSON_AUTO request = body_object(c);
	struct sb_error err = {0};
	int rc;

	if (!request)
		return;
	rc = measure(c, request, &m, &err);
	if (rc == SB_OK)
		rc = store_measurement_put(c->s->config.store, &m, &err);
	if (rc == SB_OK)
		reply_json(c, 200, row_json(&m));
	else if (c->res->status == 0)
		api_problem_from(c->res, &err);
}

void accuracy_get(struct call *c)
{
	answer_rows(c, NULL, true);
}

void plan_profiles_list(struct call *c)
{
	struct store_plan p = {0};
	struct sb_error err = {0};

	if (store_plan_get(c->s->config.store, c->param, &p, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	answer_rows(c, p.id, false);
	store_plan_clear(&p);
}
