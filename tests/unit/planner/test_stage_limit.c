#include "planner/pipeline/draft.h"
#include "tests/unit/planner/small_pipelines.h"

/* Does the device fit when a stage of it keeps so much, and the others as little as they can? */
static bool fits(struct drafts *s, int64_t stage, double activation, double parameters)
{
	const struct device *d = &s->devices[s->device[stage]];
	double keeps[SCHEDULE_CHUNKS_MAX], all = parameters;

	for (int64_t k = 0; k < d->chunks; k++) {
		bool own = d->stage[k] == stage;

		keeps[k] = own ? activation : (double)d->least[k] * s->lightest.activation;
		all += own ? 0 : (double)d->least[k] * s->lightest.parameters;
	}
	return device_fits(d, keeps, all);
}

/* What a stage may keep is what just fits in every moment that can be the peak. */
static void the_limit_just_fits(void **state)
{
	static const struct schedule_shape shapes[] = {{SCHEDULE_1F1B, 4, 8, 1, 1},
	                                               {SCHEDULE_INTERLEAVED, 3, 9, 2, 1},
	                                               {SCHEDULE_INTERLEAVED_LESS_MEMORY, 2, 8, 3, 1},
	                                               {SCHEDULE_ZB_V, 3, 6, 2, 1},
	                                               {SCHEDULE_DUALPIPE, 4, 8, 2, 1}};
	struct small x = {.seed = 31};
	int between = 0, none = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		DRAFTS_AUTO s = NULL;

		small_problem(&x, shapes[i % 5]);
		assert_int_equal(drafts_open(&x.p, &s, NULL), SB_OK);
		for (int64_t stage = 0; stage < s->stages; stage++) {
			double parameters = (double)small_pick(&x, 0, 90), most;
			struct stage_limit l;

			assert_int_equal(stage_limit_open(s, stage, &l), SB_OK);
			most = stage_limit(&l, parameters);
			assert_true(stage_limit(&l, parameters + 1) <= most);
			if (most < 0) {
				assert_false(fits(s, stage, 0, parameters));
			} else if (isinf(most)) {
				assert_true(fits(s, stage, 1e9, parameters));
			} else {
				assert_true(fits(s, stage, most * (1 - 1e-6), parameters));
				assert_false(fits(s, stage, most * (1 + 1e-6) + 1e-6, parameters));
				between++;
			}
			none += most < 0;
			stage_limit_free(&l);
		}
	}
	assert_true(between > 200 && none > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_limit_just_fits)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
