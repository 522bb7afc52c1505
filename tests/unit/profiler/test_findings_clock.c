#include "tests/unit/profiler/judged.h"

#include <stdio.h>

/* compute.frequency and compute.affinity. A step is 1000 us. */

static void add_clock(struct capture *c, int64_t at_us, double mhz)
{
	assert_int_equal(capture_add_clock(c, at_us * 1000, mhz, -1), SB_OK);
}

static struct kernel *product(struct capture *c, const char *name, int64_t at_us, int64_t us)
{
	struct kernel *k = add_kernel(c, name, "MatMul", "AI_CORE", at_us * 1000, us * 1000);

	k->step = 1;
	return k;
}

/* 1710 of 1800 MHz is 5 %; at 1711 it is less. */
static void a_clock_five_percent_low_counts(void **state)
{
	(void)state;
	for (int mhz = 1710; mhz <= 1711; mhz++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

		name_chip(c, "Ascend910B3");
		add_clock(c, 0, mhz);
		product(c, "mm", 0, 800);
		judge(&j);
		const struct finding *f = found(&j, "compute.frequency");

		assert_int_equal(f != NULL, mhz == 1710);
		if (!f)
			continue;
		is_near(evidence_of(f, "downclock_share"), 0.05);
		is_near(evidence_of(f, "expected_clock_mhz"), 1800);
		assert_true(llabs(f->gain_ns - 40000) < 10);
	}
}

/* Idle cores are clocked down: what counts is the time of kernels, and a clock that rises while one runs. */
static void idle_clocks_do_not_count(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

	(void)state;
	name_chip(c, "Ascend910B3");
	add_clock(c, 500, 800);
	add_clock(c, 0, 1800);
	add_clock(c, 905, 1800);
	product(c, "mm", 0, 500);
	product(c, "mm", 900, 100);
	judge(&j);
	assert_null(found(&j, "compute.frequency"));
	assert_false(left_open(&j, "compute.frequency"));
}

/* Without a known chip the highest clock of all ranks is what there could be: 1350 of 1800 on rank 1. */
static void the_best_clock_of_the_job_stands_in_for_the_chips(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = make_rank(&j.p, r, 1, 1000, 0, 0);

		add_clock(c, 0, r == 1 ? 1350 : 1800);
		product(c, "mm", 0, 1000);
	}
	judge(&j);
	const struct finding *f = found(&j, "compute.frequency");

	assert_non_null(f);
	assert_true(f->rank == 1);
	is_near(evidence_of(f, "downclock_share"), 0.25);
}

/* Rank 2 runs every kernel 1.25 times as long as the other three: its clock is a fifth lower. `odd` makes
 * only one of its two kernels longer: that is more work, not a slow device. */
static void ask_ranks(struct judged *j, int ranks, bool odd)
{
	for (int64_t r = 0; r < ranks; r++) {
		struct capture *c = make_rank(&j->p, r, 1, 1000, 0, 0);

		product(c, "a", 0, r == 2 ? 500 : 400);
		product(c, "b", 500, r == 2 && !odd ? 500 : 400);
	}
	judge(j);
}

static void a_device_slower_in_all_kernels_is_named(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO odd = {0};
	JUDGED_AUTO few = {0};

	(void)state;
	ask_ranks(&j, 4, false);
	const struct finding *f = found(&j, "compute.frequency");

	assert_non_null(f);
	assert_true(f->rank == 2 && f->confidence <= CONFIDENCE_MEDIUM);
	is_near(evidence_of(f, "slower_than_other_ranks"), 0.2);
	/* without it the step ends with the other ranks, after 900 of 1000 us */
	assert_true(llabs(f->gain_ns - 100000) < 10);
	ask_ranks(&odd, 4, true);
	assert_null(found(&odd, "compute.frequency"));
	assert_false(left_open(&odd, "compute.frequency"));
	/* of two nobody can say which is slow */
	ask_ranks(&few, 2, false);
	assert_null(found(&few, "compute.frequency"));
	assert_true(left_open(&few, "compute.frequency"));
}

static struct kernel *shaped(struct capture *c, const char *type, const char *in, const char *out, float pipe)
{
	struct kernel *k = add_kernel(c, type, type, "AI_CORE", 0, 400000);

	k->step = 1;
	k->input_shapes = text_id(c, in);
	k->output_shapes = text_id(c, out);
	k->pipe_ratio = pipe;
	return k;
}

/* 8192 x 4100 and 4100 x 4096: 2 x (33587200 + 16793600 + 33554432) bytes are over 100 MB. At ratio 0.6 of
 * 0.8 a quarter of 400 us can be won. */
static void large_products_want_axes_of_256(void **state)
{
	static const struct {
		const char *in, *out;
		bool fires;
	} cases[] = {{"8192,4100;4100,4096", "8192,4096", true},
	             {"8192,4096;4096,4100", "8192,4100", true},
	             {"8192,4096;4096,4096", "8192,4096", false},
	             {"512,4100;4100,4096", "512,4096", false}, /* small */
	             {"bad;4100,4096", "8192,4096", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

		shaped(c, "MatMulV2", cases[i].in, cases[i].out, 0.6F);
		judge(&j);
		const struct finding *f = found(&j, "compute.affinity");

		assert_int_equal(f != NULL, cases[i].fires);
		assert_false(left_open(&j, "compute.affinity"));
		if (!f)
			continue;
		assert_true(llabs(f->gain_ns - 100000) < 10 && !f->portable);
		is_near(evidence_of(f, "products_off_the_inner_axis"), 1);
	}
}

/* ascend-formats 1.2: private formats are cut into blocks already, whatever the axes; the names of the others
 * differ by version. */
static void products_in_private_formats_fit(void **state)
{
	static const struct {
		const char *formats;
		bool fires;
	} cases[] = {{"ND;ND", true},           {"FORMAT_ND;FORMAT_ND", true}, {"NCHW;NCHW", true},
	             {"NULL;NULL", true},       {"ND;FRACTAL_NZ", false},      {"FRACTAL_Z;ND", false},
	             {"NC1HWC0;NC1HWC0", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

		shaped(c, "MatMulV2", "8192,4100;4100,4096", "8192,4096", 0.6F)->input_formats =
		    text_id(c, cases[i].formats);
		judge(&j);
		assert_int_equal(found(&j, "compute.affinity") != NULL, cases[i].fires);
	}
}

static void attention_wants_axes_of_128(void **state)
{
	static const struct {
		const char *q;
		bool fires;
	} cases[] = {{"2,16,4096,128", false},
	             {"2,16,4096,80", true},
	             {"2,16,4000,128", true},
	             {"2,4096,2048", false},
	             {"4000,2,2048", true}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

		shaped(c, "FlashAttentionScore", cases[i].q, cases[i].q, 0.4F);
		judge(&j);
		assert_int_equal(found(&j, "compute.affinity") != NULL, cases[i].fires);
	}
}

/* chunk, silu, mul is SwiGLU; the operators inside of them are not part of the run, and one foreign operator
 * breaks it. */
static void runs_of_calls_that_one_call_does(void **state)
{
	static const char *const run[] = {"aten::chunk", "aten::silu", "aten::mul_"};

	(void)state;
	for (int broken = 0; broken < 2; broken++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);
		uint32_t host = add_lane(c, "Python", "1", -1);

		shaped(c, "MatMulV2", "8,8;8,8", "8,8", 0.9F);
		for (int64_t i = 0; i < 20; i++)
			for (int64_t k = 0; k < 3; k++) {
				int64_t at = i * 30000 + k * 10000;

				add_event(c, host, EVENT_HOST_OP, run[k], at, 5000, -1);
				add_event(c, host, EVENT_HOST_OP, "aten::empty", at + 1000, 1000, -1);
				if (broken && i == 0 && k == 0)
					add_event(c, host, EVENT_HOST_OP, "aten::add", at + 6000, 1000, -1);
			}
		judge(&j);
		const struct finding *f = found(&j, "compute.affinity");

		assert_int_equal(f != NULL, !broken);
		if (!f)
			continue;
		is_near(evidence_of(f, "calls_that_fuse"), 20);
		assert_int_equal(f->severity, SEVERITY_INFO);
		assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL),
		                    "torch_npu.npu_swiglu");
	}
}

/* 60 us of 100 have an operand that a cast would bring onto the AI cores. */
static void aicpu_tells_what_a_cast_would_move(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

	(void)state;
	add_kernel(c, "Mul", "Mul", "AI_CPU", 0, 60000)->input_types = text_id(c, "INT16;INT16");
	add_kernel(c, "Unique2", "Unique2", "AI_CPU", 100000, 40000)->input_types = text_id(c, "FLOAT");
	judge(&j);
	is_near(evidence_of(found(&j, "compute.aicpu"), "aicpu_types_to_cast_us"), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_clock_five_percent_low_counts),
	    cmocka_unit_test(idle_clocks_do_not_count),
	    cmocka_unit_test(the_best_clock_of_the_job_stands_in_for_the_chips),
	    cmocka_unit_test(a_device_slower_in_all_kernels_is_named),
	    cmocka_unit_test(large_products_want_axes_of_256),
	    cmocka_unit_test(products_in_private_formats_fit),
	    cmocka_unit_test(attention_wants_axes_of_128),
	    cmocka_unit_test(runs_of_calls_that_one_call_does),
	    cmocka_unit_test(aicpu_tells_what_a_cast_would_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
