/* The two sources of an Ascend breakdown on the real captures of $SIGNALBOX_SHARED: the union of the rows of
 * kernel_details.csv and the lanes "Computing" and "Communication" of the timeline agree to 0.03 us. */
#include "tests/field/bundle.h"

#include "profiler/breakdown.h"

#define AGREE_NS 30

static void compute(const struct profile *p, struct breakdown *out)
{
	struct warnings w = {0};

	assert_int_equal(breakdown_compute(p, &w, out, NULL), SB_OK);
	free(w.items);
}

static void expect_near(int64_t a, int64_t b)
{
	int64_t apart = a < b ? b - a : a - b;

	if (a <= 0 || apart > AGREE_NS)
		fail_msg("%lld and %lld ns", (long long)a, (long long)b);
}

static void kernels_and_lanes_agree(void **state)
{
	static const struct {
		const char *bundle, *folder;
	} CASES[] = {{"samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz", ""},
	             {"samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz", "level0/"},
	             {"samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz", "level2/"}};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO lanes = {0};
		BREAKDOWN_AUTO kernels = {0};

		read_members(CASES[i].bundle, CASES[i].folder, 11, &p);
		assert_int_equal(p.count, 2);
		compute(&p, &lanes);
		/* without a timeline and the table of steps only the kernels are left */
		for (size_t k = 0; k < p.count; k++) {
			p.captures[k].trace.count = 0;
			p.captures[k].step_trace_count = 0;
		}
		compute(&p, &kernels);
		assert_int_equal(lanes.count, 4);
		assert_int_equal(kernels.count, 4);
		for (size_t k = 0; k < 4; k++) {
			assert_true(kernels.rows[k].rank == lanes.rows[k].rank &&
			            kernels.rows[k].step == lanes.rows[k].step);
			expect_near(lanes.rows[k].compute_ns, kernels.rows[k].compute_ns);
			expect_near(lanes.rows[k].communication_ns, kernels.rows[k].communication_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_and_lanes_agree)};

	return cmocka_run_group_tests_name("kernels and lanes", tests, NULL, NULL);
}
