#include "api/plans/batch_joint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

#define ALTERNATIVES 5
#define SECONDS_MAX 1e6
#define SECONDS_LEAST 1e-15
#define STEPS_MAX 1e15

static const char *const searched_members[] = {"model",       "cluster",     "batches",
                                               "constraints", "calibration", NULL};
static const char *const step_members[] = {"fixed_seconds", "seconds_per_sample", "multiple", NULL};

void joint_clear(struct joint *j)
{
	for (size_t i = 0; i < j->count; i++)
		json_decref(j->plans[i].what);
	free(j->plans);
	json_decref(j->rejected);
	json_decref(j->warnings);
	*j = (struct joint){0};
}

void joint_settle(const struct joint *j, struct joint_plan *plan)
{
	plan->batch = joint_round(&plan->step, j->noise, plan->unit, j->low,
	                          plan->most < j->high ? plan->most : j->high);
	plan->step_seconds = plan->step.fixed + plan->step.per_sample * (double)plan->batch;
	plan->seconds = joint_seconds_of(plan->step_seconds, j->noise, (double)plan->batch);
}

/* The step of a plan: the request itself, or one of its plans. */
static int read_step(const json_t *v, const struct place *at, struct joint_plan *plan, struct sb_error *err)
{
	int rc = parse_number(v, at, "fixed_seconds", REQUIRED, 0, SECONDS_MAX, &plan->step.fixed, err);

	plan->unit = 1;
	plan->most = BATCH_MAX;
	if (rc == SB_OK)
		rc = parse_number(v, at, "seconds_per_sample", REQUIRED, SECONDS_LEAST, SECONDS_MAX,
		                  &plan->step.per_sample, err);
	if (rc == SB_OK)
		rc = parse_integer(v, at, "multiple", OPTIONAL, 1, BATCH_MAX, &plan->unit, err);
	return rc;
}

static int read_plan(const json_t *v, const struct place *at, struct joint_plan *plan, struct sb_error *err)
{
	static const char *const members[] = {"plan",     "fixed_seconds", "seconds_per_sample",
	                                      "multiple", "max_batch",     NULL};
	const char *name = NULL;
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = read_step(v, at, plan, err);
	if (rc == SB_OK)
		rc = parse_integer(v, at, "max_batch", OPTIONAL, 1, BATCH_MAX, &plan->most, err);
	if (rc == SB_OK)
		rc = parse_text(v, at, "plan", OPTIONAL, &name, err);
	if (rc != SB_OK)
		return rc;
	plan->what = name ? json_pack("{s:s}", "plan", name) : json_object();
	return plan->what ? SB_OK : sb_no_memory(err);
}

static int refuse_members(const json_t *request, const char *const *members, const char *text,
                          struct sb_error *err)
{
	struct place root = place_of("");

	for (; *members; members++)
		if (parse_given(request, *members))
			return parse_fail(err, SB_EINVAL, "unknown_member", &root, *members, text);
	return SB_OK;
}

static int read_given(const json_t *request, struct joint *j, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/plans");
	const json_t *list = parse_given(request, "plans");
	size_t n = list ? json_array_size(list) : 1;
	int rc;

	if (list && !json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if (n < 1 || n > JOINT_PLANS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 1000 entries");
	rc = list ? refuse_members(request, step_members, "stands beside no plans: each has its own", err)
	          : SB_OK;
	j->plans = calloc(n, sizeof(*j->plans));
	if (!j->plans)
		return sb_no_memory(err);
	j->count = n;
	j->candidates = (int64_t)n;
	for (size_t i = 0; rc == SB_OK && list && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_plan(json_array_get(list, i), &p, &j->plans[i], err);
	}
	if (rc == SB_OK && !list) {
		j->plans[0].what = json_object();
		rc = read_step(request, &root, &j->plans[0], err);
	}
	for (size_t i = 0; rc == SB_OK && i < n; i++)
		joint_settle(j, &j->plans[i]);
	return rc;
}

static int read_target(const json_t *request, struct joint *j, struct sb_error *err)
{
	NOISE_SERIES_AUTO noise = {0};
	struct place root = place_of("");
	int rc = noise_from_json(request, &noise, err);

	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < noise.count; i++)
		j->noise = isnan(noise.phi[i]) ? j->noise : noise.phi[i];
	if (isnan(j->noise))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "noise_unknown", "/gradient_norms",
		                     "say nothing about the noise");
	rc = parse_number(request, &root, "least_steps", OPTIONAL, 1, STEPS_MAX, &j->least_steps, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "min_batch", OPTIONAL, 1, BATCH_MAX, &j->low, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "max_batch", OPTIONAL, j->low, BATCH_MAX, &j->high, err);
	return rc;
}

static int read_joint(const json_t *request, const struct sb_watch *watch, struct joint *j,
                      json_t **out_extra, struct sb_error *err)
{
	static const char *const members[] = {"kind",        "method",        "model",
	                                      "cluster",     "batches",       "constraints",
	                                      "calibration", "noise_scale",   "gradient_norms",
	                                      "smoothing",   "fixed_seconds", "seconds_per_sample",
	                                      "multiple",    "plans",         "least_steps",
	                                      "min_batch",   "max_batch",     NULL};
	struct place root = place_of("");
	bool searched = parse_given(request, "model") || parse_given(request, "batches");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = read_target(request, j, err);
	j->rejected = json_array();
	j->warnings = json_array();
	if (rc == SB_OK && (!j->rejected || !j->warnings))
		rc = sb_no_memory(err);
	if (rc == SB_OK && searched)
		rc = refuse_members(request, step_members, "stands beside no model", err);
	if (rc == SB_OK && searched)
		rc = refuse_members(request, (const char *const[]){"plans", NULL}, "stands beside no model",
		                    err);
	if (rc == SB_OK && !searched)
		rc = refuse_members(request, searched_members, "needs a model and batches beside it", err);
	if (rc != SB_OK)
		return rc;
	return searched ? joint_search(request, watch, j, out_extra, err) : read_given(request, j, err);
}

static json_t *plan_solution(const struct joint *j, const struct joint_plan *p)
{
	json_t *o = json_pack("{s:I,s:f,s:I}", "batch", (json_int_t)p->batch, "ideal_batch",
	                      joint_best_batch(&p->step, j->noise), "multiple", (json_int_t)p->unit);

	json_object_update(o, p->what);
	return o;
}

static json_t *at_batch(const struct joint *j, const struct joint_plan *p, double batch)
{
	return json_pack("{s:o,s:f}", "batch", json_whole_or_real(batch), "seconds_per_least_step",
	                 joint_seconds(&p->step, j->noise, batch));
}

static json_t *plan_predicted(const struct joint *j, const struct joint_plan *p)
{
	double factor = 1 + j->noise / (double)p->batch, ideal = joint_best_batch(&p->step, j->noise);
	json_t *o = json_pack("{s:f,s:f,s:f,s:f,s:f}", "step_seconds", p->step_seconds,
	                      "seconds_per_least_step", p->seconds, "steps_factor", factor, "fixed_seconds",
	                      p->step.fixed, "seconds_per_sample", p->step.per_sample);

	json_object_set_new(o, "steps", json_real_or_null(j->least_steps * factor));
	json_object_set_new(o, "seconds", json_real_or_null(j->least_steps * p->seconds));
	if (ideal > 0) {
		json_object_set_new(o, "ideal", at_batch(j, p, ideal));
		json_object_set_new(o, "half", at_batch(j, p, ideal / 2));
		json_object_set_new(o, "double", at_batch(j, p, 2 * ideal));
	}
	return o;
}

/* The few of the plans that have a batch that are soonest, ties by place. */
static size_t ranked(const struct joint *j, const struct joint_plan **out)
{
	size_t n = 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct joint_plan *p = &j->plans[i];
		size_t k = n;

		if (p->batch == 0)
			continue;
		while (k > 0 && out[k - 1]->seconds > p->seconds)
			k--;
		if (k > ALTERNATIVES)
			continue;
		n += n <= ALTERNATIVES;
		memmove(&out[k + 1], &out[k], (n - 1 - k) * sizeof(*out));
		out[k] = p;
	}
	return n;
}

static const char *why_not(const struct joint_plan *best, const struct joint_plan *p)
{
	if (p->step.fixed > best->step.fixed && p->step.per_sample >= best->step.per_sample)
		return "more of each step is fixed";
	return p->step.per_sample > best->step.per_sample ? "a sample takes longer"
	                                                  : "its batch does not come as near to the ideal";
}

static json_t *quality_of(const struct joint *j, const struct joint_plan *best, double seconds)
{
	/* each plan's best batch is known, so that the least of them is the bound; the fitted lines of a
	 * search bound nothing */
	json_t *o = quality_to_json(j->searched ? -1 : 1, j->searched ? NAN : best->seconds, best->seconds,
	                            j->candidates, seconds, j->model_error);

	json_object_set_new(o, "objective", json_string("seconds_per_least_step"));
	json_object_set_new(o, "value", json_real_or_null(best->seconds));
	return o;
}

int batch_joint(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err)
{
	JOINT_AUTO j = {.noise = NAN, .least_steps = NAN, .low = 1, .high = BATCH_MAX, .model_error = NAN};
	const struct joint_plan *best[ALTERNATIVES + 1];
	JSON_AUTO others = json_array();
	double start = plan_clock();
	size_t n;
	int rc;

	j.least_memory = INFINITY;
	rc = read_joint(request, watch, &j, out_extra, err);
	if (rc != SB_OK)
		return rc;
	n = ranked(&j, best);
	if (n == 0)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "no_batch", "/max_batch",
		                     "no plan has a batch that is a multiple of its own within the limits");
	for (size_t i = 1; i < n; i++)
		json_array_append_new(others,
		                      json_pack("{s:o,s:o,s:f,s:s}", "solution", plan_solution(&j, best[i]),
		                                "predicted", plan_predicted(&j, best[i]), "loses_by",
		                                best[i]->seconds / best[0]->seconds - 1, "reason",
		                                why_not(best[0], best[i])));
	*out =
	    json_pack("{s:o,s:o,s:o,s:O,s:[],s:O,s:O}", "solution", plan_solution(&j, best[0]), "predicted",
	              plan_predicted(&j, best[0]), "quality", quality_of(&j, best[0], plan_clock() - start),
	              "alternatives", others, "frontier", "rejected", j.rejected, "warnings", j.warnings);
	return *out ? SB_OK : sb_no_memory(err);
}

json_t *batch_joint_schema(void)
{
	static const char *const needs[] = {"fixed_seconds", "seconds_per_sample", NULL};
	json_t *p = json_object(), *plan;

	noise_schema(p);
	batch_search_schema(p);
	json_object_set_new(p, "fixed_seconds",
	                    schema_number(0, SECONDS_MAX, "of a step: bubble, exposed all-reduce, start-up"));
	json_object_set_new(p, "seconds_per_sample", schema_number(SECONDS_LEAST, SECONDS_MAX, NULL));
	json_object_set_new(p, "multiple", schema_integer(1, BATCH_MAX));
	plan = json_pack("{s:{s:s},s:O,s:O,s:O,s:o}", "plan", "type", "string", "fixed_seconds",
	                 json_object_get(p, "fixed_seconds"), "seconds_per_sample",
	                 json_object_get(p, "seconds_per_sample"), "multiple", json_object_get(p, "multiple"),
	                 "max_batch", schema_integer(1, BATCH_MAX));
	json_object_set_new(p, "plans",
	                    schema_list(JOINT_PLANS_MAX, schema_object(plan, needs),
	                                "several to choose from; instead of one step, or of a model"));
	json_object_set_new(p, "least_steps",
	                    schema_number(1, STEPS_MAX, "to the target with a batch without noise"));
	json_object_set_new(p, "min_batch", schema_integer(1, BATCH_MAX));
	json_object_set_new(p, "max_batch", schema_integer(1, BATCH_MAX));
	return p;
}
