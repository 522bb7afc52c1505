#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "base/search.h"

static void the_first_at_or_after_and_how_many_by_then(void **state)
{
	const int64_t times[] = {10, 20, 20, 20, 30};

	(void)state;
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] < 20), 1);
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] <= 20), 4);
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] < 15), 1);
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] <= 15), 1);
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] < 10), 0);
	assert_int_equal(SB_BISECT(i, 0, 5, times[i] <= 30), 5);
}

/* Every place in every range: no end is skipped, and nothing outside is looked at. */
static void every_place_of_every_range_is_found(void **state)
{
	(void)state;
	for (size_t from = 0; from < 4; from++) {
		for (size_t to = from; to < from + 20; to++) {
			for (size_t place = from; place <= to; place++) {
				size_t at =
				    SB_BISECT(i, from, to, (assert_in_range(i, from, to - 1), i < place));

				assert_int_equal(at, place);
			}
		}
	}
}

static void an_empty_or_inverted_range_gives_its_beginning(void **state)
{
	int asked = 0;

	(void)state;
	assert_int_equal(SB_BISECT(i, 0, 0, ++asked), 0);
	assert_int_equal(SB_BISECT(i, 7, 7, ++asked), 7);
	assert_int_equal(SB_BISECT(i, 7, 3, ++asked), 7);
	assert_int_equal(SB_BISECT(i, 0, -1, ++asked), 0);
	assert_int_equal(asked, 0);
}

static size_t next(size_t *n)
{
	return ++*n;
}

static void the_ends_are_evaluated_once_and_the_condition_seldom(void **state)
{
	size_t from = 2, to = 1000000, asked = 0;
	size_t at = SB_BISECT(i, next(&from), next(&to), (asked++, i < 777777));

	(void)state;
	assert_int_equal(at, 777777);
	assert_int_equal(from, 3);
	assert_int_equal(to, 1000001);
	/* 999,998 in halves: 20 questions at most, for 2^19 < 999,998 < 2^20 */
	assert_in_range(asked, 19, 20);
}

/* No sum of the two ends, which would not fit, and no sign lost. */
static void the_index_has_the_type_of_its_range(void **state)
{
	const uint32_t most = UINT32_MAX;
	uint32_t high = SB_BISECT(i, most - 3, most, i < most - 1);
	int64_t below = SB_BISECT(i, INT64_C(-10), INT64_C(10), i < -4);
	size_t top = SB_BISECT(i, SIZE_MAX - 9, SIZE_MAX, i < SIZE_MAX - 2);

	(void)state;
	assert_true(high == UINT32_MAX - 1);
	assert_int_equal(below, -4);
	assert_true(top == SIZE_MAX - 2);
	assert_int_equal(sizeof(SB_BISECT(i, most - 3, most, i < most)), sizeof(uint32_t));
	assert_int_equal(sizeof(SB_BISECT(i, 0, top, i < top)), sizeof(size_t));
}

static void what_is_not_sorted_still_gives_a_place_of_the_range(void **state)
{
	const double mixed[] = {3, NAN, 1, NAN, 2};
	size_t at = SB_BISECT(i, 0, sizeof(mixed) / sizeof(*mixed), mixed[i] < 2);

	(void)state;
	assert_in_range(at, 0, 5);
}

static void one_search_may_ask_another(void **state)
{
	const int square[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
	/* the first row of which fewer than two are below 6: 1 2 3 has three, 4 5 6 two, 7 8 9 none */
	int row = SB_BISECT(i, 0, 3, square[i][1] < 6 && SB_BISECT(j, 0, 3, square[i][j] < 6) >= 2);

	(void)state;
	assert_int_equal(row, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_at_or_after_and_how_many_by_then),
	    cmocka_unit_test(every_place_of_every_range_is_found),
	    cmocka_unit_test(an_empty_or_inverted_range_gives_its_beginning),
	    cmocka_unit_test(the_ends_are_evaluated_once_and_the_condition_seldom),
	    cmocka_unit_test(the_index_has_the_type_of_its_range),
	    cmocka_unit_test(what_is_not_sorted_still_gives_a_place_of_the_range),
	    cmocka_unit_test(one_search_may_ask_another),
	};

	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
