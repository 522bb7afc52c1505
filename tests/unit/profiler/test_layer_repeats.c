/* Repetitions in sequences of tokens, against their definition. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "profiler/layers/cut.h"
#include "profiler/layers/repeats.h"

#define TOKENS_MAX 64
#define REPEATS_MAX 2048

static uint64_t seed = 5;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

/* Every first place and period: equal to the token a period on, as long as can be, and not longer to the
 * left. */
static size_t by_definition(const uint64_t *t, size_t n, struct repeat *out)
{
	size_t count = 0;

	for (size_t first = 0; first < n; first++)
		for (size_t p = 1; first + 2 * p <= n; p++) {
			size_t same = 0;
			bool known = first > 0 && t[first - 1] == t[first - 1 + p];

			while (first + same + p < n && t[first + same] == t[first + same + p])
				same++;
			for (size_t i = 0; i < count; i++)
				known |= out[i].first == first && out[i].length == same + p;
			if (same >= p && !known)
				out[count++] =
				    (struct repeat){(uint32_t)first, (uint32_t)(same + p), (uint32_t)p};
		}
	return count;
}

static bool has(const struct repeat *items, size_t n, const struct repeat *r)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].first == r->first && items[i].length == r->length &&
		    items[i].period == r->period)
			return true;
	return false;
}

static void all_repetitions_are_found(void **state)
{
	uint64_t t[TOKENS_MAX];
	static struct repeat expected[REPEATS_MAX];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = pick(TOKENS_MAX), kinds = 1 + pick(4), period = 1 + pick(9), count, found;
		struct repeat *r = NULL;

		for (size_t i = 0; i < n; i++)
			t[i] = i >= period && pick(12) > 0 && round % 2 ? t[i - period] : pick(kinds);
		count = by_definition(t, n, expected);
		assert_int_equal(repeats_find(t, n, &r, &found), SB_OK);
		assert_int_equal(found, count);
		for (size_t i = 0; i < found; i++)
			assert_true(has(expected, count, &r[i]));
		free(r);
	}
}

/* The sum of what tokens weigh, one each. */
static void weigh_equal(double *before, size_t n)
{
	for (size_t i = 0; i <= n; i++)
		before[i] = (double)i;
}

struct expected_body {
	uint32_t first, period, count;
};

static void assert_bodies(const char *text, size_t n, const struct expected_body *expected, size_t count)
{
	uint64_t t[TOKENS_MAX];
	double before[TOKENS_MAX + 1];
	struct layer_bodies b = {0};

	for (size_t i = 0; i < n; i++)
		t[i] = (uint64_t)text[i];
	weigh_equal(before, n);
	assert_int_equal(layer_bodies_find(t, before, 0, n, &b), SB_OK);
	assert_int_equal(b.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(b.items[i].first, expected[i].first);
		assert_int_equal(b.items[i].period, expected[i].period);
		assert_int_equal(b.items[i].count, expected[i].count);
	}
	layer_bodies_free(&b);
}

#define BODIES(text, ...)                                                                                    \
	assert_bodies(text, sizeof(text) - 1, (const struct expected_body[]){__VA_ARGS__},                   \
	              sizeof((const struct expected_body[]){__VA_ARGS__}) / sizeof(struct expected_body))

static void bodies_are_whole_layers(void **state)
{
	(void)state;
	/* a head, four layers, a tail */
	BODIES("xyabcdabcdabcdabcdz", {2, 4, 4});
	/* two types that begin alike (aaab): the second begins where the first has whole layers */
	BODIES("hqkvodqkvodqkvodqkvoerfqkvoerfqkvoerft", {1, 5, 3}, {16, 7, 3});
	/* loops in a layer are no layers */
	BODIES("haeeeebaeeeebaeeeebt", {1, 6, 3});
	/* the last layer differs in its last operator, and is one all the same */
	BODIES("habcdefabcdefabcdext", {1, 6, 3});
	/* a rest of less than half a layer is tail */
	BODIES("habcdefabcdefabt", {1, 6, 2});
}

static void what_is_no_layer(void **state)
{
	struct layer_bodies b = {0};
	const uint64_t t[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6};
	double before[13];

	(void)state;
	weigh_equal(before, 12);
	/* three operators are too few for a layer */
	assert_int_equal(layer_bodies_find(t, before, 0, 12, &b), SB_OK);
	assert_int_equal(b.count, 0);
	layer_bodies_free(&b);
	assert_int_equal(layer_bodies_find(t, before, 5, 5, &b), SB_OK);
	assert_int_equal(b.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_repetitions_are_found),
	    cmocka_unit_test(bodies_are_whole_layers),
	    cmocka_unit_test(what_is_no_layer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
