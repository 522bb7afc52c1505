#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/pipeline/best.h"
#include "planner/pipeline/makespan.h"

#define DEVICES_MAX 8

static uint64_t seed = 41;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

struct room {
	struct pipeline_body body;
	double memory[DEVICES_MAX];
};

/* Eight layers on four devices with eight micro-batches: one layer a chunk of two, so that the cut is given
 * (schedules.md, "Worked examples": F = B = W = 1 a device). */
static struct pipeline_problem worked_example(struct room *r)
{
	r->body = (struct pipeline_body){.count = 8,
	                                 .forward = 0.5,
	                                 .backward = {1, NAN, NAN, NAN, NAN},
	                                 .activation = {0.5, NAN, NAN, NAN, NAN},
	                                 .weight = 0.5,
	                                 .overlapped = NAN};
	for (int d = 0; d < DEVICES_MAX; d++)
		r->memory[d] = INFINITY;
	return (struct pipeline_problem){
	    .shape = {SCHEDULE_1F1B, 4, 8, 1, 1}, .bodies = &r->body, .body_count = 1, .memory = r->memory};
}

static const struct pipeline_try *find(const struct pipeline_best *b, enum schedule_kind kind, int64_t chunks)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->tries[i].shape.kind == kind && b->tries[i].shape.chunks == chunks &&
		    strcmp(b->tries[i].method, "bmpipe") == 0)
			return &b->tries[i];
	fail_msg("%s was not tried", schedule_facts(kind)->name);
	return NULL;
}

static void check_time(const struct pipeline_best *b, enum schedule_kind kind, int64_t chunks, double time)
{
	const struct pipeline_try *y = find(b, kind, chunks);

	assert_int_equal(y->rc, SB_OK);
	if (fabs(y->score.makespan - time) > 1e-9)
		fail_msg("%s: %f, not %f", schedule_facts(kind)->name, y->score.makespan, time);
	assert_true(fabs(y->loses_by - (time / b->tries[0].score.makespan - 1)) < 1e-9);
}

static void schedules_are_compared(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0};

	(void)state;
	assert_int_equal(pipeline_best(&p, &options, &b, NULL), SB_OK);
	assert_int_equal(b.tries[0].shape.kind, SCHEDULE_ZB_V);
	check_time(&b, SCHEDULE_ZB_V, 2, 25.5);
	/* 54 with chunks of twice the time */
	check_time(&b, SCHEDULE_DUALPIPE_V, 2, 27);
	check_time(&b, SCHEDULE_ZB_H1, 1, 27);
	check_time(&b, SCHEDULE_INTERLEAVED, 2, 28.5);
	check_time(&b, SCHEDULE_1F1B, 1, 33);
	assert_true(b.lower_bound <= 25.5 && b.lower_bound >= 24);
	for (size_t i = 0; i < b.count; i++)
		assert_true(!schedule_facts(b.tries[i].shape.kind)->sliced);
	/* each one once by each method */
	for (size_t i = 0; i < b.count; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(b.tries[i].shape.kind == b.tries[j].shape.kind &&
			             b.tries[i].shape.chunks == b.tries[j].shape.chunks &&
			             strcmp(b.tries[i].method, b.tries[j].method) == 0);
	for (size_t i = 1; i < b.planned; i++)
		assert_true(b.tries[i].score.makespan >= b.tries[i - 1].score.makespan * (1 - 1e-9));
}

/* Without the time of the gradients of the weights nobody can split a backward. */
static void untold_is_not_assumed(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0}, asked = {0};
	const struct pipeline_try *split;

	(void)state;
	r.body.weight = NAN;
	assert_int_equal(pipeline_best(&p, &options, &b, NULL), SB_OK);
	assert_int_equal(find(&b, SCHEDULE_ZB_V, 2)->rc, SB_EIMPOSSIBLE);
	split = find(&b, SCHEDULE_ZB_V, 2);
	assert_true(split && strstr(split->why.text, "gradient of the weights"));
	/* both take 28.5: the one that needs less memory is first */
	assert_int_equal(b.tries[0].shape.kind, SCHEDULE_INTERLEAVED_LESS_MEMORY);
	assert_true(fabs(b.tries[0].score.makespan - 28.5) < 1e-9);
	options.kinds = 1u << SCHEDULE_ZB_V | 1u << SCHEDULE_1F1B;
	assert_int_equal(pipeline_best(&p, &options, &asked, NULL), SB_OK);
	assert_int_equal(asked.tries[0].shape.kind, SCHEDULE_ZB_V);
	assert_true(fabs(asked.tries[0].score.makespan - 25.5) < 1e-9);
	for (size_t i = 0; i < asked.count; i++)
		assert_true(options.kinds & 1u << asked.tries[i].shape.kind);
}

/* One device: nothing is gained by any schedule, and the simplest one is taken. */
static void equal_ones_are_simple(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0};

	(void)state;
	p.shape.devices = 1;
	assert_int_equal(pipeline_best(&p, &options, &b, NULL), SB_OK);
	assert_int_equal(b.tries[0].shape.kind, SCHEDULE_1F1B);
	/* 8 * 8 * (0.5 + 1) */
	assert_true(fabs(b.tries[0].score.makespan - 96) < 1e-9);
	assert_true(b.lower_bound >= 96 * (1 - 1e-9));
}

/* Two devices of a layer each, two micro-batches, 12 bytes: device 0 holds two in flight, and has to
 * recompute. 1F1B ends at 10: device 1 takes F 1-2, B 2-4, F 4-5, B 5-7, and device 0 B 4-7 and 7-10. Early
 * recomputing has the first one rebuilt at 3, so that B is 4-6; then R 6-7 and B 7-9; it needs 2 + 9 bytes.
 */
static void early_recomputing_is_tried(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0}, asked = {0}, whole = {0};

	(void)state;
	p.shape.devices = p.shape.micro_batches = 2;
	r.body = (struct pipeline_body){.count = 2,
	                                .forward = 1,
	                                .backward = {2, NAN, NAN, NAN, 3},
	                                .activation = {10, NAN, NAN, NAN, 1},
	                                .weight = NAN,
	                                .overlapped = NAN};
	r.memory[0] = r.memory[1] = 12;
	assert_int_equal(pipeline_best(&p, &options, &b, NULL), SB_OK);
	assert_int_equal(b.tries[0].shape.kind, SCHEDULE_1F1B_EARLY_RECOMPUTE);
	check_time(&b, SCHEDULE_1F1B_EARLY_RECOMPUTE, 1, 9);
	check_time(&b, SCHEDULE_1F1B, 1, 10);
	/* device 0 is busy for 2 * (1 + 3) */
	assert_true(b.lower_bound >= 8 && b.lower_bound <= 9);
	options.kinds = 1u << SCHEDULE_1F1B_EARLY_RECOMPUTE;
	assert_int_equal(pipeline_best(&p, &options, &asked, NULL), SB_OK);
	assert_true(fabs(asked.tries[0].score.makespan - 9) < 1e-9);
	/* nothing to recompute: it is 1F1B, and is not worth a try */
	options.kinds = 0;
	r.body.backward[REDO_FULL] = r.body.activation[REDO_FULL] = NAN;
	r.memory[0] = r.memory[1] = INFINITY;
	assert_int_equal(pipeline_best(&p, &options, &whole, NULL), SB_OK);
	assert_int_equal(find(&whole, SCHEDULE_1F1B_EARLY_RECOMPUTE, 1)->rc, SB_EIMPOSSIBLE);
}

/* Each schedule once: an answer shows no plan twice. */
static void no_schedule_twice(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0};

	(void)state;
	assert_int_equal(pipeline_best(&p, &options, &b, NULL), SB_OK);
	for (size_t i = 0; i < b.count; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(b.tries[i].shape.kind != b.tries[k].shape.kind ||
			            b.tries[i].shape.chunks != b.tries[k].shape.chunks ||
			            strcmp(b.tries[i].method, b.tries[k].method) != 0);
}

static void none_can_be(void **state)
{
	struct room r;
	struct pipeline_problem p = worked_example(&r);
	struct pipeline_best_options options = {0};
	PIPELINE_BEST_AUTO b = {0};
	struct sb_error err = {0};

	(void)state;
	r.body.count = 3;
	assert_int_equal(pipeline_best(&p, &options, &b, &err), SB_EINFEASIBLE);
	assert_non_null(strstr(err.text, "3 layers"));
	r.body.count = 8;
	for (int d = 0; d < DEVICES_MAX; d++)
		r.memory[d] = 0.25;
	assert_int_equal(pipeline_best(&p, &options, &b, &err), SB_EINFEASIBLE);
	options.kinds = 1u << SCHEDULE_DUALPIPE;
	p.shape.devices = 3;
	assert_int_equal(pipeline_best(&p, &options, &b, &err), SB_EIMPOSSIBLE);
}

static struct pipeline_problem random_problem(struct room *r)
{
	double forward = (double)pick(1, 9);
	struct pipeline_problem p = {.shape = {SCHEDULE_1F1B, pick(2, 3), pick(4, 8), 1, 1},
	                             .bodies = &r->body,
	                             .body_count = 1,
	                             .memory = r->memory,
	                             .send_seconds = (double)pick(0, 3),
	                             .head = {(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)},
	                             .tail = {(double)pick(0, 9), (double)pick(0, 9), (double)pick(0, 60)}};

	r->body =
	    (struct pipeline_body){.count = pick(4, 8),
	                           .forward = forward,
	                           .backward = {2 * forward, NAN, NAN, NAN, 3 * forward},
	                           .activation = {(double)pick(20, 60), NAN, NAN, NAN, (double)pick(1, 9)},
	                           .parameters = (double)pick(0, 30),
	                           .weight = pick(0, 1) ? forward : NAN,
	                           .overlapped = NAN};
	for (int d = 0; d < DEVICES_MAX; d++)
		r->memory[d] = (double)pick(200, 900);
	return p;
}

/* The least of all schedules and chunks, each planned by itself. */
static double least_of_all(const struct pipeline_problem *p)
{
	double least = INFINITY;

	for (int kind = 0; kind < SCHEDULE_KINDS; kind++) {
		const struct schedule_facts *f = schedule_facts((enum schedule_kind)kind);

		if (f->sliced || (f->splits && isnan(p->bodies[0].weight)))
			continue;
		for (int64_t v = f->chunks > 0 ? f->chunks : 2; v <= (f->chunks > 0 ? f->chunks : 4); v++) {
			struct pipeline_stage plan[DEVICES_MAX * 4];
			struct pipeline_problem q = *p;
			struct pipeline_proof proof;

			q.shape.kind = (enum schedule_kind)kind;
			q.shape.chunks = v;
			if (schedule_check(&q.shape, NULL) == SB_OK &&
			    pipeline_least_makespan(&q, plan, &proof, NULL) == SB_OK)
				least = fmin(least, proof.value);
		}
	}
	return least;
}

static void best_is_the_least(void **state)
{
	int found = 0;

	(void)state;
	for (int i = 0; i < 60; i++) {
		struct room r;
		struct pipeline_problem p = random_problem(&r);
		struct pipeline_best_options options = {0};
		PIPELINE_BEST_AUTO b = {0};
		double least = least_of_all(&p);
		int rc = pipeline_best(&p, &options, &b, NULL);

		if (isinf(least)) {
			assert_int_equal(rc, SB_EINFEASIBLE);
			continue;
		}
		assert_int_equal(rc, SB_OK);
		if (b.tries[0].score.makespan > least * (1 + 1e-9))
			fail_msg("%d: %f, and %f can be", i, b.tries[0].score.makespan, least);
		assert_true(b.lower_bound <= least * (1 + 1e-9));
		assert_true(b.tries[0].score.fits && b.tries[0].loses_by == 0);
		found++;
	}
	assert_true(found > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(schedules_are_compared),     cmocka_unit_test(untold_is_not_assumed),
	    cmocka_unit_test(equal_ones_are_simple),      cmocka_unit_test(none_can_be),
	    cmocka_unit_test(early_recomputing_is_tried), cmocka_unit_test(no_schedule_twice),
	    cmocka_unit_test(best_is_the_least),
	};

	return cmocka_run_group_tests_name("best of all schedules", tests, NULL, NULL);
}
