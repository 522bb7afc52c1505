/* The search for stacks that overlap what others do not, against plain enumeration. The best alone: of a
 * front of more than 64 points, what the bounds leave out is not simulated. */
#include "tests/unit/planner/enumerate.h"

#define PROBLEMS 100

static void test_stacks_equal_enumeration(void **state)
{
	struct search_result *x = malloc(sizeof(*x));
	int hidden = 0;

	(void)state;
	assert_non_null(x);
	for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
		struct search_request r = random_problem(200 + seed), plain;
		double best = INFINITY;
		struct every e;

		r.stack = (struct stack){.given = true,
		                         .gradients = seed & 1,
		                         .tensor = seed >> 1 & 1,
		                         .expert = seed >> 2 & 1,
		                         .sends = seed >> 3 & 1,
		                         .dispatch_fp8 = seed >> 4 & 1};
		e = enumerate(&r);
		r.problem.memory_bytes = (int64_t)ceil(e.points[below(e.count)].bytes);
		for (int64_t i = 0; i < e.count; i++) {
			if (e.points[i].bytes <= (double)r.problem.memory_bytes)
				best = fmin(best, e.points[i].seconds);
		}
		assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
		if (fabs(x->best.cost.step_seconds / best - 1) > 1e-9)
			fail_msg("problem %llu: search %.9g, enumeration %.9g of %lld",
			         (unsigned long long)seed, x->best.cost.step_seconds, best,
			         (long long)e.count);
		plain = r;
		plain.stack = (struct stack){.given = true, .gradients = r.stack.gradients};
		hidden += strategy_search(&plain, x, NULL) == SB_OK &&
		          x->best.cost.step_seconds > best * (1 + 1e-9);
		free(e.points);
	}
	assert_true(hidden > 0); /* some plan is the faster for it */
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stacks_equal_enumeration)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
