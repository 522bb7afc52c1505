/* What a search does with an effort that does not suffice, and with more values than it tries. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/strategy/search.h"
#include "tests/unit/planner/costed.h"

static struct search_request request(const char *model, const char *cluster, int64_t nodes, int64_t sequences)
{
	struct search_request r = {.problem =
	                               problem_on(model_preset(model)->model, cluster, nodes, sequences),
	                           .gradient_bytes = 4,
	                           .alternatives = 5};

	r.attention = strategy_attention(&r.problem.model, &r.problem.cluster);
	return r;
}

/* Many divisors everywhere: heads, layers, experts and batch, on a node count that aligns with nothing. */
static void test_gives_up_on_a_space_without_end(void **state)
{
	struct search_request r = request("megatron-1.7b", "dgx-a100-80g", 110880, 2882880);
	struct search_result *x = calloc(1, sizeof(*x));
	struct model *m = &r.problem.model;
	struct sb_error err = {0};
	int64_t nodes = -1, effort = 0, spent;
	bool frees[CONSTRAINTS];

	(void)state;
	assert_non_null(x);
	m->layers = m->heads = m->kv_heads = 720;
	m->hidden = 46080;
	m->ffn_hidden = 184320;
	r.effort = 100000;
	assert_int_equal(strategy_search(&r, x, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.word, "search_too_large");
	assert_true(x->effort <= 2 * r.effort);
	/* each strategy weighed is a step at least: it stopped in time */
	assert_true(x->costed <= 2 * r.effort);
	/* groups that align with nothing are gone through rank by rank: that counts, too */
	r.problem.cluster.nodes = 129999;
	r.problem.network = network_of(&r.problem.cluster, &r.problem.constants);
	x->costed = 0;
	assert_int_equal(strategy_search(&r, x, &err), SB_EIMPOSSIBLE);
	/* the fewest nodes are looked for with the same effort in all */
	r.problem.cluster.nodes = 1024;
	r.problem.memory_bytes = 1;
	assert_int_equal(strategy_nearest_nodes(&r, &effort, &nodes, &err), SB_OK);
	assert_int_equal(nodes, 0);
	assert_true(effort > r.effort);
	/* what they have taken is not there for the next question */
	r.only[ONLY_ZERO] = (struct allowed){1, {0}};
	spent = effort;
	assert_int_equal(strategy_nearest_constraints(&r, &effort, frees, &err), SB_OK);
	assert_true(effort < spent + r.effort / 2);
	free(x);
}

/* What was found before the effort ended is told, with a bound of the rest: never above the best of all. */
static void test_cut_short(void **state)
{
	struct search_request r = request("llama3-70b", "dgx-h100", 64, 1024);
	struct search_result *x = malloc(sizeof(*x));
	double best;
	int64_t all, found = 0, bounded = 0;

	(void)state;
	assert_non_null(x);
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_true(x->optimal && !x->cut_short && !x->values_left_out);
	best = x->best.cost.step_seconds;
	all = x->effort;
	for (r.effort = all / 64; r.effort < all; r.effort += all / 16) {
		struct sb_error err = {0};
		int rc = strategy_search(&r, x, &err);

		assert_true(rc == SB_OK ||
		            (rc == SB_EIMPOSSIBLE && strcmp(err.word, "search_too_large") == 0));
		if (rc != SB_OK)
			continue;
		found++;
		assert_true(x->cut_short && !x->optimal && x->best.cost.fits && x->frontier_in_part);
		assert_true(x->best.cost.step_seconds >= best);
		assert_true(!(x->lower_bound > best));
		bounded += !isnan(x->lower_bound);
	}
	assert_true(found > 0 && bounded > 0);
	free(x);
}

/* 2048 stages are more than the values of a degree that are tried: named, they are; else the answer says so.
 */
static void test_values_left_out(void **state)
{
	struct search_request r = request("llama3-8b", "dgx-h100", 256, 64);
	struct search_result *x = malloc(sizeof(*x));

	(void)state;
	assert_non_null(x);
	r.problem.model.layers = 2048;
	r.problem.memory_bytes = (int64_t)1 << 46;
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_true(x->values_left_out && !x->optimal && !x->cut_short && isnan(x->lower_bound));
	r.only[ONLY_PP] = (struct allowed){2, {1, 2048}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_OK);
	assert_true(!x->values_left_out && x->optimal);
	free(x);
}

/* 4096 layers on two stages in 2049 chunks each, the first and the last without layers: the last stage's are
 * gone through one by one for its memory. That is some 2000 loads of a few nanoseconds, and a step some 100:
 * of all that is costed no stage may count as less than a sixteenth of its chunks. */
static void test_uneven_chunks_are_steps(void **state)
{
	struct search_request r = request("llama3-8b", "dgx-h100", 1, 8);
	struct search_result *x = malloc(sizeof(*x));

	(void)state;
	assert_non_null(x);
	r.problem.model.layers = 4096;
	r.problem.memory_bytes = 1;
	r.only[ONLY_PP] = (struct allowed){1, {2}};
	r.only[ONLY_VPP] = (struct allowed){1, {2049}};
	assert_int_equal(strategy_search(&r, x, NULL), SB_EINFEASIBLE);
	assert_true(x->costed > 0 && x->effort > x->costed * 2049 / 16);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gives_up_on_a_space_without_end),
	    cmocka_unit_test(test_cut_short),
	    cmocka_unit_test(test_values_left_out),
	    cmocka_unit_test(test_uneven_chunks_are_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
