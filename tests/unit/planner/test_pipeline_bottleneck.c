#include "tests/unit/planner/small_pipelines.h"

#include "planner/pipeline/frontier.h"
#include "planner/pipeline/improve.h"
#include "planner/pipeline/methods.h"
#include "planner/pipeline/rows.h"

static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 3, 4, 1, 1},
                                               {SCHEDULE_1F1B, 2, 3, 1, 1},
                                               {SCHEDULE_1F1B, 4, 8, 1, 1},
                                               {SCHEDULE_GPIPE, 2, 3, 1, 1},
                                               {SCHEDULE_SEQ_1F1B, 3, 4, 1, 2},
                                               {SCHEDULE_ZB_H1, 3, 5, 1, 1},
                                               {SCHEDULE_INTERLEAVED, 2, 4, 2, 1},
                                               {SCHEDULE_ZB_V, 2, 6, 2, 1},
                                               {SCHEDULE_DUALPIPE, 2, 4, 2, 1},
                                               {SCHEDULE_DUALPIPE, 4, 8, 2, 1},
                                               {SCHEDULE_DUALPIPE_V, 2, 4, 2, 1},
                                               {SCHEDULE_INTERLEAVED, 2, 4, 3, 1},
                                               {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 4, 2, 1}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Every plan, weighed by the definitions alone. */
struct best {
	struct pipeline_scorer *scorer;
	double least, extra; /* of all plans; of those with the least bottleneck, what they recompute */
};

static double recomputed(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	double sum = 0;

	for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
		for (int64_t b = 0; b < p->body_count; b++)
			for (int r = 1; r < PIPELINE_RECOMPUTES; r++)
				if (plan[i * p->body_count + b].layers[r] > 0)
					sum += (double)plan[i * p->body_count + b].layers[r] *
					       (p->bodies[b].backward[r] - p->bodies[b].backward[KEEP_ALL]);
	return sum;
}

static void weigh(struct small_walk *w)
{
	struct best *b = w->context;
	double peaks[SMALL_STAGES], bottleneck, extra;

	pipeline_peaks(b->scorer, w->plan, peaks);
	if (!small_fits(w->p, peaks) || !rows_hold(w->p, w->plan))
		return;
	bottleneck = pipeline_bottleneck(w->p, w->plan);
	extra = recomputed(w->p, w->plan);
	if (bottleneck < b->least || (bottleneck == b->least && extra < b->extra)) {
		b->least = bottleneck;
		b->extra = extra;
	}
}

static struct best best_of(const struct pipeline_problem *p)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	struct best best = {.least = INFINITY, .extra = INFINITY};
	struct small_walk w = {.p = p, .weigh = weigh, .context = &best};

	assert_int_equal(pipeline_scorer_open(p, &scorer, NULL), SB_OK);
	best.scorer = scorer;
	small_walk(&w);
	return best;
}

static void check_fits(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	PIPELINE_SCORER_AUTO scorer = NULL;
	double peaks[SMALL_STAGES];

	assert_int_equal(pipeline_scorer_open(p, &scorer, NULL), SB_OK);
	pipeline_peaks(scorer, plan, peaks);
	assert_true(small_fits(p, peaks));
}

/* 1 to 3 bodies, against every plan there is; false: there is none. */
static bool compare(struct small *x, int i)
{
	struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}};
	struct pipeline_proof told = {0};
	struct best best = best_of(&x->p);
	int rc = pipeline_method_of("bmpipe")->plan(&x->p, PIPELINE_BOTTLENECK, plan, &told, NULL);

	if (isinf(best.least)) {
		assert_int_equal(rc, SB_EINFEASIBLE);
		return false;
	}
	assert_int_equal(rc, SB_OK);
	if (told.value != best.least || recomputed(&x->p, plan) != best.extra)
		fail_msg("%d: %g with %g recomputed, and %g with %g there is", i, told.value,
		         recomputed(&x->p, plan), best.least, best.extra);
	assert_true(told.optimal && told.lower_bound == told.value);
	assert_true(pipeline_bottleneck(&x->p, plan) == told.value);
	small_check_plan(&x->p, plan);
	check_fits(&x->p, plan);
	return true;
}

static void nothing_is_better(void **state)
{
	struct small x = {.seed = 11};
	int found = 0, impossible = 0;

	(void)state;
	for (int i = 0; i < 900; i++) {
		bool is;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		is = compare(&x, i);
		found += is;
		impossible += !is;
	}
	assert_true(found > 300 && impossible > 60);
}

/* Rows that bound the layers of one stage, and one that forbids a way to recompute: kept without an ILP. */
static void bounds_of_stages(void **state)
{
	struct small x = {.seed = 12};
	int found = 0, impossible = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct pipeline_term cell, kind = {1, -1, -1, -1, REDO_SELECT};
		struct pipeline_row rows[2] = {{&cell, 1, -INFINITY, INFINITY}, {&kind, 1, -INFINITY, 0}};
		bool is;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		/* the two directions hold one stage twice */
		if (x.p.body_count > 1 || schedule_facts(x.p.shape.kind)->two_way)
			continue;
		cell = (struct pipeline_term){2, -1, small_pick(&x, 0, x.p.shape.chunks - 1),
		                              small_pick(&x, 0, x.p.shape.devices - 1), -1};
		rows[0].at_most = 2 * (double)small_pick(&x, 1, 3);
		if (small_pick(&x, 0, 1))
			rows[0].at_least = rows[0].at_most - 2;
		x.p.rows = rows;
		x.p.row_count = small_pick(&x, 1, 2);
		is = compare(&x, i);
		found += is;
		impossible += !is;
	}
	assert_true(found > 150 && impossible > 50);
}

/* Where the exact search is too much, small steps from an even cut: never below what is proved, within
 * memory, and seldom far from it. */
static void small_steps(void **state)
{
	struct small x = {.seed = 13};
	int found = 0, equal = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct pipeline_stage plan[SMALL_STAGES * SMALL_BODIES] = {{{0}}},
		                                          best[SMALL_STAGES * SMALL_BODIES];
		struct device *devices = NULL;
		CELLS_AUTO cells = NULL;
		struct pipeline_proof told = {0};
		double value = NAN;
		int64_t tried = 0;
		int rc;

		small_problem(&x, shapes[small_pick(&x, 0, SHAPES - 1)]);
		if (pipeline_least_bottleneck(&x.p, best, &told, NULL) != SB_OK)
			continue;
		assert_int_equal(devices_open(&x.p, &devices, NULL), SB_OK);
		assert_int_equal(cells_open(&x.p, &cells), SB_OK);
		rc = improve_plan(&x.p, devices, cells, IMPROVE_BOTTLENECK, true, plan, &value, &tried);
		devices_free(devices, device_count(&x.p));
		if (rc == SB_EINFEASIBLE)
			continue;
		assert_int_equal(rc, SB_OK);
		small_check_plan(&x.p, plan);
		check_fits(&x.p, plan);
		assert_true(value == pipeline_bottleneck(&x.p, plan) && value >= told.value);
		assert_true(frontier_lower_bound(&x.p) <= told.value);
		assert_true(told.value <= frontier_upper_bound(&x.p));
		found++;
		equal += value == told.value;
	}
	assert_true(found > 100 && equal * 10 > found * 8);
}

/* 61 layers on 16 devices with 4 chunks each: more stages than layers, said at once. */
static void more_stages_than_layers(void **state)
{
	double memory[16];
	struct pipeline_body body = {.count = 61,
	                             .forward = 1,
	                             .backward = {2, NAN, NAN, NAN, NAN},
	                             .activation = {1, NAN, NAN, NAN, NAN}};
	struct pipeline_problem p = {.shape = {SCHEDULE_INTERLEAVED, 16, 64, 4, 1},
	                             .bodies = &body,
	                             .body_count = 1,
	                             .memory = memory};
	struct pipeline_stage plan[64];
	struct sb_error err = {0};
	struct pipeline_proof told;

	(void)state;
	for (int d = 0; d < 16; d++)
		memory[d] = INFINITY;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_EINFEASIBLE);
	assert_non_null(strstr(err.text, "61 layers cannot fill 64 stages"));
	p.allow_empty = true;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_OK);
	assert_true(told.value == 3 && told.optimal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_better),
	    cmocka_unit_test(bounds_of_stages),
	    cmocka_unit_test(small_steps),
	    cmocka_unit_test(more_stages_than_layers),
	};

	return cmocka_run_group_tests_name("least bottleneck", tests, NULL, NULL);
}
