#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "planner/scaling/counts.h"
#include "tests/unit/planner/costed.h"

/* Somebody who loses interest once he was asked so often. */
struct reader {
	int asked, patience;
	double last; /* that he was told of the progress */
	int told;
};

static bool stopped(void *self)
{
	struct reader *r = self;

	return ++r->asked > r->patience;
}

static void progress(void *self, double share)
{
	struct reader *r = self;

	assert_true(share > r->last && share <= 1);
	r->last = share;
	r->told++;
}

/* 175e9 parameters on 1,024 devices: some hundred thousand steps of the walk. */
static struct search_request request(const struct sb_watch *watch)
{
	struct search_request r = {
	    .problem = problem_on(model_preset("gpt3-175b")->model, "dgx-a100-80g", 128, 1536),
	    .gradient_bytes = 4,
	    .watch = watch};

	r.attention = strategy_attention(&r.problem.model, &r.problem.cluster);
	return r;
}

static void a_search_that_is_stopped_ends(void **state)
{
	static struct search_result whole, cut;
	struct reader never = {.patience = INT32_MAX}, soon = {.patience = 1};
	const struct sb_watch watching = {&never, stopped, progress}, leaving = {&soon, stopped, progress};
	struct search_request r = request(&watching);
	struct sb_error err = {0};

	(void)state;
	assert_int_equal(strategy_search(&r, &whole, &err), SB_OK);
	/* often enough to end within some milliseconds, and not so often that it costs: a step is 0.1 us */
	assert_true(never.asked >= 2);
	assert_true(never.asked < 10000);
	r = request(&leaving);
	assert_int_equal(strategy_search(&r, &cut, &err), SB_ECANCELED);
	assert_string_equal(err.word, "canceled");
	assert_true(cut.effort < whole.effort);
}

static int count(void *self, size_t index, const struct point_result *found)
{
	assert_int_equal(index, *(size_t *)self);
	assert_int_equal(found->rc, SB_OK);
	++*(size_t *)self;
	return SB_OK;
}

static void several_searches_tell_how_far_they_are(void **state)
{
	const struct search_point points[] = {{256, 0}, {512, 0}, {1024, 0}, {1024, 768}};
	struct reader reader = {.patience = INT32_MAX};
	const struct sb_watch watch = {&reader, stopped, progress};
	struct search_request r = request(&watch);
	size_t visited = 0;

	(void)state;
	assert_int_equal(search_points(&r, points, 4, count, &visited, NULL), SB_OK);
	assert_int_equal(visited, 4);
	assert_int_equal(reader.told, 4);
	assert_true(reader.last == 1);
	reader = (struct reader){.patience = 0};
	visited = 0;
	assert_int_equal(search_points(&r, points, 4, count, &visited, NULL), SB_ECANCELED);
	assert_int_equal(visited, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_search_that_is_stopped_ends),
	    cmocka_unit_test(several_searches_tell_how_far_they_are),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
