#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "planner/frontier/eliminate.h"
#include "planner/frontier/weighted.h"
#include "tests/unit/planner/small_graphs.h"

/* The least weighted sum by trying everything; of equal ones the leaner plan is meant. */
static double least_sum(const struct pareto_point *all, size_t n, const struct weighted_sum *sum,
                        double *out_memory)
{
	double least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		double value = sum->memory * all[i].memory + sum->time * all[i].time;

		if (value < least)
			*out_memory = all[i].memory;
		least = fmin(least, value);
	}
	return least;
}

/* One sum: the plan is the best of all, or, where tables may have few cells only, a plan that is told as
 * guessed; its work is known before. */
static void test_one_sum(void **state)
{
	uint64_t r = 29;
	struct pareto_point *all = calloc(PLANS, sizeof(*all));
	int guessed = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		struct weighted_sum sum = {draw(&r, 3), 1 + draw(&r, 3), ELIMINATE_CELLS_MAX};
		struct pareto_work work = {.left = 1e6};
		uint16_t options[NODES];
		struct weighted_plan plan;
		struct small s;
		double leanest = 0, needed, memory, time;
		size_t n;

		make(&s, &r, 1 + i % NODES, (int64_t)draw(&r, EDGES));
		n = brute(&s.g, all);
		assert_int_equal(weighted_work(&s.g, sum.cells_most, &needed), SB_OK);
		assert_int_equal(weighted_least(&s.g, &sum, &work, options, &plan), SB_OK);
		assert_true(1e6 - work.left == needed && plan.guessed == 0);
		assert_int_equal(isinf(plan.time), n == 0);
		if (n == 0)
			continue;
		option_graph_sum(&s.g, options, &memory, &time);
		assert_true(memory == plan.memory && time == plan.time);
		assert_true(sum.memory * memory + sum.time * time == least_sum(all, n, &sum, &leanest));
		assert_true(memory == leanest);
		sum.cells_most = 2;
		assert_int_equal(weighted_work(&s.g, sum.cells_most, &needed), SB_OK);
		work.left = 1e6;
		assert_int_equal(weighted_least(&s.g, &sum, &work, options, &plan), SB_OK);
		assert_true(1e6 - work.left == needed);
		guessed += plan.guessed > 0;
		option_graph_sum(&s.g, options, &memory, &time);
		assert_true(isinf(plan.time) || (memory == plan.memory && time == plan.time));
		/* no more than it was said to need */
		work.left = needed - 1;
		assert_int_equal(weighted_least(&s.g, &sum, &work, options, &plan), SB_ELIMIT);
	}
	assert_true(guessed > 100);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_sum)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
