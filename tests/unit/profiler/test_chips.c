#include "tests/unit/profiler/fixture.h"

#include "profiler/chips.h"

static bool near(double value, double wanted)
{
	return value > wanted * 0.9999 && value < wanted * 1.0001;
}

/* Names of captures: deviceProperties of Kineto, TARGET_INFO_GPU of Nsight Systems, NPU_INFO, info.json. */
static void names_of_captures_find_their_chip(void **state)
{
	static const struct {
		const char *spelled, *chip;
	} cases[] = {
	    {"Ascend910A", "Ascend 910A"},
	    {"Ascend910ProB", "Ascend 910A"},
	    {"Ascend910B", "Ascend 910B"},
	    {"ascend910b3", "Ascend 910B3"},
	    {"Ascend910B2C", "Ascend 910B2"},
	    {"Ascend910B4-1", "Ascend 910B4-1"},
	    {"Ascend910B4", "Ascend 910B4"},
	    {"Ascend910_9382", "Ascend 910C, one die"},
	    {"Tesla V100-SXM2-32GB", "V100"},
	    {"NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB"},
	    {"A100-SXM4-40GB", "A100 40 GB"},
	    {"NVIDIA A100 80GB PCIe", "A100 PCIe 80 GB"},
	    {"NVIDIA A100-PG509-200", "A100 40 GB"},
	    {"NVIDIA H100 80GB HBM3", "H100 SXM"},
	    {"NVIDIA H100 PCIe", "H100 PCIe"},
	    {"NVIDIA H100 NVL", "H100 NVL"},
	    {"NVIDIA H200", "H200 SXM"},
	    {"AMD Instinct MI250X", "MI250X, one die"},
	    {"AMD Instinct MI250", "MI250, one die"},
	    {"AMD Instinct MI300X VF", "MI300X"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct chip *c = chip_find(cases[i].spelled);

		assert_non_null(c);
		assert_string_equal(c->name, cases[i].chip);
	}
}

static void unknown_names_find_none(void **state)
{
	static const char *const names[] = {"",    "NVIDIA", "NVIDIA ", "Ascend910",    "Radeon VII",
	                                    "A10", "gfx942", "XA100",   "AMD Instinct "};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_null(chip_find(names[i]));
	assert_true(isnan(chip_peak(NULL, PRECISION_FP16)));
	assert_true(isnan(chip_link_rate(NULL, "HCCS")));
}

/* Research pages analyses 8 (H100 SXM 989, A100 312, MI300X 1307, V100 125: dense), hermes-paper 9 (910A
 * 256), advisor-rules 2.3 (links). */
static void numbers_are_those_of_the_research(void **state)
{
	(void)state;
	assert_true(near(chip_peak(chip_find("NVIDIA H100 80GB HBM3"), PRECISION_FP16), 989.4e12));
	assert_true(near(chip_peak(chip_find("NVIDIA A100-SXM4-80GB"), PRECISION_FP16), 312e12));
	assert_true(near(chip_peak(chip_find("MI300X"), PRECISION_FP16), 1307.4e12));
	assert_true(near(chip_peak(chip_find("Tesla V100-DGXS-32GB"), PRECISION_FP16), 125e12));
	assert_true(near(chip_peak(chip_find("Ascend910A"), PRECISION_FP16), 256e12));
	assert_true(isnan(chip_peak(chip_find("Ascend910A"), PRECISION_FP32)));
	assert_true(near(chip_link_rate(chip_find("Ascend910A"), "HCCS"), 18e9));
	assert_true(near(chip_link_rate(chip_find("Ascend910A"), "PCIE"), 20e9));
	assert_true(near(chip_link_rate(chip_find("Ascend910B1"), "HCCS"), 28e9));
	assert_true(near(chip_link_rate(chip_find("Ascend910B"), "RDMA"), 25e9));
	assert_true(isnan(chip_link_rate(chip_find("Ascend910B"), "SIO")));
	assert_true(near(chip_link(chip_find("Ascend910B"), "RDMA")->large_packet_bytes, 0.5e6));
	assert_null(chip_link(chip_find("NVIDIA H100 80GB HBM3"), "HCCS"));
}

/* A card on a PCIe board is slower than the module of the same name. */
static void boards_are_slower_than_modules(void **state)
{
	const struct chip *board = chip_find("NVIDIA H100 PCIe"),
	                  *module = chip_find("NVIDIA H100 80GB HBM3");

	(void)state;
	for (int p = PRECISION_FP16; p < PRECISION_COUNT; p++)
		assert_true(chip_peak(board, (enum precision)p) < chip_peak(module, (enum precision)p));
	assert_true(board->memory_bytes_per_second < module->memory_bytes_per_second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_captures_find_their_chip),
	    cmocka_unit_test(unknown_names_find_none),
	    cmocka_unit_test(numbers_are_those_of_the_research),
	    cmocka_unit_test(boards_are_slower_than_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
