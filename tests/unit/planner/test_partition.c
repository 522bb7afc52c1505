#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "planner/methods/partition.h"

#define LAYERS 9
#define MOST_STAGES 5

struct small {
	struct partition_problem p;
	double seconds[LAYERS], cuts[LAYERS * MOST_STAGES], weight[LAYERS], rate[MOST_STAGES];
	uint32_t bytes[LAYERS];
	int16_t earliest[MOST_STAGES * (LAYERS + 1)];
};

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

static void make(uint32_t seed, struct small *x)
{
	uint32_t s = seed * 2654435761u + 1;
	int64_t layers = 1 + next(&s) % LAYERS;
	int64_t stages = 1 + next(&s) % (layers < MOST_STAGES ? layers : MOST_STAGES);

	x->p = (struct partition_problem){.layers = layers,
	                                  .stages = stages,
	                                  .micro_batches = 1 + next(&s) % 12,
	                                  .seconds = x->seconds,
	                                  .cut_seconds = seed % 3 == 1 ? x->cuts : NULL,
	                                  .cut_size = seed % 3 == 2 ? x->cuts : NULL,
	                                  .cut_rate = x->cuts + LAYERS,
	                                  .weight = seed % 2 ? x->weight : NULL,
	                                  .exchange_seconds = x->rate};
	for (int i = 0; i < LAYERS; i++) {
		x->seconds[i] = next(&s) % 8; /* zeros and ties too */
		x->weight[i] = next(&s) % 5;
	}
	for (int i = 0; i < LAYERS * MOST_STAGES; i++)
		x->cuts[i] = next(&s) % 20;
	for (int i = 0; i < MOST_STAGES; i++)
		x->rate[i] = next(&s) % 4;
}

/* Of the whole cut. */
static bool allowed(const struct partition_problem *p, const int64_t *layers)
{
	int64_t first = 0;

	for (int64_t j = 0; p->earliest && j < p->stages; j++) {
		int64_t end = first + layers[j];

		if (first < p->earliest[j * (p->layers + 1) + end])
			return false;
		first = end;
	}
	return true;
}

/* Every way to cut what is left from stage j on. */
static double least_of_all(const struct partition_problem *p, int64_t *layers, int64_t j, int64_t left)
{
	double least = INFINITY;

	if (j == p->stages - 1) {
		layers[j] = left;
		return allowed(p, layers) ? partition_seconds(p, layers) : INFINITY;
	}
	for (int64_t n = 1; n <= left - (p->stages - 1 - j); n++) {
		layers[j] = n;
		least = fmin(least, least_of_all(p, layers, j + 1, left - n));
	}
	return least;
}

static void test_no_cut_is_better(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 3000; seed++) {
		struct small x;
		struct partition out;
		int64_t layers[MOST_STAGES], sum = 0, any[MOST_STAGES];
		double want;

		make(seed, &x);
		assert_int_equal(partition_least(&x.p, 0, layers, &out, NULL), SB_OK);
		want = least_of_all(&x.p, any, 0, x.p.layers);
		for (int64_t j = 0; j < x.p.stages; j++) {
			assert_true(layers[j] >= 1);
			sum += layers[j];
		}
		assert_int_equal(sum, x.p.layers);
		if (fabs(out.seconds - want) > 1e-9 || !out.optimal ||
		    fabs(partition_seconds(&x.p, layers) - want) > 1e-9)
			fail_msg("seed %u: %g, and the best of all is %g", seed, out.seconds, want);
	}
}

/* Stages with room for some of the layers only: layers of 0..3 bytes, stages of 0..7. */
static void make_narrow(uint32_t seed, struct small *x)
{
	uint32_t s = seed + 77;

	make(seed, x);
	for (int i = 0; i < LAYERS; i++)
		x->bytes[i] = next(&s) % 4;
	for (int64_t j = 0; j < x->p.stages; j++) {
		uint32_t held = 0;
		int64_t first = 0, room = next(&s) % 8;

		x->earliest[j * (x->p.layers + 1)] = 0;
		for (int64_t i = 1; i <= x->p.layers; i++) {
			held += x->bytes[i - 1];
			while (held > room)
				held -= x->bytes[first++];
			x->earliest[j * (x->p.layers + 1) + i] = (int16_t)first;
		}
	}
	x->p.earliest = x->earliest;
}

static void test_what_a_stage_cannot_hold_is_not_cut(void **state)
{
	int impossible = 0;

	(void)state;
	for (uint32_t seed = 0; seed < 3000; seed++) {
		struct small x;
		struct partition out;
		int64_t layers[MOST_STAGES], any[MOST_STAGES];
		double want;
		bool one;

		make_narrow(seed, &x);
		want = least_of_all(&x.p, any, 0, x.p.layers);
		assert_int_equal(partition_any(&x.p, layers, &one), SB_OK);
		assert_int_equal(one, isfinite(want));
		assert_true(!one || allowed(&x.p, layers));
		assert_int_equal(partition_least(&x.p, 0, layers, &out, NULL), SB_OK);
		impossible += !one;
		if (!out.optimal ||
		    (one ? fabs(out.seconds - want) > 1e-9 || !allowed(&x.p, layers) : isfinite(out.seconds)))
			fail_msg("seed %u: %g, and the best of all is %g", seed, out.seconds, want);
	}
	assert_true(impossible > 300 && impossible < 2700); /* both are tried */
}

/* By hand: layers 1 2 3 4 in two stages, 3 micro-batches. [1 2 3 | 4]: 2 x 6 + 10 + 5 = 27 with cut 5 behind
 * layer 3; [1 2 | 3 4]: 2 x 7 + 10 + 0 = 24; exchange of one weight a layer at 1 and 3 seconds:
 * max(3, 3) = 3 makes 30 of the first, max(2, 6) = 6 makes 30 of the second; [1 | 2 3 4]: 2 x 9 + 10 + 9
 * = 37. */
static void test_the_parts_by_hand(void **state)
{
	const double seconds[] = {1, 2, 3, 4}, cuts[] = {0, 0, 5}, weight[] = {1, 1, 1, 1}, rate[] = {1, 3};
	struct partition_problem p = {
	    .layers = 4, .stages = 2, .micro_batches = 3, .seconds = seconds, .cut_seconds = cuts};
	const int64_t first[] = {3, 1}, second[] = {2, 2};
	struct partition_parts parts;
	struct partition out;
	int64_t layers[2];

	(void)state;
	assert_true(partition_seconds(&p, first) == 27 && partition_seconds(&p, second) == 24);
	assert_int_equal(partition_least(&p, 0, layers, &out, NULL), SB_OK);
	assert_true(out.seconds == 24 && layers[0] == 2 && layers[1] == 2);
	p.weight = weight;
	p.exchange_seconds = rate;
	parts = partition_parts_of(&p, second);
	assert_true(parts.pipeline == 24 && parts.cuts == 0 && parts.exchange == 6);
	assert_int_equal(partition_least(&p, 0, layers, &out, NULL), SB_OK);
	assert_true(out.seconds == 30 && out.optimal);
}

/* Out of steps it has a cut none the less, and a bound that is true. */
static void test_little_effort_is_told(void **state)
{
	double seconds[200], cuts[200 * 19];
	struct partition_problem p = {
	    .layers = 200, .stages = 20, .micro_batches = 64, .seconds = seconds, .cut_seconds = cuts};
	struct partition little, all;
	int64_t layers[20];
	uint32_t s = 7;

	(void)state;
	for (int i = 0; i < 200; i++)
		seconds[i] = 1 + (double)(next(&s) % 1000) / 1000;
	for (int i = 0; i < 200 * 19; i++)
		cuts[i] = next(&s) % 50;
	assert_int_equal(partition_least(&p, 0, layers, &all, NULL), SB_OK);
	assert_true(all.optimal);
	for (int64_t effort = 1; effort <= 20000; effort += 19999) { /* not even once, and a few times */
		assert_int_equal(partition_least(&p, effort, layers, &little, NULL), SB_OK);
		assert_false(little.optimal);
		assert_true(little.steps < all.steps);
		assert_true(little.lower_bound <= all.seconds && little.seconds >= all.seconds);
		assert_true(fabs(partition_seconds(&p, layers) - little.seconds) < 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_cut_is_better),
	    cmocka_unit_test(test_what_a_stage_cannot_hold_is_not_cut),
	    cmocka_unit_test(test_the_parts_by_hand),
	    cmocka_unit_test(test_little_effort_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
