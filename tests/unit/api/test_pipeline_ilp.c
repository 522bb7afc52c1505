/* The ILP of a pipeline against every plan there is, through CBC; skipped where CBC is not installed. */
#include "tests/unit/planner/small_pipelines.h"

#include "api/plans/cbc.h"
#include "planner/pipeline/ilp.h"
#include "planner/pipeline/methods.h"
#include "planner/pipeline/rows.h"
#include "planner/pipeline/whole.h"

static const struct schedule_shape shapes[] = {
    {SCHEDULE_1F1B, 3, 4, 1, 1},        {SCHEDULE_1F1B, 2, 3, 1, 1},       {SCHEDULE_SEQ_1F1B, 3, 4, 1, 2},
    {SCHEDULE_INTERLEAVED, 2, 4, 2, 1}, {SCHEDULE_ZB_V, 2, 6, 2, 1},       {SCHEDULE_DUALPIPE, 4, 8, 2, 1},
    {SCHEDULE_INTERLEAVED, 2, 4, 3, 1}, {SCHEDULE_INTERLEAVED, 2, 2, 2, 1}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* The least of every plan, weighed by the definitions. */
struct best {
	struct pipeline_scorer *scorer;
	bool whole;
	double least;
};

static double value_of(const struct pipeline_problem *p, const struct pipeline_stage *plan, bool whole)
{
	double value = NAN;

	if (!whole)
		return pipeline_bottleneck(p, plan);
	assert_int_equal(pipeline_whole(p, plan, &value), SB_OK);
	return value;
}

static void weigh(struct small_walk *w)
{
	struct best *b = w->context;
	double peaks[SMALL_STAGES];

	pipeline_peaks(b->scorer, w->plan, peaks);
	if (small_fits(w->p, peaks) && rows_hold(w->p, w->plan))
		b->least = fmin(b->least, value_of(w->p, w->plan, b->whole));
}

static double best_of(const struct pipeline_problem *p, bool whole)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct best best = {.least = INFINITY, .whole = whole};
	struct small_walk w = {.p = p, .weigh = weigh, .context = &best};

	assert_int_equal(pipeline_scorer_open(p, &scorer, NULL), SB_OK);
	best.scorer = scorer;
	small_walk(&w);
	return best.least;
}

static void check_plan(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	double peaks[SMALL_STAGES];

	small_check_plan(p, plan);
	assert_true(rows_hold(p, plan));
	assert_int_equal(pipeline_scorer_open(p, &scorer, NULL), SB_OK);
	pipeline_peaks(scorer, plan, peaks);
	assert_true(small_fits(p, peaks));
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fmax(fabs(b), 1);
}

/* The ILP alone. False: no plan. */
static bool compare(const struct pipeline_problem *p, bool whole, int i)
{
	struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
	struct pipeline_proof told = {0};
	struct device *devices = NULL;
	double least = best_of(p, whole);
	int rc;

	assert_int_equal(devices_open(p, &devices, NULL), SB_OK);
	rc = ilp_solve(p, devices, whole, 0, ILP_SECONDS, plan, &told, NULL);
	devices_free(devices, device_count(p));
	if (isinf(least)) {
		assert_int_equal(rc, SB_EINFEASIBLE);
		return false;
	}
	assert_int_equal(rc, SB_OK);
	check_plan(p, plan);
	if (!is_near(told.value, least))
		fail_msg("%d: %g, and %g there is", i, told.value, least);
	assert_true(is_near(told.value, value_of(p, plan, whole)));
	assert_true(told.optimal && told.lower_bound <= told.value);
	return true;
}

static void need_cbc(void)
{
	if (cbc_is_installed())
		return;
	print_message("cbc is not installed: skipped\n");
	skip();
}

static bool always(void *self)
{
	(void)self;
	return true;
}

static void cbc_is_ended_when_nobody_waits(void **state)
{
	static const char text[] = "Minimize\n obj: x0\nSubject To\n r0: x0 >= 1\nEnd\n";
	const struct sb_watch watch = {.stopped = always};
	struct cbc cbc = {&watch};
	struct lp_result out = {.values = (double[1]){0}};
	struct sb_error err = {0};

	(void)state;
	need_cbc();
	assert_int_equal(cbc_solver.solve(&cbc, text, strlen(text), 1, 20, &out, &err), SB_ECANCELED);
	assert_string_equal(err.word, "canceled");
	cbc.watch = NULL;
	assert_int_equal(cbc_solver.solve(&cbc, text, strlen(text), 1, 20, &out, &err), SB_OK);
	assert_int_equal(out.status, LP_OPTIMAL);
}

static void the_ilp_is_every_plan(void **state)
{
	struct small x = {.seed = 21};
	int found = 0, impossible = 0;

	(void)state;
	need_cbc();
	for (int i = 0; i < 24; i++) {
		bool is;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		x.p.lp = &cbc_solver;
		is = compare(&x.p, i % 2 == 1, i);
		found += is;
		impossible += !is;
	}
	assert_true(found > 8 && impossible > 0);
}

/* Rows of any kind, through the method: with the ILP where nothing else keeps to them. */
static void rows_of_the_user(void **state)
{
	struct small x = {.seed = 22};
	int found = 0, impossible = 0, bound = 0;

	(void)state;
	need_cbc();
	for (int i = 0; i < 24; i++) {
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
		struct pipeline_proof told = {0};
		struct pipeline_term terms[2];
		struct pipeline_row row = {terms, 2, -INFINITY, (double)small_pick(&x, 0, 3)};
		double least, without;
		int rc;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		x.p.lp = &cbc_solver;
		for (int t = 0; t < 2; t++)
			terms[t] = (struct pipeline_term){(double)small_pick(&x, 1, 2),
			                                  small_pick(&x, -1, x.p.body_count - 1),
			                                  small_pick(&x, -1, x.p.shape.chunks - 1),
			                                  small_pick(&x, -1, x.p.shape.devices - 1),
			                                  small_pick(&x, 0, 2) == 0 ? REDO_FULL : -1};
		if (small_pick(&x, 0, 2) == 0)
			row.at_least = row.at_most;
		without = best_of(&x.p, false);
		x.p.rows = &row;
		x.p.row_count = 1;
		least = best_of(&x.p, false);
		rc = pipeline_method_of("bmpipe")->plan(&x.p, PIPELINE_BOTTLENECK, plan, &told, NULL);
		if (isinf(least)) {
			assert_int_equal(rc, SB_EINFEASIBLE);
			impossible++;
			continue;
		}
		assert_int_equal(rc, SB_OK);
		check_plan(&x.p, plan);
		if (!is_near(told.value, least))
			fail_msg("%d: %g, and %g there is", i, told.value, least);
		assert_true(told.optimal && told.lower_bound <= told.value);
		found++;
		bound += least > without;
	}
	assert_true(found > 4 && impossible > 1 && bound > 0);
}

/* Without a solver the rows that need one are told as such. Two stages of two equal layers each is what there
 * is to choose; "as many layers on stage 0 as twice those of stage 1, and none else" needs the ILP. */
static void rows_without_a_solver(void **state)
{
	const double memory[] = {INFINITY, INFINITY};
	struct pipeline_body body = {.count = 6,
	                             .forward = 1,
	                             .backward = {2, NAN, NAN, NAN, NAN},
	                             .activation = {1, NAN, NAN, NAN, NAN}};
	struct pipeline_term terms[] = {{1, -1, -1, 0, -1}, {-2, -1, -1, 1, -1}};
	struct pipeline_row row = {terms, 2, 0, 0};
	struct pipeline_problem p = {.shape = {SCHEDULE_1F1B, 2, 4, 1, 1},
	                             .bodies = &body,
	                             .body_count = 1,
	                             .memory = memory,
	                             .rows = &row,
	                             .row_count = 1};
	struct pipeline_stage plan[2];
	struct pipeline_proof told;
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(plan_bmpipe(&p, PIPELINE_BOTTLENECK, plan, &told, &err), SB_ECONFLICT);
	assert_string_equal(err.word, "solver_missing");
	need_cbc();
	p.lp = &cbc_solver;
	assert_int_equal(plan_bmpipe(&p, PIPELINE_BOTTLENECK, plan, &told, &err), SB_OK);
	assert_true(plan[0].layers[KEEP_ALL] == 4 && plan[1].layers[KEEP_ALL] == 2 && told.value == 12);
}

/* What CBC 2.10 writes, by its source (CbcSolver.cpp): how it ended, then the columns that are not 0. */
static void answers_of_cbc(void **state)
{
	double values[3] = {0};
	struct lp_result r = {.values = values};
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(cbc_read_solution("Optimal - objective value 17.50000000\n"
	                                   "      0 x0                  17.5                       0\n"
	                                   "      2 x2                     2                       2\n",
	                                   3, &r, &err),
	                 SB_OK);
	assert_true(r.status == LP_OPTIMAL && r.objective == 17.5 && r.bound == 17.5);
	assert_true(values[0] == 17.5 && values[1] == 0 && values[2] == 2);
	assert_int_equal(
	    cbc_read_solution("Stopped on time - objective value 3\n**      1 x1 7 0\n", 3, &r, &err), SB_OK);
	assert_true(r.status == LP_STOPPED && isnan(r.bound) && values[1] == 7);
	assert_int_equal(cbc_read_solution("Infeasible - objective value 64\n", 3, &r, &err), SB_OK);
	assert_int_equal(r.status, LP_INFEASIBLE);
	assert_int_equal(cbc_read_solution("Integer infeasible - objective value 0\n", 3, &r, &err), SB_OK);
	assert_int_equal(r.status, LP_INFEASIBLE);
	assert_int_equal(
	    cbc_read_solution("Stopped on time (no integer solution - continuous used) - objective value 2\n",
	                      3, &r, &err),
	    SB_OK);
	assert_int_equal(r.status, LP_NOTHING);
	assert_int_equal(cbc_read_solution("Optimal - objective value 1\n 3 x3 1 0\n", 3, &r, &err), SB_EIO);
	assert_int_equal(cbc_read_solution("no answer", 3, &r, &err), SB_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_ilp_is_every_plan), cmocka_unit_test(cbc_is_ended_when_nobody_waits),
	    cmocka_unit_test(rows_of_the_user),      cmocka_unit_test(rows_without_a_solver),
	    cmocka_unit_test(answers_of_cbc),
	};

	return cmocka_run_group_tests_name("pipeline ILP", tests, NULL, NULL);
}
