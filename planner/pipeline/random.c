#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "planner/pipeline/fit.h"
#include "planner/pipeline/methods.h"

#define DRAWS 100
#define DRAWS_LEAST 4
#define OPERATIONS_IN_ALL (1 << 24) /* simulated in about a second */
#define SEED 0x9e3779b97f4a7c15u

/* Every cut is as likely: places for the cuts are chosen among all there are, one after the other, each with
 * the chance that is left for it (Knuth, TAOCP 2, 3.4.2, algorithm S). Where stages may be empty the cuts
 * themselves stand among the places. */
static void draw_cut(const struct pipeline_problem *p, uint64_t *state, int64_t *layers)
{
	int64_t stages = schedule_stages(&p->shape), all = pipeline_layers(p), stage = 0;
	int64_t places = p->allow_empty ? all + stages - 1 : all - 1, held = p->allow_empty ? 0 : 1;

	memset(layers, 0, (size_t)stages * sizeof(*layers));
	layers[0] = held;
	for (int64_t i = 0; i < places; i++) {
		bool cut = sb_random(state) % (uint64_t)(places - i) < (uint64_t)(stages - 1 - stage);

		if (cut)
			layers[++stage] = held;
		else
			layers[stage]++;
	}
}

struct draws {
	const struct pipeline_problem *p;
	struct fitter *fitter;
	struct pipeline_scorer *scorer;
	int64_t *layers;
	struct pipeline_stage *plan;
	size_t plan_bytes;
	double best;
};

static int try_one(struct draws *x, uint64_t *state, struct pipeline_stage *out, struct sb_error *err)
{
	int64_t device = -1;
	double makespan;
	int rc;

	draw_cut(x->p, state, x->layers);
	if (fitter_plan(x->fitter, x->layers, x->plan, &device) != SB_OK)
		return sb_no_memory(err);
	if (device >= 0)
		return SB_OK;
	rc = pipeline_makespan(x->scorer, x->plan, &makespan, err);
	if (rc == SB_OK && makespan < x->best) {
		x->best = makespan;
		memcpy(out, x->plan, x->plan_bytes);
	}
	return rc;
}

static int try_all(struct draws *x, int64_t draws, struct pipeline_stage *out, struct sb_error *err)
{
	uint64_t state = SEED;
	int rc = SB_OK;

	for (int64_t i = 0; i < draws && rc == SB_OK; i++)
		rc = sb_stopped(x->p->watch) ? SB_ECANCELED : try_one(x, &state, out, err);
	if (rc == SB_OK && isinf(x->best))
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "none of %lld random cuts fits the memory of the devices", (long long)draws);
	return rc;
}

int plan_random(const struct pipeline_problem *p, enum pipeline_objective objective,
                struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	FITTER_AUTO fitter = NULL;
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct draws x = {.p = p, .best = INFINITY};
	int64_t draws;
	int rc = pipeline_check_layers(p, err);

	(void)objective;
	if (rc == SB_OK)
		rc = fitter_open(p, &fitter, err);
	if (rc == SB_OK)
		rc = pipeline_scorer_open(p, &scorer, err);
	if (rc != SB_OK)
		return rc;
	x.fitter = fitter;
	x.scorer = scorer;
	draws = (int64_t)(OPERATIONS_IN_ALL / schedule_operations(&p->shape));
	draws = draws < DRAWS_LEAST ? DRAWS_LEAST : draws < DRAWS ? draws : DRAWS;
	x.plan_bytes = (size_t)schedule_stages(&p->shape) * (size_t)p->body_count * sizeof(*x.plan);
	x.layers = malloc((size_t)schedule_stages(&p->shape) * sizeof(*x.layers));
	x.plan = malloc(x.plan_bytes);
	if (x.layers && x.plan)
		rc = try_all(&x, draws, out, err);
	else
		rc = sb_no_memory(err);
	free(x.layers);
	free(x.plan);
	if (rc == SB_OK)
		*proof = (struct pipeline_proof){"makespan of random cuts", x.best, NAN, false, draws};
	return rc;
}
