#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/schedule/replay.h"

#define MOST 64

static uint64_t seed = 5;

static int64_t pick(int64_t low, int64_t high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

/* Whole numbers, so that the sums along a path are exact in any order. */
struct random_times {
	double forward[MOST], backward[MOST], weight[MOST], pair[MOST], send[MOST];
};

static struct schedule_times draw(const struct schedule_shape *s, struct random_times *r)
{
	struct schedule_times t = {.forward = r->forward, .backward = r->backward, .send = r->send};
	int64_t slices = s->slices;

	for (int64_t i = 0; i < schedule_stages(s) * slices; i++) {
		/* all slices of a stage alike */
		r->forward[i] = i % slices ? r->forward[i - 1] : (double)pick(0, 50);
		r->backward[i] = i % slices ? r->backward[i - 1] : (double)pick(0, 90);
		r->weight[i] = i % slices ? r->weight[i - 1] : (double)pick(0, 50);
		r->pair[i] = (double)pick(1, 150);
		r->send[i] = (double)pick(0, 9);
	}
	if (schedule_facts(s->kind)->splits || pick(0, 1))
		t.weight = r->weight;
	if (schedule_facts(s->kind)->pairs && pick(0, 1))
		t.overlapped = r->pair;
	if (pick(0, 1)) {
		t.send = NULL;
		t.send_seconds = (double)pick(0, 5);
	}
	t.blocking = pick(0, 1);
	return t;
}

/* What the times are worth along a path; pairs only where their time is the sum of their parts. */
static double along(const struct schedule_shape *s, const struct schedule_times *t,
                    const struct schedule_visits *v)
{
	double sum = 0;

	for (int64_t i = 0; i < schedule_stages(s); i++)
		sum += v[i].forward * t->forward[i * s->slices] + v[i].backward * t->backward[i * s->slices] +
		       v[i].weight * (t->weight ? t->weight[i * s->slices] : 0) +
		       v[i].send * (t->send ? t->send[i] : t->send_seconds);
	return sum;
}

static void check(const struct schedule_shape *s)
{
	SCHEDULE_PROGRAM_AUTO p = {0};
	SCHEDULE_REPLAY_AUTO r = NULL;
	struct schedule_visits v[MOST] = {{0}};

	assert_int_equal(schedule_program_build(s, &p, NULL), SB_OK);
	assert_int_equal(schedule_replay_open(&p, &r, NULL), SB_OK);
	for (int i = 0; i < 20; i++) {
		static struct random_times room, other;
		struct schedule_times t = draw(s, &room), u = t;
		struct schedule_result simulated = {0};
		double told;

		assert_int_equal(schedule_simulate(&p, &t, &simulated, NULL), SB_OK);
		told = schedule_replay(r, &t, INFINITY);
		assert_true(told == simulated.makespan);
		assert_true(schedule_replay(r, &t, told) == told);
		assert_true(schedule_replay(r, &t, told / 4) >= told);
		assert_true(schedule_replay(r, &t, INFINITY) == told);
		schedule_replay_path(r, v);
		if (t.overlapped)
			continue;
		assert_true(along(s, &t, v) == told);
		/* the same path bounds any other times */
		(void)draw(s, &other);
		u.forward = other.forward;
		u.backward = other.backward;
		assert_true(along(s, &u, v) <= schedule_replay(r, &u, INFINITY));
	}
}

static void all_kinds_are_simulated(void **state)
{
	static const struct schedule_shape shapes[] = {
	    {SCHEDULE_GPIPE, 4, 7, 1, 1},        {SCHEDULE_1F1B, 4, 9, 1, 1},
	    {SCHEDULE_1F1B, 1, 3, 1, 1},         {SCHEDULE_EAGER_1F1B, 5, 8, 1, 1},
	    {SCHEDULE_INTERLEAVED, 4, 10, 3, 1}, {SCHEDULE_INTERLEAVED_LESS_MEMORY, 3, 9, 2, 1},
	    {SCHEDULE_ZB_H1, 4, 8, 1, 1},        {SCHEDULE_ZB_H2, 4, 9, 1, 1},
	    {SCHEDULE_ZB_V, 3, 7, 2, 1},         {SCHEDULE_DUALPIPE, 4, 10, 2, 1},
	    {SCHEDULE_DUALPIPE_V, 3, 8, 2, 1},   {SCHEDULE_TERAPIPE, 3, 4, 1, 3},
	    {SCHEDULE_SEQ_1F1B, 4, 5, 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		check(&shapes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_kinds_are_simulated),
	};

	return cmocka_run_group_tests_name("replayed schedules", tests, NULL, NULL);
}
