#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "planner/pipeline/methods.h"
#include "planner/pipeline/rows.h"

void pipeline_choice_clear(struct pipeline_choice *c)
{
	free(c->plan);
	free(c->peaks);
	*c = (struct pipeline_choice){0};
}

/* A given plan may name its own schedule, as a solution does; else it is for that of the request. */
static int read_given(const struct pipeline_input *in, struct pipeline_problem *io, const json_t **out_value,
                      struct sb_error *err)
{
	static const char *const members[] = {"schedule", "interleave", NULL};
	struct place root = place_of("");
	JSON_AUTO request = json_copy(in->request);
	int rc = parse_object(in->request, &root, "given", REQUIRED, out_value, err);

	for (int i = 0; rc == SB_OK && members[i]; i++) {
		json_t *own = json_readable(parse_given(*out_value, members[i]));

		if (own && json_object_set(request, members[i], own) != 0)
			rc = sb_no_memory(err);
	}
	return rc == SB_OK ? pipeline_read_shape(request, &io->shape, err) : rc;
}

static int plan_given(const struct pipeline_problem *p, const json_t *value, struct pipeline_choice *out,
                      struct sb_error *err)
{
	struct place here = place_of("/given");
	int rc = pipeline_read_plan(value, &here, p, out->plan, err);

	out->proof = (struct pipeline_proof){"makespan", NAN, NAN, false, 0};
	if (rc == SB_OK && !pipeline_is_whole(p, out->plan))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "empty_stage", &here, NULL,
		                "leaves a stage without layers: say allow_empty");
	return rc;
}

/* A search keeps to the memory; a plan that was given need not. */
static int check_fit(const struct pipeline_problem *p, const struct pipeline_choice *c, bool given,
                     struct sb_error *err)
{
	if (!rows_hold(p, c->plan))
		return sb_fail_field(
		    err, SB_EINFEASIBLE, "infeasible", "/rows",
		    "the plan does not keep to the rows: only method bmpipe looks for one that "
		    "does");
	if (!pipeline_is_whole(p, c->plan))
		return sb_fail(err, SB_EIO, "search_failed", "the search gave no plan of these layers");
	if (c->score.fits)
		return SB_OK;
	if (!given)
		return sb_fail(err, SB_EIO, "search_failed", "the search gave a plan beyond the memory");
	for (int64_t d = 0; d < p->shape.devices; d++)
		if (c->peaks[d] > p->memory[d] * (1 + PIPELINE_ROUNDING))
			return sb_fail_field(err, SB_EINFEASIBLE, "infeasible", "/given",
			                     "stage %lld of the plan needs %.15g bytes, and has %.15g",
			                     (long long)d, c->peaks[d], p->memory[d]);
	return SB_OK;
}

/* The planners call a member by its name, and the chunks of a device by theirs. */
static int fail_as_told(int rc, const struct sb_error *why, struct sb_error *err)
{
	struct place root = place_of("");

	/* not the request is too large, but what it asks for */
	if (rc == SB_ELIMIT)
		return parse_fail(err, SB_EIMPOSSIBLE, why->word, &root, "layers", why->text);
	if (rc != SB_EIMPOSSIBLE || !why->field[0] || why->field[0] == '/') {
		*err = *why;
		return rc;
	}
	return parse_fail(err, rc, why->word, &root,
	                  strcmp(why->field, "chunks") == 0 ? "interleave" : why->field, why->text);
}

int pipeline_choose(const struct pipeline_input *in, const char *method, struct pipeline_choice *out,
                    struct sb_error *err)
{
	const struct pipeline_method *planner = pipeline_method_of(method);
	struct pipeline_problem p = in->problem;
	PIPELINE_SCORER_AUTO scorer = NULL;
	const json_t *given = NULL;
	struct sb_error why = {0};
	int rc = planner ? SB_OK : read_given(in, &p, &given, err);

	if (rc == SB_OK)
		rc = pipeline_scorer_open(&p, &scorer, err);
	if (rc != SB_OK)
		return rc;
	out->method = planner ? planner->name : "given";
	out->shape = p.shape;
	out->plan = calloc((size_t)schedule_stages(&p.shape) * (size_t)p.body_count, sizeof(*out->plan));
	out->peaks = calloc((size_t)p.shape.devices, sizeof(*out->peaks));
	if (!out->plan || !out->peaks)
		return sb_no_memory(err);
	if (planner)
		rc = planner->plan(&p, in->objective, out->plan, &out->proof, &why);
	else
		rc = plan_given(&p, given, out, &why);
	if (rc != SB_OK)
		return fail_as_told(rc, &why, err);
	rc = pipeline_score(scorer, out->plan, &out->score, out->peaks, err);
	if (rc == SB_OK && !planner)
		out->proof.value = out->score.makespan;
	return rc == SB_OK ? check_fit(&p, out, !planner, err) : rc;
}

/* Whether what hinders a plan is told among the rejected; else the request is wrong. */
static bool is_rejection(int rc, const char *method)
{
	return rc == SB_EINFEASIBLE || rc == SB_ECONFLICT ||
	       (rc == SB_EIMPOSSIBLE && pipeline_method_of(method));
}

int pipeline_check_given(const struct pipeline_input *in, struct sb_error *err)
{
	PIPELINE_CHOICE_AUTO given = {0};
	struct sb_error why = {0};
	int rc = parse_given(in->request, "given") ? pipeline_choose(in, "given", &given, &why) : SB_OK;

	if (rc == SB_OK || is_rejection(rc, "given"))
		return SB_OK;
	*err = why;
	return rc;
}

int pipeline_compare(const struct pipeline_input *in, const char *method,
                     const struct pipeline_choice *chosen, json_t *answer, struct sb_error *err)
{
	PIPELINE_CHOICE_AUTO other = {0};
	struct sb_error why = {0};
	int rc = pipeline_choose(in, method, &other, &why);

	if (rc == SB_OK) {
		json_array_append_new(json_object_get(answer, "alternatives"),
		                      pipeline_alternative_to_json(in, chosen, &other));
	} else if (is_rejection(rc, method)) {
		json_array_append_new(json_object_get(answer, "rejected"),
		                      json_pack("{s:s,s:i,s:{s:s,s:s}}", "reason", why.word, "count", 1,
		                                "example", "method", method, "detail", why.text));
	} else {
		*err = why;
		return rc;
	}
	return SB_OK;
}
