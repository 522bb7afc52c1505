#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/cells.h"

#define BODIES 3
#define MANY 16

static uint64_t seed = 5;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* Whole numbers, so that sums are exact; some kinds are not offered, and a body may have no layers. */
static void random_bodies(struct pipeline_body bodies[BODIES])
{
	for (int b = 0; b < BODIES; b++) {
		bodies[b] = (struct pipeline_body){
		    .count = pick(0, 3), .forward = (double)pick(1, 9), .parameters = (double)pick(0, 30)};
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			bool offered = r == KEEP_ALL || pick(0, 2) > 0;

			bodies[b].backward[r] = offered ? (double)pick(1, 40) : NAN;
			bodies[b].activation[r] = offered ? (double)pick(0, 40) : NAN;
		}
	}
}

static int64_t body_of(const struct pipeline_body bodies[BODIES], int64_t layer)
{
	int64_t b = 0;

	for (; layer >= bodies[b].count; b++)
		layer -= bodies[b].count;
	return b;
}

/* The least backward of a run within an activation: every layer by itself tries every kind. */
static double least(const struct pipeline_body bodies[BODIES], int64_t first, int64_t count,
                    double activation)
{
	const struct pipeline_body *b;
	double best = INFINITY;

	if (activation < 0)
		return INFINITY;
	if (count == 0)
		return 0;
	b = &bodies[body_of(bodies, first)];
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (!isnan(b->backward[r]))
			best = fmin(best, b->backward[r] + least(bodies, first + 1, count - 1,
			                                         activation - b->activation[r]));
	return best;
}

static void check_stage(struct cells *c, const struct pipeline_body bodies[BODIES], int64_t first,
                        int64_t count, size_t way, const struct cell_ways *w)
{
	struct pipeline_stage stage[BODIES];
	double backward = 0, activation = 0, forward = 0, parameters = 0;

	assert_int_equal(cells_stage(c, first, count, way, stage), SB_OK);
	for (int64_t b = 0; b < BODIES; b++) {
		int64_t n = 0, expected = 0;

		for (int64_t l = first; l < first + count; l++)
			expected += body_of(bodies, l) == b;
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			double of = (double)stage[b].layers[r];

			n += stage[b].layers[r];
			backward += of > 0 ? of * bodies[b].backward[r] : 0;
			activation += of > 0 ? of * bodies[b].activation[r] : 0;
		}
		assert_int_equal(n, expected);
		forward += (double)n * bodies[b].forward;
		parameters += (double)n * bodies[b].parameters;
	}
	assert_true(backward == w->backward[way] && activation == w->activation[way]);
	assert_true(forward == cells_forward(c, first, count));
	assert_true(parameters == cells_parameters(c, first, count));
}

/* Every run, against trying every kind for every layer: for each activation the best way is the least. */
static void ways_of_every_run(void **state)
{
	size_t ways = 0, over_bodies = 0;

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct pipeline_body bodies[BODIES];
		struct pipeline_problem p = {.bodies = bodies, .body_count = BODIES};
		CELLS_AUTO c = NULL;
		int64_t layers;

		random_bodies(bodies);
		layers = pipeline_layers(&p);
		assert_int_equal(cells_open(&p, &c), SB_OK);
		for (int64_t first = 0; first <= layers; first++) {
			for (int64_t count = layers - first < 6 ? layers - first : 6; count >= 0; count--) {
				struct cell_ways w;

				assert_int_equal(cells_ways(c, first, count, &w), SB_OK);
				assert_false(w.thinned);
				for (double room = -1; room < 100; room += 7) {
					int64_t at = cells_way_within(&w, room);

					assert_true((at < 0 ? INFINITY : w.backward[at]) ==
					            least(bodies, first, count, room));
				}
				for (size_t at = 0; at < w.count; at++) {
					assert_true(at == 0 || (w.backward[at] > w.backward[at - 1] &&
					                        w.activation[at] < w.activation[at - 1]));
					check_stage(c, bodies, first, count, at, &w);
				}
				ways += w.count;
				over_bodies +=
				    count > 1 && body_of(bodies, first) != body_of(bodies, first + count - 1);
			}
		}
	}
	assert_true(ways > 2000 && over_bodies > 200);
}

/* Powers of two: each of the 2^14 choices of 14 bodies keeps less the more it takes, and none is worth
 * leaving out. Thinned to the bound, the first and the last of them stay. */
static void too_many_ways(void **state)
{
	struct pipeline_body bodies[14];
	struct pipeline_problem p = {.bodies = bodies, .body_count = 14};
	CELLS_AUTO c = NULL;
	struct cell_ways w;

	(void)state;
	for (int b = 0; b < 14; b++) {
		double power = (double)(1 << b);

		bodies[b] = (struct pipeline_body){.count = 1,
		                                   .backward = {power, NAN, NAN, NAN, 2 * power},
		                                   .activation = {2 * power, NAN, NAN, NAN, power}};
	}
	assert_int_equal(cells_open(&p, &c), SB_OK);
	assert_int_equal(cells_ways(c, 0, 12, &w), SB_OK);
	assert_true(w.count == 4096 && !w.thinned);
	assert_int_equal(cells_ways(c, 0, 14, &w), SB_OK);
	assert_true(w.count == CELL_WAYS_MAX && w.thinned);
	assert_true(w.backward[0] == 16383 && w.activation[0] == 32766);
	assert_true(w.backward[w.count - 1] == 32766 && w.activation[w.count - 1] == 16383);
}

/* A body that offers nothing can stand in no stage. */
static void nothing_offered(void **state)
{
	struct pipeline_body body = {
	    .count = 2, .backward = {NAN, INFINITY, NAN, NAN, 1}, .activation = {1, 1, NAN, NAN, NAN}};
	struct pipeline_problem p = {.bodies = &body, .body_count = 1};
	CELLS_AUTO c = NULL;
	struct cell_ways w;

	(void)state;
	assert_int_equal(cells_open(&p, &c), SB_OK);
	assert_int_equal(cells_ways(c, 0, 2, &w), SB_OK);
	assert_true(w.count == 0 && cells_way_within(&w, INFINITY) == -1);
	assert_int_equal(cells_ways(c, 2, 0, &w), SB_OK);
	assert_true(w.count == 1 && cells_way_within(&w, 0) == 0);
}

/* Runs over many bodies have too many ways to look at all of them: at some point few are kept of each run,
 * but the quickest and the lightest are always there. */
static void many_runs(void **state)
{
	struct pipeline_body bodies[MANY];
	struct pipeline_problem p = {.bodies = bodies, .body_count = MANY};
	CELLS_AUTO c = NULL;
	size_t last = 0;

	(void)state;
	for (int b = 0; b < MANY; b++) {
		/* the later kinds take longer and keep less */
		double backward = 1e6, activation = 1e9;

		bodies[b] = (struct pipeline_body){.count = 12, .forward = 1};
		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			bodies[b].backward[r] = backward += (double)pick(1, 1000000);
			bodies[b].activation[r] = activation -= (double)pick(1, 100000000);
		}
	}
	assert_int_equal(cells_open(&p, &c), SB_OK);
	for (int64_t first = 0; first < 12; first++) {
		for (int64_t count = 12; first + count <= 12 * (int64_t)MANY; count++) {
			double quickest = 0, lightest = 0;
			struct cell_ways w;

			for (int64_t i = first; i < first + count; i++) {
				quickest += bodies[i / 12].backward[0];
				lightest += bodies[i / 12].activation[PIPELINE_RECOMPUTES - 1];
			}
			assert_int_equal(cells_ways(c, first, count, &w), SB_OK);
			assert_true(w.backward[0] == quickest && w.activation[w.count - 1] == lightest);
			last = w.count;
		}
	}
	assert_true(last == 16 && cells_thinned(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ways_of_every_run),
	    cmocka_unit_test(too_many_ways),
	    cmocka_unit_test(nothing_offered),
	    cmocka_unit_test(many_runs),
	};

	return cmocka_run_group_tests_name("pipeline cells", tests, NULL, NULL);
}
