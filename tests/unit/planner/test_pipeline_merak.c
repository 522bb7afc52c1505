/* Merak: kept or recomputed stage by stage, and recomputing before the gradient comes. */
#include "tests/unit/planner/small_pipelines.h"

#include "planner/pipeline/methods.h"

/* Two stages of two layers, both of the first one recomputed. Two micro-batches are in flight on stage 0: 2 *
 * 2 * 1 bytes of inputs, and of the one that was recomputed 2 * (10 - 1) bytes more, beside 2 * 5 of
 * parameters. Stage 1 keeps 2 * 10. */
static void what_early_recompute_keeps(void **state)
{
	static const double memory[] = {INFINITY, INFINITY};
	struct pipeline_body body = {.count = 4,
	                             .forward = 1,
	                             .backward = {2, NAN, NAN, NAN, 3},
	                             .activation = {10, NAN, NAN, NAN, 1},
	                             .parameters = 5,
	                             .weight = NAN,
	                             .overlapped = NAN};
	struct pipeline_problem p = {.shape = {SCHEDULE_1F1B_EARLY_RECOMPUTE, 2, 4, 1, 1},
	                             .bodies = &body,
	                             .body_count = 1,
	                             .memory = memory};
	const struct pipeline_stage plan[2] = {{{0, 0, 0, 0, 2}}, {{2}}};
	PIPELINE_SCORER_AUTO scorer = NULL;
	double peak[2], makespan;

	(void)state;
	assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
	pipeline_peaks(scorer, plan, peak);
	assert_true(peak[0] == 4 + 18 + 10 && peak[1] == 20 + 10);
	/* Stage 1 takes F 2, B 4; stage 0 F 2, R 2, B 4: 8 a micro-batch. Stage 0: F 0-2, F 2-4, R 4-6;
	 * stage 1: F 2-4, B 4-8; stage 0: B 8-12 and then F, R, B without a wait, 8 each for two more
	 * micro-batches up to 28; R and B of the last one until 34. */
	assert_int_equal(pipeline_makespan(scorer, plan, &makespan, NULL), SB_OK);
	assert_true(makespan == 34);
}

static bool fits_with_one_more_kept(const struct pipeline_problem *p, struct pipeline_scorer *scorer,
                                    const struct pipeline_stage *plan, int64_t stage)
{
	struct pipeline_stage more[SMALL_STAGES];
	double peak[SMALL_STAGES];

	memcpy(more, plan, sizeof(more));
	more[stage].layers[REDO_FULL]--;
	more[stage].layers[KEEP_ALL]++;
	pipeline_peaks(scorer, more, peak);
	return small_fits(p, peak);
}

/* Every stage keeps as many layers as fit, and recomputes the others fully. */
static void as_many_as_fit(void **state)
{
	static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 3, 4, 1, 1},
	                                               {SCHEDULE_1F1B_EARLY_RECOMPUTE, 3, 4, 1, 1},
	                                               {SCHEDULE_1F1B_EARLY_RECOMPUTE, 2, 5, 1, 1}};
	struct small x = {.seed = 13};
	int found = 0, recomputed = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof proof;
		double peak[SMALL_STAGES], makespan;

		small_problem(&x, shapes[small_pick(&x, 0, 2)]);
		x.bodies[0].count = pipeline_layers(&x.p);
		x.p.body_count = 1;
		if (x.bodies[0].activation[REDO_SELECT] < 10)
			x.bodies[0].activation[REDO_SELECT] = 10;
		if (pipeline_method_of("merak")->plan(&x.p, PIPELINE_MAKESPAN, plan, &proof, NULL) != SB_OK)
			continue;
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		small_check_plan(&x.p, plan);
		pipeline_peaks(scorer, plan, peak);
		assert_true(small_fits(&x.p, peak));
		assert_int_equal(pipeline_makespan(scorer, plan, &makespan, NULL), SB_OK);
		assert_true(makespan == proof.value && !proof.optimal);
		for (int64_t s = 0; s < x.p.shape.devices; s++) {
			assert_true(plan[s].layers[REDO_SELECT] == 0);
			if (plan[s].layers[REDO_FULL] == 0)
				continue;
			assert_false(fits_with_one_more_kept(&x.p, scorer, plan, s));
			recomputed++;
		}
		found++;
	}
	assert_true(found > 100 && recomputed > 50);
}

struct least {
	struct pipeline_scorer *scorer;
	double bottleneck, makespan;
};

static void weigh(struct small_walk *w)
{
	struct least *e = w->context;
	double peak[SMALL_STAGES], makespan = 0;

	pipeline_peaks(e->scorer, w->plan, peak);
	if (!small_fits(w->p, peak))
		return;
	e->bottleneck = fmin(e->bottleneck, pipeline_bottleneck(w->p, w->plan));
	assert_int_equal(pipeline_makespan(e->scorer, w->plan, &makespan, NULL), SB_OK);
	e->makespan = fmin(e->makespan, makespan);
}

/* The solver of units in flight counts what is there again: its plans fit, and none is better. */
static void the_exact_method_knows_it(void **state)
{
	struct small x = {.seed = 2};
	int found = 0, impossible = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct least e = {.bottleneck = INFINITY, .makespan = INFINITY};
		struct small_walk w = {.p = &x.p, .weigh = weigh, .context = &e};
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof proof;
		double peak[SMALL_STAGES];
		int rc;

		small_problem(&x, (struct schedule_shape){SCHEDULE_1F1B_EARLY_RECOMPUTE, small_pick(&x, 2, 3),
		                                          4, 1, 1});
		rc = pipeline_least_bottleneck(&x.p, plan, &proof, NULL);
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		small_walk(&w);
		assert_int_equal(rc, isinf(e.bottleneck) ? SB_EINFEASIBLE : SB_OK);
		impossible += rc != SB_OK;
		if (rc != SB_OK)
			continue;
		small_check_plan(&x.p, plan);
		pipeline_peaks(scorer, plan, peak);
		assert_true(small_fits(&x.p, peak));
		assert_true(pipeline_bottleneck(&x.p, plan) == e.bottleneck);
		found++;
	}
	assert_true(found > 100 && impossible > 10);
}

/* By time there is no exact search: what is said of the least holds, and AutoPipe has nothing quicker. */
static void by_time_it_is_no_worse(void **state)
{
	struct small x = {.seed = 3};
	int found = 0, optimal = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct least e = {.bottleneck = INFINITY, .makespan = INFINITY};
		struct small_walk w = {.p = &x.p, .weigh = weigh, .context = &e};
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}},
		                                          other[SMALL_STAGES * SMALL_BODIES];
		struct pipeline_proof proof, others;
		struct pipeline_score score;

		small_problem(&x, (struct schedule_shape){SCHEDULE_1F1B_EARLY_RECOMPUTE, small_pick(&x, 2, 3),
		                                          4, 1, 1});
		if (plan_bmpipe(&x.p, PIPELINE_MAKESPAN, plan, &proof, NULL) != SB_OK)
			continue;
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		small_walk(&w);
		small_check_plan(&x.p, plan);
		assert_int_equal(pipeline_score(scorer, plan, &score, NULL, NULL), SB_OK);
		assert_true(score.fits && score.makespan == proof.value);
		assert_string_equal(proof.objective, "makespan");
		assert_true(proof.lower_bound <= e.makespan * (1 + 1e-9));
		assert_true(!proof.optimal || proof.value <= e.makespan * (1 + 1e-9));
		if (plan_autopipe(&x.p, PIPELINE_MAKESPAN, other, &others, NULL) == SB_OK)
			assert_true(proof.value <= others.value);
		optimal += proof.value <= e.makespan * (1 + 1e-9);
		found++;
	}
	assert_true(found > 100 && optimal > found / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_early_recompute_keeps),
	    cmocka_unit_test(as_many_as_fit),
	    cmocka_unit_test(the_exact_method_knows_it),
	    cmocka_unit_test(by_time_it_is_no_worse),
	};

	return cmocka_run_group_tests_name("merak", tests, NULL, NULL);
}
