#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "planner/frontier/option_graph.h"
#include "planner/methods/partition.h"
#include "planner/pipeline/best.h"
#include "planner/pipeline/csimd.h"
#include "planner/pipeline/pipedream.h"
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

/* A chain of layers no two of which are alike. */
#define LAYERS 600
#define STAGES 60

static int cut(const struct sb_watch *watch)
{
	static double seconds[LAYERS], cuts[LAYERS], rates[STAGES], weights[LAYERS];
	static int64_t stages[STAGES];
	const struct partition_problem p = {.layers = LAYERS,
	                                    .stages = STAGES,
	                                    .micro_batches = 8,
	                                    .seconds = seconds,
	                                    .cut_size = cuts,
	                                    .cut_rate = rates,
	                                    .weight = weights,
	                                    .exchange_seconds = rates,
	                                    .watch = watch};
	struct partition found;
	int rc;

	for (int i = 0; i < LAYERS; i++) {
		seconds[i] = 1 + (i * 7919 % 1000) / 1e3;
		cuts[i] = i * 104729 % 997;
		weights[i] = i * 1299709 % 991;
	}
	for (int j = 0; j < STAGES; j++)
		rates[j] = 0.01 * (1 + j % 7);
	rc = partition_least(&p, 0, stages, &found, NULL);
	assert_true(found.lower_bound <= found.seconds);
	return rc;
}

/* Sets too large to be had, and sums in their stead. */
static int choose(const struct sb_watch *watch)
{
	static double time[LAYERS][6], memory[LAYERS][6], edge[36];
	static struct option_node nodes[LAYERS];
	static struct option_edge edges[3 * LAYERS];
	const struct option_graph g = {nodes, edges, LAYERS, 3 * (LAYERS - 3), 0, watch};
	OPTION_FRONT_AUTO f = {0};

	for (int i = 0; i < 36; i++)
		edge[i] = i * 104729 % 997;
	for (int n = 0; n < LAYERS; n++) {
		for (int o = 0; o < 6; o++) {
			time[n][o] = (6 * n + o) * 7919 % 1000;
			memory[n][o] = (6 * n + o) * 15485863L % 1009;
		}
		nodes[n] = (struct option_node){6, time[n], memory[n]};
		for (int k = 0; k < 3 && n < LAYERS - 3; k++)
			edges[3 * n + k] = (struct option_edge){n, n + k + 1, edge, NULL};
	}
	return option_graph_solve(&g, 2e7, &f);
}

static int divide(const struct sb_watch *watch)
{
	static struct csimd_layers rows[LAYERS];
	const struct csimd_problem p = {.rows = rows,
	                                .row_count = LAYERS,
	                                .layers = LAYERS,
	                                .stages = 12,
	                                .samples = 300,
	                                .samples_max = 100,
	                                .sequences = 1,
	                                .watch = watch};
	struct csimd_result r = {0};
	int rc;

	for (int i = 0; i < LAYERS; i++)
		rows[i] = (struct csimd_layers){
		    .count = 1,
		    .time = {
		        .a = 30 + i * 7919 % 100, .k = 9 + i * 104729 % 17, .b0 = 2, .q = 0.01, .rho = 2}};
	rc = csimd_solve_plan(&p, CSIMD_FREE, CSIMD_EXACT, &r, NULL);
	csimd_plan_clear(&r.plan);
	return rc;
}

static int replicate(const struct sb_watch *watch)
{
	enum { SOME = 100 };
	static const struct pipedream_level levels[] = {{8, 1e11}, {8, 1e10}};
	double each[SOME];
	const struct pipedream_problem p = {.layers = SOME,
	                                    .time = each,
	                                    .weights = each,
	                                    .parameters = each,
	                                    .activation = each,
	                                    .levels = levels,
	                                    .level_count = 2,
	                                    .memory = INFINITY,
	                                    .watch = watch};
	PIPEDREAM_PLAN_AUTO plan = {0};

	for (int i = 0; i < SOME; i++)
		each[i] = 1 + i * 7919 % 13;
	return pipedream_replicate(&p, &plan, NULL);
}

static int pipeline(const struct sb_watch *watch)
{
	static struct pipeline_body bodies[8];
	static double memory[16];
	struct pipeline_problem p = {.shape = {SCHEDULE_1F1B, 16, 64, 1, 1},
	                             .bodies = bodies,
	                             .body_count = 8,
	                             .memory = memory,
	                             .watch = watch};
	PIPELINE_BEST_AUTO best = {0};

	for (int i = 0; i < 16; i++)
		memory[i] = 5e10;
	for (int b = 0; b < 8; b++) {
		double forward = 1 + b * 7 % 8 / 8.0;

		bodies[b] = (struct pipeline_body){.count = 10,
		                                   .forward = forward,
		                                   .backward = {2 * forward, NAN, NAN, NAN, 3 * forward},
		                                   .activation = {3e8 * forward, NAN, NAN, NAN, 3e7},
		                                   .parameters = 1e9,
		                                   .weight = NAN,
		                                   .overlapped = NAN};
	}
	return pipeline_best(&p, &(struct pipeline_best_options){.kinds = 0}, &best, NULL);
}

static void all_searches_ask_whether_anybody_waits(void **state)
{
	int (*const searches[])(const struct sb_watch *watch) = {cut, choose, divide, replicate, pipeline};

	(void)state;
	for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
		struct reader never = {.patience = INT32_MAX}, soon = {.patience = 3};
		const struct sb_watch watching = {&never, stopped, progress},
		                      leaving = {&soon, stopped, progress};

		/* tenths of a second of work each */
		assert_int_equal(searches[i](&watching), SB_OK);
		assert_true(never.asked > 40);
		/* what it returns then is nothing that anybody looks at; each loop that is still open ends at
		 * its next question */
		(void)searches[i](&leaving);
		assert_true(soon.asked > soon.patience && soon.asked < never.asked / 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_search_that_is_stopped_ends),
	    cmocka_unit_test(several_searches_tell_how_far_they_are),
	    cmocka_unit_test(all_searches_ask_whether_anybody_waits),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
