#include <stdio.h>

#include "tests/unit/profiler/fixture.h"

#include "profiler/advice.h"
#include "profiler/analysis.h"

/* The codes of the API contract. */
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
                                    "moe.all_to_all",
                                    "unexplained"};

static void every_code_has_advice_that_can_be_done(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
		const struct advice *a = advice_for(CODES[i]);

		assert_non_null(a);
		assert_string_equal(a->code, CODES[i]);
		assert_true(a->title && *a->title && a->source && *a->source);
		assert_true(a->check && *a->check && a->cost && *a->cost);
		assert_non_null(a->actions[0].summary);
		for (size_t k = 0; k < ADVICE_ACTIONS_MAX && a->actions[k].summary; k++) {
			assert_non_null(a->actions[k].settings[0].software);
			for (size_t n = 0; n < ADVICE_SETTINGS_MAX; n++) {
				const struct advice_setting *x = &a->actions[k].settings[n];

				/* all of it, or nothing */
				assert_true((x->software != NULL) == (x->how != NULL));
				assert_true((x->software != NULL) == (x->only != 0));
			}
		}
	}
}

/* Words of one vendor's software in the advice for another's hardware would be untrue. */
static void advice_speaks_of_the_hardware_at_hand(void **state)
{
	static const struct {
		enum platform platform;
		const char *words[13];
	} foreign[] = {{PLATFORM_NVIDIA,
	                {"torch_npu", "npu-smi", "NPU", "ASCEND", "MindSpore", "HCCL", "CANN", "AICPU",
	                 "ROCm", "rocm", "HIP", "RCCL"}},
	               {PLATFORM_AMD,
	                {"torch_npu", "npu-smi", "NPU", "ASCEND", "MindSpore", "HCCL", "CANN", "AICPU",
	                 "nvidia-smi", "CUDA_", "NVLink"}},
	               {PLATFORM_ASCEND,
	                {"nvidia", "torch.cuda", "CUDA", "NCCL", "ROCm", "rocm", "HIP", "xGMI", "NVLink"}}};

	(void)state;
	for (size_t p = 0; p < sizeof(foreign) / sizeof(foreign[0]); p++) {
		for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
			const struct advice *a = advice_for(CODES[i]);
			size_t held = 0;

			for (size_t k = 0; k < ADVICE_ACTIONS_MAX && a->actions[k].summary; k++) {
				held += advice_holds(&a->actions[k], foreign[p].platform);
				for (size_t n = 0; n < ADVICE_SETTINGS_MAX; n++) {
					const struct advice_setting *x = &a->actions[k].settings[n];

					for (size_t w = 0; w < 13 && foreign[p].words[w]; w++)
						if (advice_setting_holds(x, foreign[p].platform))
							assert_null(strstr(x->how, foreign[p].words[w]));
				}
			}
			/* GPUs have neither an AICPU nor private formats */
			if (strcmp(CODES[i], "compute.aicpu") != 0 &&
			    strcmp(CODES[i], "compute.affinity") != 0 &&
			    strcmp(CODES[i], "compute.format_conversion") != 0)
				assert_true(held > 0);
			else
				assert_int_equal(held > 0, foreign[p].platform == PLATFORM_ASCEND);
		}
	}
}

static void the_hardware_is_known_by_format_and_chip(void **state)
{
	static const struct {
		const char *chip;
		enum capture_format format;
		enum platform want;
	} cases[] = {{"NVIDIA H100 80GB HBM3", FORMAT_KINETO, PLATFORM_NVIDIA},
	             {"Tesla V100-SXM2-16GB", FORMAT_KINETO, PLATFORM_NVIDIA},
	             {"", FORMAT_KINETO, PLATFORM_NVIDIA},
	             {"AMD Instinct MI300X", FORMAT_KINETO, PLATFORM_AMD},
	             {"Radeon RX 7900 XTX", FORMAT_KINETO, PLATFORM_AMD},
	             {"", FORMAT_ASCEND_TEXT, PLATFORM_ASCEND}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct capture c = {.format = cases[i].format};
		struct profile p = {.captures = &c, .count = 1};

		snprintf(c.chip, sizeof(c.chip), "%s", cases[i].chip);
		assert_int_equal(profile_platform(&p), cases[i].want);
	}
}

static void an_unknown_code_has_none(void **state)
{
	(void)state;
	assert_null(advice_for("cpu.nothing"));
	assert_null(advice_for(""));
	assert_null(advice_for("io"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_has_advice_that_can_be_done),
	    cmocka_unit_test(advice_speaks_of_the_hardware_at_hand),
	    cmocka_unit_test(the_hardware_is_known_by_format_and_chip),
	    cmocka_unit_test(an_unknown_code_has_none),
	};

	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
