#include "tests/unit/profiler/fixture.h"

#include "profiler/intervals.h"

static void fill(struct interval_set *s, const int64_t (*pairs)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(intervals_add(s, pairs[i][0], pairs[i][1]), SB_OK);
	intervals_normalise(s);
}

static void a_set_is_sorted_and_disjoint(void **state)
{
	static const int64_t pairs[][2] = {{50, 60}, {10, 20}, {20, 25}, {15, 18},
	                                   {70, 70}, {80, 75}, {55, 58}};
	INTERVALS_AUTO s = {0};

	(void)state;
	fill(&s, pairs, 7);
	assert_int_equal(s.count, 2);
	assert_true(s.items[0].start == 10 && s.items[0].end == 25);
	assert_true(s.items[1].start == 50 && s.items[1].end == 60);
	assert_true(intervals_total(&s) == 25);
}

/* [10, 20) and [30, 35): what begins before a time, what ends by it, and how much is covered. */
static void a_set_is_asked_for_times(void **state)
{
	static const int64_t pairs[][2] = {{10, 20}, {30, 35}};
	INTERVALS_AUTO s = {0};
	COVERED_AUTO c = {0};

	(void)state;
	fill(&s, pairs, 2);
	assert_int_equal(intervals_begun(&s, 10), 0);
	assert_int_equal(intervals_begun(&s, 11), 1);
	assert_int_equal(intervals_begun(&s, INT64_MAX), 2);
	assert_int_equal(intervals_ended(&s, 19), 0);
	assert_int_equal(intervals_ended(&s, 20), 1);
	assert_int_equal(intervals_ended(&s, INT64_MAX), 2);
	assert_int_equal(covered_of(&s, &c), SB_OK);
	assert_null(s.items);
	assert_int_equal(covered_ns(&c, 0, 10), 0);
	assert_int_equal(covered_ns(&c, 15, 32), 7);
	assert_int_equal(covered_ns(&c, 12, 18), 6);
	assert_int_equal(covered_ns(&c, INT64_MIN, INT64_MAX), 15);
}

static void nothing_is_a_set_too(void **state)
{
	INTERVALS_AUTO none = {0};
	INTERVALS_AUTO u = {0};

	(void)state;
	intervals_normalise(&none);
	assert_true(intervals_total(&none) == 0);
	assert_int_equal(intervals_union(&none, &none, &u), SB_OK);
	assert_int_equal(u.count, 0);
	assert_true(intervals_common(&none, &u) == 0);
}

static void two_sets_meet_where_both_are(void **state)
{
	static const int64_t a[][2] = {{0, 10}, {20, 30}, {40, 50}}, b[][2] = {{5, 25}, {28, 29}, {50, 60}};
	INTERVALS_AUTO x = {0};
	INTERVALS_AUTO y = {0};
	INTERVALS_AUTO u = {0};
	INTERVALS_AUTO rest = {0};

	(void)state;
	fill(&x, a, 3);
	fill(&y, b, 3);
	assert_true(intervals_common(&x, &y) == 5 + 5 + 1);
	assert_int_equal(intervals_union(&x, &y, &u), SB_OK);
	assert_int_equal(u.count, 2);
	assert_true(u.items[0].end == 30 && u.items[1].start == 40 && u.items[1].end == 60);
	assert_int_equal(intervals_difference(&x, &y, &rest), SB_OK);
	/* [0,5) [25,28) [29,30) [40,50) */
	assert_int_equal(rest.count, 4);
	assert_true(rest.items[1].start == 25 && rest.items[2].end == 30);
	assert_true(intervals_total(&rest) == 19);
}

static void times_at_the_edge_of_int64_do_not_overflow(void **state)
{
	INTERVALS_AUTO s = {0};

	(void)state;
	assert_int_equal(intervals_add(&s, INT64_MIN, INT64_MAX), SB_OK);
	assert_true(intervals_total(&s) == INT64_MAX - 1);
	assert_true(interval_end(INT64_MAX, INT64_MAX) == interval_bound(INT64_MAX));
}

/* Against a bitmap, which cannot be wrong in the same way. */
static void random_sets_agree_with_a_bitmap(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		INTERVALS_AUTO x = {0};
		INTERVALS_AUTO y = {0};
		INTERVALS_AUTO u = {0};
		INTERVALS_AUTO d = {0};
		unsigned bits[100 + 12] = {0};
		int64_t in_both = 0, in_any = 0, in_first = 0;

		for (int i = 0; i < 16; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			int64_t start = (int64_t)((seed >> 33) % 100), len = (int64_t)((seed >> 45) % 12);

			assert_int_equal(intervals_add(i % 2 ? &x : &y, start, start + len), SB_OK);
			for (int64_t t = start; t < start + len; t++)
				bits[t] |= i % 2 ? 1 : 2;
		}
		intervals_normalise(&x);
		intervals_normalise(&y);
		for (size_t t = 0; t < sizeof(bits) / sizeof(bits[0]); t++) {
			in_both += bits[t] == 3;
			in_any += bits[t] != 0;
			in_first += bits[t] == 1;
		}
		assert_int_equal(intervals_union(&x, &y, &u), SB_OK);
		assert_int_equal(intervals_difference(&x, &y, &d), SB_OK);
		assert_true(intervals_common(&x, &y) == in_both);
		assert_true(intervals_total(&u) == in_any);
		assert_true(intervals_total(&d) == in_first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_set_is_sorted_and_disjoint),
	    cmocka_unit_test(a_set_is_asked_for_times),
	    cmocka_unit_test(nothing_is_a_set_too),
	    cmocka_unit_test(two_sets_meet_where_both_are),
	    cmocka_unit_test(times_at_the_edge_of_int64_do_not_overflow),
	    cmocka_unit_test(random_sets_agree_with_a_bitmap),
	};

	return cmocka_run_group_tests_name("intervals", tests, NULL, NULL);
}
