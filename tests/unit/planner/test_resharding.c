#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/network/resharding.h"

#define MOST_TASKS 6
#define MOST_HOSTS 6

static uint64_t seed = 20221109;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

struct made {
	struct reshard_task task[MOST_TASKS];
	uint32_t senders[MOST_TASKS][MOST_HOSTS], receivers[MOST_TASKS][MOST_HOSTS];
	struct reshard_problem problem;
};

static void add(struct made *m, double seconds, uint32_t senders, uint32_t receivers)
{
	size_t i = m->problem.count++;
	struct reshard_task *t = &m->task[i];

	*t =
	    (struct reshard_task){.seconds = seconds, .senders = m->senders[i], .receivers = m->receivers[i]};
	for (uint32_t h = 0; h < MOST_HOSTS; h++) {
		if (senders >> h & 1)
			m->senders[i][t->sender_count++] = h;
		if (receivers >> h & 1)
			m->receivers[i][t->receiver_count++] = h;
	}
	m->problem.tasks = m->task;
	m->problem.hosts = MOST_HOSTS;
}

/* NOLINTBEGIN(misc-no-recursion) */
/* All orders and all senders, the rule of the schedule written out again. */
static void every(const struct made *m, uint32_t left, const double *clock, double end, double *best)
{
	if (left == 0) {
		*best = end < *best ? end : *best;
		return;
	}
	for (uint32_t i = 0; i < m->problem.count; i++) {
		const struct reshard_task *t = &m->task[i];

		if (!(left >> i & 1))
			continue;
		for (uint32_t k = 0; k < t->sender_count; k++) {
			double next[MOST_HOSTS], start = clock[t->senders[k]];

			memcpy(next, clock, sizeof(next));
			for (uint32_t r = 0; r < t->receiver_count; r++)
				start = fmax(start, clock[t->receivers[r]]);
			for (uint32_t r = 0; r < t->receiver_count; r++)
				next[t->receivers[r]] = start + t->seconds;
			if (t->receiver_count > 0)
				next[t->senders[k]] = start + t->seconds;
			every(m, left & ~(1u << i), next,
			      t->receiver_count > 0 ? fmax(end, start + t->seconds) : end, best);
		}
	}
}

/* NOLINTEND(misc-no-recursion) */

static double by_brute_force(const struct made *m)
{
	double clock[MOST_HOSTS] = {0}, best = INFINITY;

	every(m, (1u << m->problem.count) - 1, clock, 0, &best);
	return best;
}

/* A plan is what it says: each task once, from a holder, and its makespan is that of the rule. */
static void is_a_plan(const struct reshard_problem *p, const struct reshard_plan *plan)
{
	double *clock = calloc(p->hosts, sizeof(*clock)), end = 0;
	bool *seen = calloc(p->count, sizeof(*seen));

	assert_non_null(clock);
	assert_non_null(seen);
	for (size_t k = 0; k < p->count; k++) {
		const struct reshard_task *t = &p->tasks[plan->order[k]];
		double start = clock[plan->sender[plan->order[k]]];
		bool holds = false;

		assert_false(seen[plan->order[k]]);
		seen[plan->order[k]] = true;
		for (uint32_t s = 0; s < t->sender_count; s++)
			holds = holds || t->senders[s] == plan->sender[plan->order[k]];
		assert_true(holds);
		if (t->receiver_count == 0)
			continue;
		for (uint32_t r = 0; r < t->receiver_count; r++)
			start = fmax(start, clock[t->receivers[r]]);
		for (uint32_t r = 0; r < t->receiver_count; r++)
			clock[t->receivers[r]] = start + t->seconds;
		clock[plan->sender[plan->order[k]]] = start + t->seconds;
		end = fmax(end, start + t->seconds);
	}
	assert_true(plan->makespan == end);
	free(clock);
	free(seen);
}

static double solved(const struct reshard_problem *p, enum reshard_method method, bool *out_proved)
{
	RESHARD_ANSWER_AUTO a = {0};
	double makespan;

	assert_int_equal(reshard_solve(p, method, &a), SB_OK);
	is_a_plan(p, &a.plan);
	assert_true(a.lower_bound <= a.plan.makespan);
	assert_true(a.bound.seconds <= a.plan.makespan * (1 + 1e-12));
	assert_true(method != RESHARD_BEST || a.plan.makespan <= a.naive);
	makespan = a.plan.makespan;
	if (out_proved)
		*out_proved = a.proved;
	return makespan;
}

/* systems.md 3.6, check 2: hosts A and B hold four tasks of length 1; two go to C and two to D. The first
 * holder for all takes 4; A->C with B->D, then A->C with B->D, takes 2. */
static void test_two_holders(void **state)
{
	struct made m = {0};
	bool proved;

	(void)state;
	add(&m, 1, 3, 4);
	add(&m, 1, 3, 4);
	add(&m, 1, 3, 8);
	add(&m, 1, 3, 8);
	assert_true(solved(&m.problem, RESHARD_NAIVE, NULL) == 4);
	assert_true(solved(&m.problem, RESHARD_BEST, &proved) == 2);
	assert_true(proved);
}

static void random_problem(struct made *m)
{
	uint32_t tasks = 3 + below(MOST_TASKS - 2), sending = 1 + below(3), whole = below(2);

	*m = (struct made){0};
	for (uint32_t i = 0; i < tasks; i++) {
		/* now and then a host does both, and a task has nobody to go to */
		uint32_t senders = 1 + below((1u << sending) - 1);
		uint32_t receivers = below(8) << (below(4) == 0 ? sending - 1 : sending) & 63 & ~senders;
		double seconds = whole ? 1 + below(5) : 0.1 * (1 + below(1000));

		add(m, seconds, senders, receivers);
	}
}

static void test_equals_every_order_and_sender(void **state)
{
	int better = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct made m;
		bool proved, whole;
		double best, found, searched;

		random_problem(&m);
		best = by_brute_force(&m);
		found = solved(&m.problem, RESHARD_BEST, &proved);
		searched = solved(&m.problem, RESHARD_DEPTH_FIRST, &whole);
		if (!proved || !whole || found > best * (1 + 1e-12) || searched > best * (1 + 1e-12) ||
		    found < best * (1 - 1e-12))
			fail_msg("round %d: best %.17g, depth first %.17g, by brute force %.17g", round,
			         found, searched, best);
		for (int k = RESHARD_LEAST_LOADED; k < RESHARD_METHODS; k++)
			assert_true(solved(&m.problem, (enum reshard_method)k, NULL) >= best * (1 - 1e-12));
		better += best < solved(&m.problem, RESHARD_NAIVE, NULL);
	}
	if (better < 500) /* else the problems are too easy to tell anything */
		fail_msg("better only %d times", better);
}

/* Every bound of a set on its own. Three tasks of length 2 and two holders: one of these sends two, 4, though
 * their sum over two is 3. With a fourth holder's task of length 5 to the same host it receives 2 + 5. */
static void test_bounds(void **state)
{
	struct made three = {0}, fixed = {0};
	struct reshard_bound b;

	(void)state;
	add(&three, 2, 3, 4);
	add(&three, 2, 3, 8);
	add(&three, 2, 3, 16);
	assert_int_equal(reshard_lower_bound(&three.problem, &b), SB_OK);
	assert_true(b.seconds == 4 && b.host_seconds == 2 && b.host == 2);
	add(&fixed, 2, 3, 4);
	add(&fixed, 5, 8, 4);
	assert_int_equal(reshard_lower_bound(&fixed.problem, &b), SB_OK);
	assert_true(b.seconds == 7 && b.host == 2);
}

static void test_nothing_to_send(void **state)
{
	struct made m = {0};
	bool proved;

	(void)state;
	add(&m, 3, 3, 0);
	add(&m, 0, 1, 4);
	for (int k = 0; k < RESHARD_METHODS; k++) {
		assert_true(solved(&m.problem, (enum reshard_method)k, &proved) == 0);
		assert_true(proved);
	}
}

/* As many tasks as there may be, from windows of 32 holders to windows of up to 64 receivers: the searches
 * give up in time, and what they give is a plan. With host 255 among all receivers any order is optimal. */
static void test_the_largest_problems(void **state)
{
	struct reshard_task *tasks = calloc(RESHARD_TASKS_MAX, sizeof(*tasks));
	static uint32_t hosts[512];
	struct reshard_problem p = {tasks, RESHARD_TASKS_MAX, 512, NULL};
	bool proved;

	(void)state;
	assert_non_null(tasks);
	for (uint32_t h = 0; h < 512; h++)
		hosts[h] = h;
	for (uint32_t i = 0; i < RESHARD_TASKS_MAX; i++)
		tasks[i] =
		    (struct reshard_task){1 + i % 7, hosts + i % 64, hosts + 192 + i % 32, 32, 64 - i % 32};
	(void)solved(&p, RESHARD_BEST, &proved);
	assert_true(proved);
	for (uint32_t i = 0; i < RESHARD_TASKS_MAX; i++)
		tasks[i] = (struct reshard_task){1 + below(1000), hosts + below(200),
		                                 hosts + 256 + below(192), 32, 1 + below(64)};
	(void)solved(&p, RESHARD_BEST, &proved);
	free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two_holders),
	    cmocka_unit_test(test_equals_every_order_and_sender),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_nothing_to_send),
	    cmocka_unit_test(test_the_largest_problems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
