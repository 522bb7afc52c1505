/* Even and random cuts. */
#include "tests/unit/planner/small_pipelines.h"

#include "planner/pipeline/methods.h"

static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 3, 4, 1, 1},
                                               {SCHEDULE_GPIPE, 2, 3, 1, 1},
                                               {SCHEDULE_SEQ_1F1B, 2, 3, 1, 2},
                                               {SCHEDULE_INTERLEAVED, 2, 4, 2, 1},
                                               {SCHEDULE_ZB_V, 2, 6, 2, 1},
                                               {SCHEDULE_DUALPIPE, 2, 4, 2, 1},
                                               {SCHEDULE_1F1B_EARLY_RECOMPUTE, 3, 4, 1, 1}};

/* Of plans that fit: the least time; and of those with given counts of layers the least backward. */
struct least {
	struct pipeline_scorer *scorer;
	const int64_t *layers; /* of each stage; NULL = any */
	double makespan, backward;
	int64_t fit;
};

static double all_backward(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	double sum = 0;

	for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
		sum += pipeline_load(p, plan, i).backward;
	return sum;
}

static void weigh(struct small_walk *w)
{
	struct least *e = w->context;
	double peak[SMALL_STAGES], makespan;

	for (int64_t i = 0; e->layers && i < schedule_stages(&w->p->shape); i++)
		if (pipeline_stage_layers(w->p, w->plan, i) != e->layers[i])
			return;
	pipeline_peaks(e->scorer, w->plan, peak);
	if (!small_fits(w->p, peak))
		return;
	assert_int_equal(pipeline_makespan(e->scorer, w->plan, &makespan, NULL), SB_OK);
	e->makespan = fmin(e->makespan, makespan);
	e->backward = fmin(e->backward, all_backward(w->p, w->plan));
	e->fit++;
}

static void check_fits(const struct pipeline_problem *p, struct pipeline_scorer *scorer,
                       const struct pipeline_stage *plan)
{
	double peak[SMALL_STAGES];

	small_check_plan(p, plan);
	pipeline_peaks(scorer, plan, peak);
	assert_true(small_fits(p, peak));
}

/* 7 layers in 3 stages are 3, 2, 2: the first ones take what is left over. */
static void even_counts(void **state)
{
	struct small x = {.seed = 31};
	int found = 0, impossible = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof proof;
		int64_t layers[SMALL_STAGES], all, stages;
		struct least e = {.layers = layers, .makespan = INFINITY, .backward = INFINITY};
		struct small_walk w = {.p = &x.p, .weigh = weigh, .context = &e};
		int rc;

		small_problem(&x, shapes[small_pick(&x, 0, 6)]);
		all = pipeline_layers(&x.p);
		stages = schedule_stages(&x.p.shape);
		for (int64_t s = 0; s < stages; s++)
			layers[s] = s < all % stages ? all / stages + 1 : all / stages;
		rc = pipeline_method_of("even")->plan(&x.p, PIPELINE_MAKESPAN, plan, &proof, NULL);
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		small_walk(&w);
		if (e.fit == 0) {
			assert_int_equal(rc, SB_EINFEASIBLE);
			impossible++;
			continue;
		}
		assert_int_equal(rc, SB_OK);
		check_fits(&x.p, scorer, plan);
		for (int64_t s = 0; s < stages; s++)
			assert_int_equal(pipeline_stage_layers(&x.p, plan, s), layers[s]);
		if (x.p.shape.chunks == 1)
			assert_true(all_backward(&x.p, plan) == e.backward);
		found++;
	}
	assert_true(found > 60 && impossible > 20);
}

/* A hundred draws meet each of the few cuts of a small problem: so the best of them is the best there is,
 * where a stage that recomputes least is all that a cut asks for. */
static void random_cuts(void **state)
{
	struct small x = {.seed = 41};
	int best = 0, found = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof proof;
		struct least e = {.makespan = INFINITY, .backward = INFINITY};
		struct small_walk w = {.p = &x.p, .weigh = weigh, .context = &e};
		double makespan;

		small_problem(&x, shapes[small_pick(&x, 0, 6)]);
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		small_walk(&w);
		if (pipeline_method_of("random")->plan(&x.p, PIPELINE_MAKESPAN, plan, &proof, NULL) !=
		    SB_OK) {
			assert_true(e.fit == 0 || x.p.shape.chunks > 1);
			continue;
		}
		check_fits(&x.p, scorer, plan);
		assert_int_equal(pipeline_makespan(scorer, plan, &makespan, NULL), SB_OK);
		assert_true(makespan == proof.value && makespan >= e.makespan);
		assert_false(proof.optimal);
		if (x.p.shape.chunks == 1) {
			assert_true(makespan == e.makespan);
			best++;
		}
		found++;
	}
	assert_true(found > 80 && best > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(even_counts),
	    cmocka_unit_test(random_cuts),
	};

	return cmocka_run_group_tests_name("even and random cuts", tests, NULL, NULL);
}
