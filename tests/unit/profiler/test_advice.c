#include "tests/unit/profiler/fixture.h"

#include "profiler/analysis.h"

/* The codes of the API contract, "unexplained" left out. */
static const char *const CODES[] = {"parallel.poor_overlap",
                                    "parallel.pipeline_bubble",
                                    "io.reading",
                                    "io.processing",
                                    "io.fetching",
                                    "io.loading",
                                    "cpu.host_bound",
                                    "cpu.compilation",
                                    "cpu.dispatch",
                                    "cpu.synchronization",
                                    "cpu.garbage_collection",
                                    "cpu.contention",
                                    "cpu.environment",
                                    "compute.frequency",
                                    "compute.memory_bound",
                                    "compute.underutilized",
                                    "compute.aicpu",
                                    "compute.affinity",
                                    "compute.format_conversion",
                                    "communication.slow_rank",
                                    "communication.slow_link",
                                    "communication.contention",
                                    "communication.retransmission",
                                    "communication.small_packets",
                                    "communication.alignment",
                                    "communication.configuration",
                                    "memory.allocation",
                                    "moe.imbalance",
                                    "moe.all_to_all"};

static void every_code_has_advice_that_can_be_done(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
		const struct advice *a = advice_for(CODES[i]);

		assert_non_null(a);
		assert_string_equal(a->code, CODES[i]);
		assert_true(a->title && *a->title && a->source && *a->source);
		assert_in_range(a->action_count, 1, ADVICE_ACTIONS_MAX);
		for (size_t k = 0; k < ADVICE_ACTIONS_MAX; k++) {
			bool there = k < a->action_count;

			/* the count and the table agree */
			assert_int_equal(a->actions[k].summary != NULL, there);
			assert_int_equal(a->actions[k].how != NULL, there);
		}
	}
}

static void the_unexplained_has_none(void **state)
{
	(void)state;
	assert_null(advice_for("unexplained"));
	assert_null(advice_for(""));
	assert_null(advice_for("io"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_has_advice_that_can_be_done),
	    cmocka_unit_test(the_unexplained_has_none),
	};

	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
