#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/decompose.h"
#include "planner/pipeline/least_squares.h"

#define RUNS_MAX 64

static uint64_t seed = 3;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-6 * (1 + fabs(expected)));
}

static struct schedule_shape one_f_one_b(int64_t devices, int64_t micro_batches)
{
	return (struct schedule_shape){SCHEDULE_1F1B, devices, micro_batches, 1, 1};
}

/* The demo of SAPP (algorithms.md 1.3): its figures, from which the peaks are made here by the formula of
 * that page. */
static const double DEMO[PIPELINE_RECOMPUTES] = {1002, 783, 695, 423, NAN};
static const double DEMO_PARAMETERS = 2217, DEMO_HEAD = 4614, DEMO_TAIL = 5885;

static struct dry_run demo_run(int64_t stage, int64_t none, int64_t select, int64_t comm, int64_t both,
                               double constant)
{
	const int64_t n[] = {none, select, comm, both};
	struct dry_run r = {.device = stage, .peak = constant};

	for (int t = 0; t < 4; t++) {
		r.layers[0][t] = n[t];
		r.peak += (double)n[t] * (DEMO_PARAMETERS + (double)(16 - stage) * DEMO[t]);
	}
	r.peak += stage == 0 ? DEMO_HEAD : stage == 15 ? DEMO_TAIL : 0;
	return r;
}

static void assert_demo(const struct layer_memory *m)
{
	assert_near(m->parameters, DEMO_PARAMETERS);
	for (int t = 0; t < 4; t++)
		assert_near(m->activation[t], DEMO[t]);
	assert_true(isnan(m->activation[REDO_FULL]));
	assert_near(m->head, DEMO_HEAD);
	assert_near(m->tail, DEMO_TAIL);
	assert_true(isnan(m->ends));
	assert_true(m->settled);
}

/* Five unknowns, five stages of the middle: exact, and no constant. */
static void demo_without_constant(void **state)
{
	const struct schedule_shape s = one_f_one_b(16, 16);
	const struct dry_run runs[] = {demo_run(0, 0, 2, 0, 4, 0), demo_run(1, 1, 2, 2, 1, 0),
	                               demo_run(2, 0, 3, 1, 2, 0), demo_run(5, 2, 1, 2, 1, 0),
	                               demo_run(8, 3, 0, 3, 0, 0), demo_run(11, 4, 1, 0, 1, 0),
	                               demo_run(15, 6, 0, 0, 0, 0)};
	double predicted[7];
	struct layer_memory m;

	(void)state;
	assert_int_equal(layer_memory_decompose(&s, runs, 7, CONSTANT_WHERE_RUNS_ALLOW, &m, predicted, NULL),
	                 SB_OK);
	assert_demo(&m);
	assert_true(isnan(m.constant));
	assert_int_equal(m.equations, 5);
	assert_int_equal(m.unknowns, 5);
	for (int i = 0; i < 7; i++)
		assert_near(predicted[i], runs[i].peak);
}

/* One run more and other numbers of layers: the constant too, also one below 0 (the page: -1896). */
static void demo_with_constant(void **state)
{
	const struct schedule_shape s = one_f_one_b(16, 16);
	const double constants[] = {-1896, 0, 3000};

	(void)state;
	for (int i = 0; i < 3; i++) {
		const double c = constants[i];
		const struct dry_run runs[] = {demo_run(0, 0, 2, 0, 4, c),  demo_run(1, 1, 2, 2, 1, c),
		                               demo_run(2, 0, 3, 1, 2, c),  demo_run(5, 2, 1, 2, 2, c),
		                               demo_run(8, 3, 0, 3, 0, c),  demo_run(11, 4, 1, 0, 1, c),
		                               demo_run(12, 3, 2, 1, 1, c), demo_run(15, 6, 0, 0, 0, c)};
		double predicted[8];
		struct layer_memory m;

		assert_int_equal(
		    layer_memory_decompose(&s, runs, 8, CONSTANT_WHERE_RUNS_ALLOW, &m, predicted, NULL),
		    SB_OK);
		assert_demo(&m);
		assert_near(m.constant, c);
		assert_true(m.worst_share < 1e-9);
	}
}

static void fails(const struct dry_run *runs, size_t count, enum fit_constant constant, const char *word,
                  const char *part)
{
	const struct schedule_shape s = one_f_one_b(16, 16);
	struct layer_memory m;
	struct sb_error err = {0};
	double predicted[RUNS_MAX];

	assert_int_equal(layer_memory_decompose(&s, runs, count, constant, &m, predicted, &err),
	                 SB_EIMPOSSIBLE);
	assert_string_equal(err.word, word);
	assert_non_null(strstr(err.text, part));
}

static void what_runs_do_not_tell_is_refused(void **state)
{
	const struct dry_run equal[] = {demo_run(1, 6, 0, 0, 0, 0), demo_run(2, 6, 0, 0, 0, 0),
	                                demo_run(3, 6, 0, 0, 0, 0), demo_run(4, 6, 0, 0, 0, 0)};
	const struct dry_run once[] = {demo_run(1, 2, 4, 0, 0, 0), demo_run(1, 2, 4, 0, 0, 0),
	                               demo_run(1, 1, 2, 0, 0, 0)};
	const struct dry_run ends[] = {demo_run(0, 6, 0, 0, 0, 0), demo_run(15, 6, 0, 0, 0, 0)};
	const struct dry_run unknown[] = {demo_run(0, 3, 3, 0, 0, 0), demo_run(1, 6, 0, 0, 0, 0),
	                                  demo_run(2, 6, 0, 0, 0, 0)};

	(void)state;
	fails(equal, 4, CONSTANT_WHERE_RUNS_ALLOW, "not_told_apart", "the constant from the parameters");
	fails(once, 3, CONSTANT_LEFT_OUT, "not_told_apart", "other stages");
	fails(equal, 1, CONSTANT_LEFT_OUT, "too_few_runs", "2 figures");
	fails(equal, 2, CONSTANT_FITTED, "too_few_runs", "3 figures");
	fails(ends, 2, CONSTANT_LEFT_OUT, "too_few_runs", "there are 0");
	fails(unknown, 3, CONSTANT_LEFT_OUT, "not_told", "recompute select");
}

/* Without a constant the same runs tell the rest. */
static void equal_layers_without_a_constant(void **state)
{
	const struct schedule_shape s = one_f_one_b(16, 16);
	const struct dry_run equal[] = {demo_run(1, 6, 0, 0, 0, 0), demo_run(2, 6, 0, 0, 0, 0),
	                                demo_run(3, 6, 0, 0, 0, 0), demo_run(4, 6, 0, 0, 0, 0)};
	double predicted[4];
	struct layer_memory m;

	(void)state;
	assert_int_equal(layer_memory_decompose(&s, equal, 4, CONSTANT_LEFT_OUT, &m, predicted, NULL), SB_OK);
	assert_near(m.parameters, DEMO_PARAMETERS);
	assert_near(m.activation[KEEP_ALL], DEMO[KEEP_ALL]);
	assert_true(isnan(m.constant) && isnan(m.head) && isnan(m.tail));
}

/* By hand: two runs of one stage that differ by 8 are best met in their middle, and each is 4 off. */
static void more_runs_are_met_by_least_squares(void **state)
{
	const struct schedule_shape s = one_f_one_b(4, 8);
	/* 3 and 2 micro-batches in flight: 10 + 3 * 5 = 25, 10 + 2 * 5 = 20 a layer, one layer each */
	struct dry_run runs[] = {{.device = 1, .peak = 25 + 4},
	                         {.device = 1, .peak = 25 - 4},
	                         {.device = 2, .peak = 20 + 4},
	                         {.device = 2, .peak = 20 - 4}};
	double predicted[4];
	struct layer_memory m;

	(void)state;
	for (int i = 0; i < 4; i++)
		runs[i].layers[0][KEEP_ALL] = 1;
	assert_int_equal(layer_memory_decompose(&s, runs, 4, CONSTANT_LEFT_OUT, &m, predicted, NULL), SB_OK);
	assert_near(m.parameters, 10);
	assert_near(m.activation[KEEP_ALL], 5);
	assert_near(predicted[0], 25);
	assert_near(predicted[3], 20);
	assert_near(m.worst_share, 4.0 / 16);
}

struct truth {
	struct schedule_shape shape;
	struct pipeline_body body;
	struct pipeline_end head, tail;
	double constant;
};

static struct truth draw_truth(struct schedule_shape shape)
{
	struct truth t = {.shape = shape, .constant = (double)pick(-2000, 5000)};

	t.body.parameters = (double)pick(500, 4000);
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
		t.body.activation[r] = (double)pick(50, 1500);
		t.body.backward[r] = 1;
	}
	t.body.weight = t.body.overlapped = NAN;
	t.head.parameters = (double)pick(100, 9000);
	t.tail.parameters = (double)pick(100, 9000);
	return t;
}

/* Peaks of all devices of a random plan, by the planners' own evaluator. */
static size_t draw_runs(const struct truth *t, int kinds, struct dry_run *out)
{
	struct pipeline_stage plan[RUNS_MAX] = {0};
	struct pipeline_problem p = {.shape = t->shape,
	                             .bodies = &t->body,
	                             .body_count = 1,
	                             .head = t->head,
	                             .tail = t->tail,
	                             .constant = t->constant};
	PIPELINE_SCORER_AUTO scorer = NULL;
	double peaks[RUNS_MAX];

	for (int64_t i = 0; i < schedule_stages(&t->shape); i++)
		for (int r = 0; r < kinds; r++)
			plan[i].layers[r] = pick(r == 0, 4);
	assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
	pipeline_peaks(scorer, plan, peaks);
	for (int64_t d = 0; d < t->shape.devices; d++) {
		out[d] = (struct dry_run){.device = d, .peak = peaks[d]};
		for (int64_t k = 0; k < t->shape.chunks; k++)
			memcpy(out[d].layers[k], plan[schedule_stage(&t->shape, d, k)].layers,
			       sizeof(out[d].layers[k]));
	}
	return (size_t)t->shape.devices;
}

static void assert_truth(const struct truth *t, const struct layer_memory *m, int kinds)
{
	assert_near(m->parameters, t->body.parameters);
	assert_near(m->constant, t->constant);
	for (int r = 0; r < kinds; r++)
		assert_near(m->activation[r], t->body.activation[r]);
}

/* What the simulator's own peaks say of any schedule goes back into the figures that they were made of. */
static void random_round_trips(void **state)
{
	static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 12, 16, 1, 1},
	                                               {SCHEDULE_1F1B, 12, 5, 1, 1},
	                                               {SCHEDULE_INTERLEAVED, 12, 24, 2, 1},
	                                               {SCHEDULE_INTERLEAVED, 10, 20, 3, 1},
	                                               {SCHEDULE_INTERLEAVED_LESS_MEMORY, 12, 24, 2, 1},
	                                               {SCHEDULE_ZB_V, 12, 24, 2, 1},
	                                               {SCHEDULE_DUALPIPE_V, 12, 24, 2, 1},
	                                               {SCHEDULE_EAGER_1F1B, 12, 30, 1, 1}};

	(void)state;
	for (int n = 0; n < 200; n++) {
		struct truth t = draw_truth(shapes[n % 8]);
		bool vee = schedule_facts(t.shape.kind)->vee;
		struct dry_run runs[3 * RUNS_MAX];
		double predicted[3 * RUNS_MAX];
		struct layer_memory m;
		size_t count = 0;
		int kinds = 1 + n % PIPELINE_RECOMPUTES;

		for (int again = 0; again < 2; again++)
			count += draw_runs(&t, kinds, runs + count);
		assert_int_equal(
		    layer_memory_decompose(&t.shape, runs, count, CONSTANT_FITTED, &m, predicted, NULL),
		    SB_OK);
		assert_true(m.settled);
		assert_truth(&t, &m, kinds);
		assert_near(vee ? m.ends : m.head + m.tail, t.head.parameters + t.tail.parameters);
		if (!vee)
			assert_near(m.head, t.head.parameters);
	}
}

/* ZB-H1 holds p units on every device (schedules.md): nothing then tells parameters from activation. */
static void equal_units_everywhere_tell_nothing(void **state)
{
	struct truth t = draw_truth((struct schedule_shape){SCHEDULE_ZB_H1, 12, 24, 1, 1});
	struct dry_run runs[RUNS_MAX];
	double predicted[RUNS_MAX];
	struct layer_memory m;
	struct sb_error err = {0};
	size_t count = draw_runs(&t, 1, runs);

	(void)state;
	assert_int_equal(
	    layer_memory_decompose(&t.shape, runs, count, CONSTANT_LEFT_OUT, &m, predicted, &err),
	    SB_EIMPOSSIBLE);
	assert_string_equal(err.word, "not_told_apart");
}

static void least_squares_names_a_dependent_column(void **state)
{
	/* the third is the sum of the others */
	double a[] = {1, 2, 3, 4, 5, 9, 7, 8, 15, 1, 0, 1}, b[] = {1, 2, 3, 4}, x[3];
	double c[] = {1, 0, 0}, d[] = {1, 2, 3}, y[1];
	size_t dependent = 99;

	(void)state;
	assert_int_equal(least_squares(a, b, 4, 3, x, &dependent), SB_EIMPOSSIBLE);
	assert_in_range(dependent, 0, 2);
	assert_int_equal(least_squares(c, d, 3, 1, y, &dependent), SB_OK);
	assert_near(y[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(demo_without_constant),
	    cmocka_unit_test(demo_with_constant),
	    cmocka_unit_test(what_runs_do_not_tell_is_refused),
	    cmocka_unit_test(equal_layers_without_a_constant),
	    cmocka_unit_test(more_runs_are_met_by_least_squares),
	    cmocka_unit_test(random_round_trips),
	    cmocka_unit_test(equal_units_everywhere_tell_nothing),
	    cmocka_unit_test(least_squares_names_a_dependent_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
