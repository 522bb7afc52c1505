#include "api/plans/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/kinds.h"
#include "planner/pipeline/methods.h"

static const char *const methods[] = {"bmpipe", NULL};

/* A plan and what it comes to; the arrays are its own. */
struct choice {
	struct pipeline_stage *plan;
	struct pipeline_proof proof;
	struct pipeline_score score;
	double *peaks;
};

static void choice_clear(struct choice *c)
{
	free(c->plan);
	free(c->peaks);
	*c = (struct choice){0};
}
#define CHOICE_AUTO __attribute__((cleanup(choice_clear))) struct choice

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
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

/* Plans by a method, and scores the plan by the simulation alone. */
static int choose(const struct pipeline_input *in, const struct pipeline_method *method,
                  struct pipeline_scorer *scorer, struct choice *out, struct sb_error *err)
{
	const struct pipeline_problem *p = &in->problem;
	int rc;

	out->plan = calloc((size_t)schedule_stages(&p->shape) * (size_t)p->body_count, sizeof(*out->plan));
	out->peaks = calloc((size_t)p->shape.devices, sizeof(*out->peaks));
	if (!out->plan || !out->peaks)
		return no_memory(err);
	rc = method->plan(p, in->objective, out->plan, &out->proof, err);
	if (rc == SB_OK)
		rc = pipeline_score(scorer, out->plan, &out->score, out->peaks, err);
	if (rc == SB_OK && !(out->score.fits && is_whole(p, out->plan)))
		rc = sb_fail(err, SB_EIO, "search_failed",
		             "the search gave no plan of these layers in this memory");
	return rc;
}

/* Said at once: no search can mend it. */
static int check_layers(const struct pipeline_problem *p, json_t **out_extra, struct sb_error *err)
{
	int64_t layers = pipeline_layers(p), stages = schedule_stages(&p->shape);
	int64_t devices = p->shape.devices, chunks = stages / devices;

	if (p->allow_empty || layers >= stages)
		return SB_OK;
	*out_extra = json_pack("{s:{s:b,s:I}}", "nearest", "allow_empty", 1,
	                       layers >= devices ? "interleave" : "stages",
	                       (json_int_t)(layers >= devices ? layers / devices : layers / chunks));
	return sb_fail_field(err, SB_EINFEASIBLE, "infeasible", chunks > 1 ? "/interleave" : "/stages",
	                     "%lld layers cannot fill %lld stages (%lld devices with %lld chunks each) with "
	                     "at least one layer each",
	                     (long long)layers, (long long)stages, (long long)devices, (long long)chunks);
}

static int solve(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	const char *name = json_string_value(json_object_get(request, "method"));
	PIPELINE_INPUT_AUTO in = {0};
	PIPELINE_SCORER_AUTO scorer = NULL;
	CHOICE_AUTO best = {0};
	double start = plan_clock();
	int rc = pipeline_from_json(request, &in, err);

	if (rc == SB_OK)
		rc = check_layers(&in.problem, out_extra, err);
	if (rc == SB_OK)
		rc = pipeline_scorer_open(&in.problem, &scorer, err);
	if (rc == SB_OK)
		rc = choose(&in, pipeline_method_of(name ? name : methods[0]), scorer, &best, err);
	if (rc != SB_OK)
		return rc;
	*out = json_pack("{s:o,s:o,s:o,s:[],s:[],s:[],s:[]}", "solution", pipeline_solution(&in, best.plan),
	                 "predicted", pipeline_predicted(&in.problem, &best.score, best.peaks), "quality",
	                 pipeline_quality(&best.proof, plan_clock() - start), "alternatives", "frontier",
	                 "rejected", "warnings");
	return *out ? SB_OK : no_memory(err);
}

static json_t *limits(void)
{
	return json_pack("{s:i,s:i,s:i,s:i,s:i}", "layers", PIPELINE_LAYERS_MAX, "types", PIPELINE_TYPES_MAX,
	                 "stages", PIPELINE_DEVICES_MAX, "interleave", SCHEDULE_CHUNKS_MAX, "operations",
	                 SCHEDULE_OPERATIONS_MAX);
}

const struct plan_kind pipeline_kind = {.name = "pipeline",
                                        .methods = methods,
                                        .solve = solve,
                                        .schema = pipeline_schema,
                                        .limits = limits,
                                        .schedule = pipeline_draw};
