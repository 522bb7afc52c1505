/* SAPP's estimate of the whole pipeline, without an ILP; and problems at the edge of what can be asked. */
#include "tests/unit/planner/small_pipelines.h"

#include "planner/pipeline/methods.h"
#include "planner/pipeline/whole.h"

static const struct schedule_shape shapes[] = {
    {SCHEDULE_1F1B, 3, 4, 1, 1},        {SCHEDULE_1F1B, 2, 3, 1, 1},
    {SCHEDULE_1F1B, 4, 8, 1, 1},        {SCHEDULE_INTERLEAVED, 2, 4, 2, 1},
    {SCHEDULE_INTERLEAVED, 2, 2, 2, 1}, {SCHEDULE_INTERLEAVED, 2, 4, 3, 1}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* One body of 1 + 2 a layer. */
static struct pipeline_body plain_body(int64_t count)
{
	return (struct pipeline_body){.count = count,
	                              .forward = 1,
	                              .backward = {2, NAN, NAN, NAN, NAN},
	                              .activation = {1, NAN, NAN, NAN, NAN},
	                              .weight = NAN,
	                              .overlapped = NAN};
}

/* By hand, algorithms.md 1.6: 1F1B on 3 stages with layers 1, 3, 2 and m = 4. The work is 6 * 3 = 18; on the
 * way out stage 0 waits 3 - 1 for each micro-batch: 4 * 2 = 8; the bottleneck 3 * 3 counts for m - 2: 18. In
 * all 44. With a head of 1 + 2 the work is the same, stage 0 waits 3 - 2: 18 + 4 + 18 = 40. */
static void one_chunk(void **state)
{
	struct pipeline_body body = plain_body(6);
	struct pipeline_problem p = {.shape = {SCHEDULE_1F1B, 3, 4, 1, 1}, .bodies = &body, .body_count = 1};
	struct pipeline_stage plan[3] = {{{1}}, {{3}}, {{2}}};
	double value = NAN;

	(void)state;
	assert_int_equal(pipeline_whole(&p, plan, &value), SB_OK);
	assert_true(value == 44);
	p.head = (struct pipeline_end){1, 2, 0};
	assert_int_equal(pipeline_whole(&p, plan, &value), SB_OK);
	assert_true(value == 40);
}

/* By hand: 2 stages, 2 chunks of layers 1, 2 and 3, 1, m = 6. Work 7 * 3 = 21, and the first chunk's 9 once
 * more by (2 - 0) / 2 / 2; stage 1 of it is longer than stage 0: no wait in; in the last chunk stage 0 is the
 * longer one: no wait out. Bottleneck of device 0: 3 + 6, of device 1: 2 + 4. 21 + 4.5 + 9 * 4 = 61.5. With
 * 1, 2 and 1, 3: stage 0 waits 2 for each of 6; the bottleneck is 3 + 6 again: 73.5. */
static void two_chunks(void **state)
{
	struct pipeline_body body = plain_body(7);
	struct pipeline_problem p = {
	    .shape = {SCHEDULE_INTERLEAVED, 2, 6, 2, 1}, .bodies = &body, .body_count = 1};
	struct pipeline_stage plan[4] = {{{1}}, {{2}}, {{3}}, {{1}}}, other[4] = {{{1}}, {{2}}, {{1}}, {{3}}};
	double value = NAN;

	(void)state;
	assert_int_equal(pipeline_whole(&p, plan, &value), SB_OK);
	assert_true(value == 61.5);
	assert_int_equal(pipeline_whole(&p, other, &value), SB_OK);
	assert_true(value == 73.5);
}

/* By hand: as many micro-batches as devices. The longest backward of the first chunk is 4, of the last one
 * with phi = |2 - 1 - 2s|, 0 for s < 1: stage 0 has 6, stage 1 has 2 + 1 / 2 * 1. 4 + 6. */
static void no_steady_phase(void **state)
{
	struct pipeline_body body = plain_body(7);
	struct pipeline_problem p = {
	    .shape = {SCHEDULE_INTERLEAVED, 2, 2, 2, 1}, .bodies = &body, .body_count = 1};
	struct pipeline_stage plan[4] = {{{1}}, {{2}}, {{3}}, {{1}}};
	double value = NAN;

	(void)state;
	assert_int_equal(pipeline_whole(&p, plan, &value), SB_OK);
	assert_true(value == 10);
}

struct best {
	struct pipeline_scorer *scorer;
	double least;
};

static void weigh(struct small_walk *w)
{
	struct best *b = w->context;
	double peaks[SMALL_STAGES], value = NAN;

	pipeline_peaks(b->scorer, w->plan, peaks);
	assert_int_equal(pipeline_whole(w->p, w->plan, &value), SB_OK);
	if (small_fits(w->p, peaks))
		b->least = fmin(b->least, value);
}

/* Against every plan: never better than the best, whose value its bound does not pass; mostly equal. */
static void small_steps(void **state)
{
	struct small x = {.seed = 31};
	int found = 0, equal = 0, proved = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof told = {0};
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct best best = {.least = INFINITY};
		struct small_walk w = {.p = &x.p, .weigh = weigh, .context = &best};
		double peaks[SMALL_STAGES], value = NAN;
		int rc;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		assert_int_equal(pipeline_scorer_open(&x.p, &scorer, NULL), SB_OK);
		best.scorer = scorer;
		small_walk(&w);
		rc = pipeline_method_of("bmpipe")->plan(&x.p, PIPELINE_WHOLE, plan, &told, NULL);
		assert_int_equal(rc, isinf(best.least) ? SB_EINFEASIBLE : SB_OK);
		if (rc != SB_OK)
			continue;
		small_check_plan(&x.p, plan);
		pipeline_peaks(scorer, plan, peaks);
		assert_true(small_fits(&x.p, peaks));
		assert_int_equal(pipeline_whole(&x.p, plan, &value), SB_OK);
		assert_true(fabs(told.value - value) <= 1e-9 * value);
		assert_true(value >= best.least * (1 - 1e-9) && told.lower_bound <= best.least * (1 + 1e-9));
		assert_true(!told.optimal || value <= best.least * (1 + 1e-9));
		found++;
		equal += value <= best.least * (1 + 1e-9);
		proved += told.optimal;
	}
	assert_true(found > 100 && equal * 10 > found * 7 && proved > 0);
}

static int plan_of(const struct pipeline_problem *p, enum pipeline_objective objective,
                   struct pipeline_proof *told, struct sb_error *err)
{
	struct pipeline_stage plan[16] = {{{0}}};

	return pipeline_method_of("bmpipe")->plan(p, objective, plan, told, err);
}

/* No layers, no time, no way to recompute at all, no memory: each is answered or told. */
static void edges(void **state)
{
	static const enum pipeline_objective objectives[] = {PIPELINE_BOTTLENECK, PIPELINE_WHOLE};
	const double all[] = {INFINITY, INFINITY}, none[] = {-1, INFINITY};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pipeline_body bodies[2] = {plain_body(3), plain_body(2)};
		struct pipeline_problem p = {
		    .shape = {SCHEDULE_1F1B, 2, 4, 1, 1}, .bodies = bodies, .body_count = 1, .memory = all};
		struct pipeline_proof told = {0};
		struct sb_error err = {0};

		bodies[0].forward = bodies[0].backward[KEEP_ALL] = 0;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_OK);
		assert_true(told.value == 0 && told.optimal);
		p.body_count = 2;
		bodies[1].forward = bodies[1].backward[KEEP_ALL] = 0;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_OK);
		assert_true(told.value == 0 && told.optimal);
		bodies[1].backward[KEEP_ALL] = NAN;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_EINFEASIBLE);
		p.body_count = 1;
		p.memory = none;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_EINFEASIBLE);
		p.memory = all;
		bodies[0].count = 0;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_EINFEASIBLE);
		p.allow_empty = true;
		p.tail = (struct pipeline_end){2, 3, 4};
		assert_int_equal(plan_of(&p, PIPELINE_BOTTLENECK, &told, &err), SB_OK);
		assert_true(told.value == 5);
		bodies[0] = plain_body(4);
		bodies[0].backward[KEEP_ALL] = NAN;
		assert_int_equal(plan_of(&p, objectives[i], &told, &err), SB_EINFEASIBLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_chunk),   cmocka_unit_test(two_chunks), cmocka_unit_test(no_steady_phase),
	    cmocka_unit_test(small_steps), cmocka_unit_test(edges),
	};

	return cmocka_run_group_tests_name("whole pipeline", tests, NULL, NULL);
}
