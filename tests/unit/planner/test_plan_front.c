#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/random.h"
#include "planner/frontier/plans.h"

#define PLANS 400

struct plan {
	double seconds, bytes;
};

static bool beats(const struct plan *a, const struct plan *b)
{
	return a->seconds <= b->seconds && a->bytes <= b->bytes &&
	       (a->seconds < b->seconds || a->bytes < b->bytes);
}

static void offer(struct plan_front *f, struct plan *slots, struct plan p)
{
	if (plan_front_wants(f, p.seconds, p.bytes))
		slots[plan_front_add(f, p.seconds, p.bytes)] = p;
}

/* Few values, so that many plans are equal in one or both. */
static void test_all_and_only_what_none_beats(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct plan all[PLANS], slots[PLAN_FRONT_MAX];
		struct plan_front f = {.count = 0};

		for (int i = 0; i < PLANS; i++) {
			all[i] =
			    (struct plan){(double)(sb_random(&seed) % 60), (double)(sb_random(&seed) % 60)};
			offer(&f, slots, all[i]);
		}
		for (int i = 0; i < PLANS; i++) {
			bool beaten = false, there = false;

			for (int k = 0; k < PLANS; k++)
				beaten = beaten || beats(&all[k], &all[i]);
			for (int k = 0; k < f.count; k++)
				there = there || (f.point[k].seconds == all[i].seconds &&
				                  f.point[k].bytes == all[i].bytes);
			assert_true(there != beaten);
		}
		for (int k = 0; k < f.count; k++) {
			const struct plan *p = &slots[f.point[k].slot];

			assert_true(p->seconds == f.point[k].seconds && p->bytes == f.point[k].bytes);
			assert_true(k == 0 || f.point[k].seconds > f.point[k - 1].seconds);
		}
	}
}

/* More plans than there is room for: all on one line, none beats another. The ends stay, and slots are not
 * shared. */
static void test_full(void **state)
{
	struct plan slots[PLAN_FRONT_MAX];
	struct plan_front f = {.count = 0};

	(void)state;
	for (int i = 0; i < 10 * PLAN_FRONT_MAX; i++)
		offer(&f, slots, (struct plan){i, -i});
	assert_true(f.count > PLAN_FRONT_MAX / 2 && f.count <= PLAN_FRONT_MAX);
	assert_true(f.point[0].seconds == 0 && f.point[f.count - 1].seconds == 10 * PLAN_FRONT_MAX - 1);
	for (int k = 0; k < f.count; k++)
		assert_true(slots[f.point[k].slot].seconds == f.point[k].seconds);
}

/* By hand: of 0, 1, .. 9 seconds those up to 8, and three of them, evenly: 0, 4, 8. */
static void test_trim(void **state)
{
	struct plan slots[PLAN_FRONT_MAX];
	struct plan_front f = {.count = 0};

	(void)state;
	for (int i = 0; i < 10; i++)
		offer(&f, slots, (struct plan){i, -i});
	plan_front_trim(&f, 8, 3);
	assert_int_equal(f.count, 3);
	for (int k = 0; k < 3; k++)
		assert_true(f.point[k].seconds == 4 * k && slots[f.point[k].slot].seconds == 4 * k);
	plan_front_trim(&f, 8, 1);
	assert_true(f.count == 1 && f.point[0].seconds == 0);
	plan_front_trim(&f, -1, 3);
	assert_int_equal(f.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_and_only_what_none_beats),
	                                   cmocka_unit_test(test_full), cmocka_unit_test(test_trim)};

	return cmocka_run_group_tests_name("plan front", tests, NULL, NULL);
}
