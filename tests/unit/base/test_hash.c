#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/strings.h"

static void seeds_differ(void **state)
{
	(void)state;
	assert_true(sb_hash_seed() != 0);
	assert_true(sb_hash_seed() != sb_hash_seed());
}

static void every_bit_counts(void **state)
{
	char text[24] = "the same twenty bytes  ";
	uint64_t seed = sb_hash_seed(), h = sb_hash_bytes(text, 20, seed);

	(void)state;
	assert_true(sb_hash_bytes(text, 20, seed) == h);
	assert_true(sb_hash_bytes(text, 19, seed) != h);
	for (int bit = 0; bit < 160; bit++) {
		text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
		assert_true(sb_hash_bytes(text, 20, seed) != h);
		text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
	}
}

/* A hash that multiplies and shifts lets the top bit of a word meet bits of the next one, whatever its seed
 * is: 2^k texts of k such pairs would all have one hash. */
static void texts_cannot_be_made_to_collide(void **state)
{
	enum { PAIRS = 17 };
	SB_STRINGS_AUTO s = NULL;
	char text[16 * PAIRS];
	clock_t begin = clock();
	uint32_t id;

	(void)state;
	assert_int_equal(sb_strings_new(&s), SB_OK);
	for (uint32_t i = 0; i < 1u << PAIRS; i++) {
		memset(text, 'a', sizeof(text));
		for (uint32_t p = 0; p < PAIRS; p++) {
			char flip = (char)(i >> p & 1 ? 0x80 : 0);

			text[16 * p + 7] = (char)(text[16 * p + 7] ^ flip);
			text[16 * p + 11] = (char)(text[16 * p + 11] ^ flip);
			text[16 * p + 15] = (char)(text[16 * p + 15] ^ flip);
		}
		assert_int_equal(sb_strings_add(s, text, sizeof(text), &id), SB_OK);
		assert_int_equal(id, i + 1);
	}
	/* each with each other would take minutes */
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(seeds_differ),
	    cmocka_unit_test(every_bit_counts),
	    cmocka_unit_test(texts_cannot_be_made_to_collide),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
