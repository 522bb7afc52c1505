/* What must not change the answers of a Kineto sample of $SIGNALBOX_SHARED: the order of its events, its
 * name, compression in one member or two, the unit of display (report HTA#89, #92, #113). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/field/same.h"

static void check_orders(const char *name, const struct text *t, const struct answer *a, uint64_t *seed)
{
	struct places p = find_events(t);

	for (int i = 0; i < 2; i++) {
		ANSWER_AUTO b = {0};
		struct text s = shuffled(t, &p, seed);
		char where[256];

		snprintf(where, sizeof(where), "%.200s shuffled", name);
		ask("sample", s.data, s.len, &b);
		free(s.data);
		same_answers(where, a, &b);
		same(where, "warnings", (int64_t)b.p.warnings.count, (int64_t)a->p.warnings.count);
	}
	free(p.items);
}

static void test_same_answers(void **state)
{
	uint64_t seed;

	(void)state;
	free(shared_path("samples/kineto"));
	seed = seed_of_run();
	for (size_t i = 0; i < KINETO_SAMPLE_COUNT; i++) {
		struct text t = load("samples/kineto", KINETO_SAMPLES[i]);
		ANSWER_AUTO a = {0};

		/* the name tells the rank where the file does not: one that does not either */
		ask("sample", t.data, t.len, &a);
		check_orders(KINETO_SAMPLES[i], &t, &a, &seed);
		check_dress(KINETO_SAMPLES[i], &t, &a, &seed);
		free(t.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_answers)};

	return cmocka_run_group_tests_name("kineto metamorphic", tests, NULL, NULL);
}
