#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "planner/pipeline/methods.h"

void pipeline_choice_clear(struct pipeline_choice *c)
{
	free(c->plan);
	free(c->peaks);
	*c = (struct pipeline_choice){0};
}

/* Every layer once, and no stage left empty that may not be. */
static bool is_whole(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	int64_t stages = schedule_stages(&p->shape);

	for (int64_t b = 0; b < p->body_count; b++) {
		int64_t left = p->bodies[b].count;

		for (int64_t i = 0; i < stages; i++)
			for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
				left -= plan[i * p->body_count + b].layers[r];
		if (left != 0)
			return false;
	}
	for (int64_t i = 0; i < stages; i++)
		if (!p->allow_empty && pipeline_stage_layers(p, plan, i) < 1)
			return false;
	return true;
}

static int plan_given(const struct pipeline_input *in, struct pipeline_choice *out, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/given");
	const json_t *value = NULL;
	int rc = parse_object(in->request, &root, "given", REQUIRED, &value, err);

	out->proof = (struct pipeline_proof){"makespan", NAN, NAN, false, 0};
	if (rc == SB_OK)
		rc = pipeline_read_plan(value, &here, &in->problem, out->plan, err);
	if (rc == SB_OK && !is_whole(&in->problem, out->plan))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "empty_stage", &here, NULL,
		                "leaves a stage without layers: say allow_empty");
	return rc;
}

/* A search keeps to the memory; a plan that was given need not. */
static int check_fit(const struct pipeline_input *in, const struct pipeline_choice *c, bool given,
                     struct sb_error *err)
{
	const struct pipeline_problem *p = &in->problem;

	if (!is_whole(p, c->plan))
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

int pipeline_choose(const struct pipeline_input *in, const char *method, struct pipeline_scorer *scorer,
                    struct pipeline_choice *out, struct sb_error *err)
{
	const struct pipeline_problem *p = &in->problem;
	const struct pipeline_method *planner = pipeline_method_of(method);
	struct sb_error why = {0};
	int rc;

	out->method = planner ? planner->name : "given";
	out->shape = p->shape;
	out->plan = calloc((size_t)schedule_stages(&p->shape) * (size_t)p->body_count, sizeof(*out->plan));
	out->peaks = calloc((size_t)p->shape.devices, sizeof(*out->peaks));
	if (!out->plan || !out->peaks)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	if (planner)
		rc = planner->plan(p, in->objective, out->plan, &out->proof, &why);
	else
		rc = plan_given(in, out, &why);
	if (rc != SB_OK)
		return fail_as_told(rc, &why, err);
	rc = pipeline_score(scorer, out->plan, &out->score, out->peaks, err);
	if (rc == SB_OK && !planner)
		out->proof.value = out->score.makespan;
	return rc == SB_OK ? check_fit(in, out, !planner, err) : rc;
}
