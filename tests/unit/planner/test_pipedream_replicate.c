/* PipeDream's stages in copies, against every way to share out small networks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "planner/pipeline/pipedream.h"

#define LAYERS_MAX 5

struct small {
	struct pipedream_problem p;
	struct pipedream_level levels[PIPEDREAM_LEVELS_MAX];
	double time[LAYERS_MAX], weights[LAYERS_MAX], parameters[LAYERS_MAX], activation[LAYERS_MAX],
	    output[LAYERS_MAX];
	uint64_t seed;
};

static double pick(struct small *x, int low, int high)
{
	x->seed = x->seed * 6364136223846793005u + 1442695040888963407u;
	return low + (double)((x->seed >> 33) % (uint64_t)(high - low + 1));
}

static double sum(const double *of, int64_t first, int64_t last)
{
	double s = 0;

	for (int64_t i = first; i <= last; i++)
		s += of[i];
	return s;
}

/* NOLINTBEGIN(misc-no-recursion): a level each, and the stages behind one */
static double least(const struct small *x, int64_t level, int64_t first, int64_t last);

/* One stage in copies, by the page: algorithms.md 5, and what a machine keeps. */
static double stage(const struct small *x, int64_t level, int64_t first, int64_t last, int64_t copies,
                    int64_t behind, bool leads)
{
	double m = (double)copies, weights = sum(x->weights, first, last), shared = 1;
	double versions = ceil((double)(behind + copies) / m);
	double held = sum(x->parameters, first, last) + (versions - 1) * weights +
	              versions * sum(x->activation, first, last);

	if (held > x->p.memory)
		return INFINITY;
	if (leads && level > 0)
		shared = (double)x->levels[level - 1].machines;
	return (least(x, level, first, last) +
	        4 * (m - 1) * weights / (x->levels[level].bandwidth * m) / shared) /
	       m;
}

/* The stages from a layer on, behind those that came before: all ends and all numbers of copies. */
static double rest(const struct small *x, int64_t level, int64_t start, int64_t first, int64_t last,
                   int64_t machines)
{
	double best = INFINITY;

	for (int64_t end = first; end <= last; end++) {
		for (int64_t copies = 1; copies <= machines; copies++) {
			bool leads = first == start, behind = end < last;
			double rate = x->levels[level].bandwidth * (double)copies, t;

			if (behind ? copies == machines : copies < machines)
				continue;
			t = stage(x, level, first, end, copies, machines - copies, leads);
			if (x->p.output && first > start)
				t = fmax(t, 2 * x->output[first - 1] / rate);
			if (x->p.output && first > start && end + 1 < x->p.layers)
				t = fmax(t, 2 * x->output[end] / rate);
			if (behind)
				t = fmax(t, rest(x, level, start, end + 1, last, machines - copies));
			best = fmin(best, t);
		}
	}
	return best;
}

/* On one machine of a level. */
static double least(const struct small *x, int64_t level, int64_t first, int64_t last)
{
	if (level == 0)
		return sum(x->time, first, last);
	return rest(x, level - 1, first, first, last, x->levels[level - 1].machines);
}
/* NOLINTEND(misc-no-recursion) */

static void random_problem(struct small *x)
{
	x->p = (struct pipedream_problem){.layers = (int64_t)pick(x, 1, LAYERS_MAX),
	                                  .time = x->time,
	                                  .weights = x->weights,
	                                  .parameters = x->parameters,
	                                  .activation = x->activation,
	                                  .output = pick(x, 0, 1) > 0 ? x->output : NULL,
	                                  .levels = x->levels,
	                                  .level_count = (int64_t)pick(x, 1, 3),
	                                  .memory = pick(x, 0, 2) > 0 ? pick(x, 60, 300) : INFINITY};
	for (int i = 0; i < LAYERS_MAX; i++) {
		x->time[i] = pick(x, 1, 90);
		x->weights[i] = pick(x, 0, 20);
		x->parameters[i] = x->weights[i] * pick(x, 1, 4);
		x->activation[i] = pick(x, 0, 20);
		x->output[i] = pick(x, 0, 40);
	}
	for (int64_t l = 0; l < x->p.level_count; l++)
		x->levels[l] = (struct pipedream_level){(int64_t)pick(x, 1, x->p.level_count == 1 ? 6 : 3),
		                                        pick(x, 1, 4)};
}

/* Stages take all layers in their order, and all machines. */
static void check_stages(const struct small *x, const struct pipedream_plan *plan)
{
	int64_t next = 0;
	double machines = 0, all = 1;

	for (int64_t l = 0; l < x->p.level_count; l++)
		all *= (double)x->levels[l].machines;
	for (int64_t i = 0; i < plan->stage_count; i++) {
		double copies = 1;

		assert_int_equal(plan->stages[i].first, next);
		assert_true(plan->stages[i].count >= 1);
		next += plan->stages[i].count;
		for (int64_t l = 0; l < x->p.level_count; l++)
			copies *= (double)plan->stages[i].replicas[l];
		machines += copies;
	}
	assert_int_equal(next, x->p.layers);
	assert_true(machines == all);
}

static void nothing_is_better(void **state)
{
	struct small x = {.seed = 19};
	int found = 0, impossible = 0, copied = 0, several = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		PIPEDREAM_PLAN_AUTO plan = {0};
		int64_t top;
		double expected;
		int rc;

		random_problem(&x);
		top = x.p.level_count - 1;
		expected = rest(&x, top, 0, 0, x.p.layers - 1, x.levels[top].machines);
		rc = pipedream_replicate(&x.p, &plan, NULL);
		assert_int_equal(rc, isinf(expected) ? SB_EINFEASIBLE : SB_OK);
		impossible += rc != SB_OK;
		if (rc != SB_OK)
			continue;
		assert_float_equal(plan.bottleneck, expected, 1e-9 * expected);
		assert_true(plan.bottleneck <= plan.data_parallel * (1 + 1e-12));
		check_stages(&x, &plan);
		several += plan.stage_count > 1;
		for (int64_t k = 0; k < plan.stage_count; k++)
			copied += plan.stages[k].replicas[0] > 1;
		found++;
	}
	assert_true(found > 100 && impossible > 20 && copied > 20 && several > 50);
}

/* It fits with the least memory, and not with a byte less. */
static void least_memory(void **state)
{
	struct small x = {.seed = 37};

	(void)state;
	for (int i = 0; i < 100; i++) {
		PIPEDREAM_PLAN_AUTO plan = {0};
		int64_t top;
		double least_bytes;

		random_problem(&x);
		top = x.p.level_count - 1;
		assert_int_equal(pipedream_least_memory(&x.p, &least_bytes, NULL), SB_OK);
		x.p.memory = least_bytes;
		assert_false(isinf(rest(&x, top, 0, 0, x.p.layers - 1, x.levels[top].machines)));
		x.p.memory = least_bytes - 1;
		assert_true(isinf(rest(&x, top, 0, 0, x.p.layers - 1, x.levels[top].machines)));
	}
}

/* Four layers of 6, 2, 2, 2 on four machines, 100 bytes a second, weights of 0, 0, 0 and 1000 bytes: three
 * copies of a stage of all layers but the last take 10 / 3, the last one 2, and its weights stay where they
 * are. In one stage of four copies: (12 + 4 * 3 * 1000 / 400) / 4 = 10.5. */
static void a_large_last_layer_is_not_copied(void **state)
{
	static const double time[] = {6, 2, 2, 2}, weights[] = {0, 0, 0, 1000}, nothing[] = {0, 0, 0, 0};
	static const struct pipedream_level level = {4, 100};
	const struct pipedream_problem p = {.layers = 4,
	                                    .time = time,
	                                    .weights = weights,
	                                    .parameters = weights,
	                                    .activation = nothing,
	                                    .levels = &level,
	                                    .level_count = 1,
	                                    .memory = INFINITY};
	PIPEDREAM_PLAN_AUTO plan = {0};

	(void)state;
	assert_int_equal(pipedream_replicate(&p, &plan, NULL), SB_OK);
	assert_float_equal(plan.bottleneck, 10.0 / 3, 1e-12);
	assert_float_equal(plan.data_parallel, 10.5, 1e-12);
	assert_int_equal(plan.stage_count, 2);
	assert_int_equal(plan.stages[0].count, 3);
	assert_int_equal(plan.stages[0].replicas[0], 3);
	assert_int_equal(plan.stages[1].replicas[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_better),
	    cmocka_unit_test(least_memory),
	    cmocka_unit_test(a_large_last_layer_is_not_copied),
	};

	return cmocka_run_group_tests_name("pipedream in copies", tests, NULL, NULL);
}
