#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/pipeline.h"

#define STAGES_MAX 8

static uint64_t seed = 11;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* Every way to give every stage layers of every kind, one after the other, weighed by the definitions alone.
 */
struct enumeration {
	const struct pipeline_problem *p;
	struct pipeline_scorer *scorer;
	struct pipeline_stage plan[STAGES_MAX];
	double least, extra; /* of all plans; of those with the least bottleneck, what they recompute */
};

static double recomputed(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	double sum = 0;

	for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
		for (int r = 1; r < PIPELINE_RECOMPUTES; r++)
			if (plan[i].layers[r] > 0)
				sum += (double)plan[i].layers[r] *
				       (p->bodies[0].backward[r] - p->bodies[0].backward[KEEP_ALL]);
	return sum;
}

static void weigh(struct enumeration *e)
{
	double peak[STAGES_MAX], bottleneck, extra;

	for (int64_t i = 0; i < schedule_stages(&e->p->shape); i++) {
		int64_t layers = 0;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			layers += e->plan[i].layers[r];
		if (layers == 0 && !e->p->allow_empty)
			return;
	}
	pipeline_peaks(e->scorer, e->plan, peak);
	for (int64_t d = 0; d < e->p->shape.devices; d++)
		if (peak[d] > e->p->memory[d])
			return;
	bottleneck = pipeline_bottleneck(e->p, e->plan);
	extra = recomputed(e->p, e->plan);
	if (bottleneck < e->least || (bottleneck == e->least && extra < e->extra)) {
		e->least = bottleneck;
		e->extra = extra;
	}
}

static void enumerate(struct enumeration *e, int64_t cell, int64_t left)
{
	int64_t stage = cell / PIPELINE_RECOMPUTES,
	        last = schedule_stages(&e->p->shape) * PIPELINE_RECOMPUTES - 1;
	int r = (int)(cell % PIPELINE_RECOMPUTES);

	if (cell > last) {
		if (left == 0)
			weigh(e);
		return;
	}
	for (int64_t n = 0; n <= (isnan(e->p->bodies[0].backward[r]) ? 0 : left); n++) {
		e->plan[stage].layers[r] = n;
		enumerate(e, cell + 1, left - n);
	}
	e->plan[stage].layers[r] = 0;
}

/* Small whole numbers, so that sums are exact. */
static struct pipeline_problem random_problem(double memory[STAGES_MAX], struct pipeline_body *body)
{
	static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 3, 4, 1, 1},
	                                               {SCHEDULE_1F1B, 2, 3, 1, 1},
	                                               {SCHEDULE_GPIPE, 2, 3, 1, 1},
	                                               {SCHEDULE_INTERLEAVED, 2, 4, 2, 1},
	                                               {SCHEDULE_ZB_V, 2, 6, 2, 1},
	                                               {SCHEDULE_ZB_H1, 3, 5, 1, 1},
	                                               {SCHEDULE_DUALPIPE, 2, 4, 2, 1},
	                                               {SCHEDULE_DUALPIPE, 4, 8, 2, 1},
	                                               {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 4, 2, 1}};
	struct pipeline_problem p = {.shape = shapes[pick(0, 8)],
	                             .bodies = body,
	                             .body_count = 1,
	                             .memory = memory,
	                             .constant = (double)pick(0, 20)};
	double forward = (double)pick(1, 9);

	*body = (struct pipeline_body){.count = pick(3, 6),
	                               .forward = forward,
	                               .parameters = (double)pick(0, 30),
	                               .weight = NAN,
	                               .overlapped = NAN};
	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		body->backward[r] = body->activation[r] = NAN;
	body->backward[KEEP_ALL] = (double)pick(1, 20);
	body->activation[KEEP_ALL] = (double)pick(20, 60);
	body->backward[REDO_FULL] = body->backward[KEEP_ALL] + forward;
	body->activation[REDO_FULL] = (double)pick(1, 9);
	if (pick(0, 1)) {
		body->backward[REDO_SELECT] = body->backward[KEEP_ALL] + (double)pick(0, 2);
		body->activation[REDO_SELECT] = (double)pick(8, 40);
	}
	p.head = (struct pipeline_end){(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)};
	p.tail = (struct pipeline_end){(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)};
	p.allow_empty = pick(0, 3) == 0;
	for (int d = 0; d < STAGES_MAX; d++)
		memory[d] = (double)pick(100, 500);
	return p;
}

static void nothing_is_better(void **state)
{
	int found = 0, impossible = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		double memory[STAGES_MAX], told = NAN, peak[STAGES_MAX];
		struct pipeline_body body;
		struct pipeline_problem p = random_problem(memory, &body);
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct enumeration e = {.p = &p, .least = INFINITY, .extra = INFINITY};
		struct pipeline_stage plan[STAGES_MAX] = {{{0}}};
		int rc = pipeline_least_bottleneck(&p, plan, &told, NULL);

		assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		enumerate(&e, 0, body.count);
		if (isinf(e.least)) {
			assert_int_equal(rc, SB_EINFEASIBLE);
			impossible++;
			continue;
		}
		assert_int_equal(rc, SB_OK);
		assert_true(told == e.least && pipeline_bottleneck(&p, plan) == told);
		assert_true(recomputed(&p, plan) == e.extra);
		pipeline_peaks(scorer, plan, peak);
		for (int64_t d = 0; d < p.shape.devices; d++)
			assert_true(peak[d] <= memory[d]);
		found++;
	}
	assert_true(found > 100 && impossible > 20);
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
	double told;

	(void)state;
	for (int d = 0; d < 16; d++)
		memory[d] = INFINITY;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_EINFEASIBLE);
	assert_non_null(strstr(err.text, "61 layers cannot fill 64 stages"));
	p.allow_empty = true;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_OK);
	assert_true(told == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_better),
	    cmocka_unit_test(more_stages_than_layers),
	};

	return cmocka_run_group_tests_name("least bottleneck", tests, NULL, NULL);
}
