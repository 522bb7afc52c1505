#include "tests/unit/profiler/judged.h"

/* What is left open, and what would answer it. */

/* Settings of PyTorch's profiler are no settings of Nsight Systems. */
static void what_is_needed_speaks_of_the_profiler_in_use(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_NSYS, 0);
	uint32_t stream = add_lane(c, "gpu", "stream 7", 0);
	size_t seen = 0;

	(void)state;
	add_event(c, stream, EVENT_KERNEL, "gemm", 0, 50000, -1);
	judge(&j);
	for (size_t i = 0; i < j.a.not_evaluated_count; i++) {
		const char *needs = j.a.not_evaluated[i].needs;

		assert_null(strstr(needs, "with_stack"));
		assert_null(strstr(needs, "Kineto"));
		if (strcmp(j.a.not_evaluated[i].code, "io.loading") == 0 ||
		    strcmp(j.a.not_evaluated[i].code, "cpu.synchronization") == 0) {
			assert_non_null(strstr(needs, "nsys profile"));
			seen++;
		}
	}
	assert_int_equal(seen, 2);
}

/* A trace of the host alone: what would show the device is named. */
static void an_open_question_names_the_setting(void **state)
{
	static const char *const codes[] = {"parallel.poor_overlap", "io.fetching", "cpu.dispatch",
	                                    "cpu.host_bound"};
	static const struct {
		enum capture_format format;
		const char *setting;
	} profilers[] = {{FORMAT_KINETO, "ProfilerActivity.CUDA"},
	                 {FORMAT_ASCEND_TEXT, "ProfilerActivity.NPU"},
	                 {FORMAT_NSYS, "nsys profile --trace=cuda"}};

	(void)state;
	for (size_t p = 0; p < 3; p++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_capture(&j.p, profilers[p].format, 0);
		size_t seen = 0;

		add_event(c, add_lane(c, "python", "1", -1), EVENT_HOST_OP, "aten::mm", 0, 50, -1);
		judge(&j);
		for (size_t i = 0; i < j.a.not_evaluated_count; i++)
			for (size_t k = 0; k < 4; k++)
				if (strcmp(j.a.not_evaluated[i].code, codes[k]) == 0) {
					assert_non_null(
					    strstr(j.a.not_evaluated[i].needs, profilers[p].setting));
					seen++;
				}
		assert_int_equal(seen, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_needed_speaks_of_the_profiler_in_use),
	    cmocka_unit_test(an_open_question_names_the_setting),
	};

	return cmocka_run_group_tests_name("needs", tests, NULL, NULL);
}
