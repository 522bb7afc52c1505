#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/pipeline.h"

#define STAGES_MAX 8
#define BODIES_MAX 3

static uint64_t seed = 11;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* Every way to put every layer into a stage, in order, with every kind of recomputing; weighed by the
 * definitions alone. */
struct enumeration {
	const struct pipeline_problem *p;
	struct pipeline_scorer *scorer;
	struct pipeline_stage plan[STAGES_MAX * BODIES_MAX];
	double least, extra; /* of all plans; of those with the least bottleneck, what they recompute */
};

static double recomputed(const struct pipeline_problem *p, const struct pipeline_stage *plan)
{
	double sum = 0;

	for (int64_t i = 0; i < schedule_stages(&p->shape); i++)
		for (int64_t b = 0; b < p->body_count; b++)
			for (int r = 1; r < PIPELINE_RECOMPUTES; r++)
				if (plan[i * p->body_count + b].layers[r] > 0)
					sum += (double)plan[i * p->body_count + b].layers[r] *
					       (p->bodies[b].backward[r] - p->bodies[b].backward[KEEP_ALL]);
	return sum;
}

static void weigh(struct enumeration *e)
{
	double peak[STAGES_MAX], bottleneck, extra;

	for (int64_t i = 0; i < schedule_stages(&e->p->shape); i++)
		if (pipeline_stage_layers(e->p, e->plan, i) == 0 && !e->p->allow_empty)
			return;
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

/* Layers of one body in one stage are alike: only rising kinds of them are tried. */
static void enumerate(struct enumeration *e, int64_t body, int64_t left, int64_t stage, int kind)
{
	int64_t last = schedule_stages(&e->p->shape) - 1;

	if (left == 0) {
		if (body == e->p->body_count - 1)
			weigh(e);
		else
			enumerate(e, body + 1, e->p->bodies[body + 1].count, stage, 0);
		return;
	}
	for (int64_t i = stage; i <= last; i++) {
		for (int r = i == stage ? kind : 0; r < PIPELINE_RECOMPUTES; r++) {
			if (isnan(e->p->bodies[body].backward[r]))
				continue;
			e->plan[i * e->p->body_count + body].layers[r]++;
			enumerate(e, body, left - 1, i, r);
			e->plan[i * e->p->body_count + body].layers[r]--;
		}
	}
}

/* Small whole numbers, so that sums are exact. */
static struct pipeline_body random_body(int64_t count)
{
	struct pipeline_body body = {.count = count,
	                             .forward = (double)pick(1, 9),
	                             .parameters = (double)pick(0, 30),
	                             .weight = NAN,
	                             .overlapped = NAN};

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		body.backward[r] = body.activation[r] = NAN;
	body.backward[KEEP_ALL] = (double)pick(1, 20);
	body.activation[KEEP_ALL] = (double)pick(20, 60);
	body.backward[REDO_FULL] = body.backward[KEEP_ALL] + body.forward;
	body.activation[REDO_FULL] = (double)pick(1, 9);
	if (pick(0, 1)) {
		body.backward[REDO_SELECT] = body.backward[KEEP_ALL] + (double)pick(0, 2);
		body.activation[REDO_SELECT] = (double)pick(8, 40);
	}
	return body;
}

static struct pipeline_problem random_problem(double memory[STAGES_MAX],
                                              struct pipeline_body bodies[BODIES_MAX], int64_t body_count)
{
	static const struct schedule_shape shapes[] = {
	    {SCHEDULE_1F1B, 3, 4, 1, 1},        {SCHEDULE_1F1B, 2, 3, 1, 1},
	    {SCHEDULE_1F1B, 4, 8, 1, 1},        {SCHEDULE_GPIPE, 2, 3, 1, 1},
	    {SCHEDULE_SEQ_1F1B, 3, 4, 1, 2},    {SCHEDULE_ZB_H1, 3, 5, 1, 1},
	    {SCHEDULE_INTERLEAVED, 2, 4, 2, 1}, {SCHEDULE_ZB_V, 2, 6, 2, 1},
	    {SCHEDULE_DUALPIPE, 2, 4, 2, 1},    {SCHEDULE_DUALPIPE, 4, 8, 2, 1},
	    {SCHEDULE_DUALPIPE_V, 2, 4, 2, 1},  {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 4, 2, 1}};
	struct pipeline_problem p = {.shape = shapes[pick(0, 11)],
	                             .bodies = bodies,
	                             .body_count = body_count,
	                             .memory = memory,
	                             .constant = (double)pick(0, 20)};
	int64_t layers = pick(3, 6);

	for (int64_t b = 0; b < body_count; b++) {
		int64_t count = b == body_count - 1 ? layers : pick(1, layers - (body_count - 1 - b));

		bodies[b] = random_body(count);
		layers -= count;
	}
	p.head = (struct pipeline_end){(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)};
	p.tail = (struct pipeline_end){(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)};
	p.allow_empty = pick(0, 3) == 0;
	for (int d = 0; d < STAGES_MAX; d++)
		memory[d] = (double)pick(100, 500);
	return p;
}

static void compare(int64_t body_count, int times)
{
	int found = 0, impossible = 0;

	for (int i = 0; i < times; i++) {
		double memory[STAGES_MAX], peak[STAGES_MAX];
		struct pipeline_body bodies[BODIES_MAX];
		struct pipeline_problem p = random_problem(memory, bodies, body_count);
		PIPELINE_SCORER_AUTO scorer = NULL;
		struct enumeration e = {.p = &p, .least = INFINITY, .extra = INFINITY};
		struct pipeline_stage plan[STAGES_MAX * BODIES_MAX] = {{{0}}};
		struct pipeline_proof told = {0};
		int rc = pipeline_least_bottleneck(&p, plan, &told, NULL);

		assert_int_equal(pipeline_scorer_open(&p, &scorer, NULL), SB_OK);
		e.scorer = scorer;
		enumerate(&e, 0, bodies[0].count, 0, 0);
		if (isinf(e.least)) {
			assert_int_equal(rc, SB_EINFEASIBLE);
			impossible++;
			continue;
		}
		assert_int_equal(rc, SB_OK);
		if (told.value != e.least || recomputed(&p, plan) != e.extra)
			fail_msg("%d: %g with %g recomputed, and %g with %g there is", i, told.value,
			         recomputed(&p, plan), e.least, e.extra);
		assert_true(told.optimal && told.lower_bound == told.value);
		assert_true(pipeline_bottleneck(&p, plan) == told.value);
		pipeline_peaks(scorer, plan, peak);
		for (int64_t d = 0; d < p.shape.devices; d++)
			assert_true(peak[d] <= memory[d]);
		found++;
	}
	assert_true(found > times / 3 && impossible > times / 15);
}

static void nothing_is_better(void **state)
{
	(void)state;
	compare(1, 300);
}

static void nothing_is_better_for_two_bodies(void **state)
{
	(void)state;
	compare(2, 200);
}

static void nothing_is_better_for_three_bodies(void **state)
{
	(void)state;
	compare(3, 200);
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
	struct pipeline_proof told;

	(void)state;
	for (int d = 0; d < 16; d++)
		memory[d] = INFINITY;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_EINFEASIBLE);
	assert_non_null(strstr(err.text, "61 layers cannot fill 64 stages"));
	p.allow_empty = true;
	assert_int_equal(pipeline_least_bottleneck(&p, plan, &told, &err), SB_OK);
	assert_true(told.value == 3 && told.optimal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_better),
	    cmocka_unit_test(nothing_is_better_for_two_bodies),
	    cmocka_unit_test(nothing_is_better_for_three_bodies),
	    cmocka_unit_test(more_stages_than_layers),
	};

	return cmocka_run_group_tests_name("least bottleneck", tests, NULL, NULL);
}
