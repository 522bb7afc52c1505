#include "tests/unit/profiler/judged.h"

#include <stdio.h>

#include "profiler/findings/links.h"

/* Computation and communication: what is judged by kernels and transfers. A step is 1000 us. */

/* One rank of one step, with a kernel of `us` on a core; pipe NaN = no counters. */
static struct kernel *kernel_of(struct capture *c, const char *type, const char *core, int64_t at_us,
                                int64_t us, float pipe)
{
	struct kernel *k = add_kernel(c, type, type, core, at_us * 1000, us * 1000);

	k->step = 1;
	k->pipe_ratio = pipe;
	return k;
}

static void idle_pipes_are_underutilized(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO fine = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

	(void)state;
	kernel_of(c, "MatMul", "AI_CORE", 0, 800, 0.95F);
	kernel_of(c, "Add", "AI_VECTOR_CORE", 800, 200, 0.4F);
	judge(&j);
	const struct finding *f = found(&j, "compute.underutilized");

	is_near(evidence_of(f, "underutilized_share_of_compute"), 0.2);
	/* at ratio 0.8 the 200 us would take 100 */
	assert_true(f->gain_ns > 99990 && f->gain_ns < 100010);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL), "Add");
	is_near(f->operator_us[0], 200);
	c = make_rank(&fine.p, 0, 1, 1000, 0, 0);
	kernel_of(c, "MatMul", "AI_CORE", 0, 801, 0.81F);
	kernel_of(c, "Add", "AI_VECTOR_CORE", 801, 199, 0.8F); /* at the limit, but under 20 % of compute */
	judge(&fine);
	assert_null(found(&fine, "compute.underutilized"));
	assert_false(left_open(&fine, "compute.underutilized"));
}

static void without_counters_utilisation_is_left_open(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

	(void)state;
	kernel_of(c, "MatMul", "AI_CORE", 0, 1000, NAN);
	judge(&j);
	assert_true(left_open(&j, "compute.underutilized"));
	assert_false(left_open(&j, "compute.aicpu"));
}

static void aicpu_counts_from_twenty_us_and_costs_what_shows(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

	(void)state;
	kernel_of(c, "MatMul", "AI_CORE", 0, 500, 0.9F);
	kernel_of(c, "NonZero", "AI_CPU", 480, 60, NAN); /* 20 of it under the MatMul */
	judge(&j);
	const struct finding *f = found(&j, "compute.aicpu");

	assert_non_null(f);
	is_near(f->share_of_step, 0.04);
	assert_true(f->gain_ns == 40000 && !f->portable);
	is_near(evidence_of(f, "longest_aicpu_us"), 60);
	c = make_rank(&near.p, 0, 1, 1000, 0, 0);
	kernel_of(c, "NonZero", "AI_CPU", 0, 19, NAN);
	kernel_of(c, "NonZero", "AI_CPU", 50, 19, NAN);
	judge(&near);
	assert_null(found(&near, "compute.aicpu"));
}

static void format_conversion_counts_from_five_percent_of_compute(void **state)
{
	(void)state;
	for (int64_t us = 49; us <= 50; us++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 1000, 0, 0);

		kernel_of(c, "TransData", "AI_VECTOR_CORE", 0, us, NAN);
		kernel_of(c, "MatMul", "AI_CORE", 100, 1000 - us, NAN);
		/* other layouts that the model asked for, and communication, are left alone */
		kernel_of(c, "hcom_allReduce_", "HCCL", 0, 900, NAN)->communication = true;
		judge(&j);
		const struct finding *f = found(&j, "compute.format_conversion");

		assert_int_equal(f != NULL, us == 50);
		if (!f)
			continue;
		is_near(f->share_of_step, 0.05);
		is_near(evidence_of(f, "conversions"), 1);
		assert_int_equal(f->severity, SEVERITY_WARNING);
	}
}

/* Exposed communication of 400 us and one operator of it. */
static struct communication_op *make_transfer(struct profile *p, int64_t rank, double transit, double wait)
{
	struct capture *c = make_rank(p, rank, 1, 600, 500, 1000);

	return add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, transit, wait);
}

static void packets_under_the_size_of_their_link_are_small(void **state)
{
	/* shares of large packets: 3 of 4 is under 0.8, 4 of 5 is not; at 32 MB itself a packet is small */
	static const struct {
		int64_t bytes, large, small;
		bool fires;
	} cases[] = {{32000001, 3, 1, true}, {32000001, 4, 1, false}, {32000000, 4, 0, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};
		struct communication_op *op = make_transfer(&j.p, 0, 150, 0);
		struct link *hccs = add_link(op, "HCCS", 100000000, 900);

		add_packet(hccs, cases[i].bytes, cases[i].large, 800);
		if (cases[i].small)
			add_packet(hccs, 1024, cases[i].small, 100);
		add_link(op, "SDMA", 100000000, 900);
		judge(&j);
		const struct finding *f = found(&j, "communication.small_packets");

		assert_int_equal(f != NULL, cases[i].fires);
		if (!f)
			continue;
		/* one step; 3 of 4 is close to 0.8 besides */
		assert_int_equal(f->confidence, i == 0 ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
		if (i == 0) {
			/* 96 MB fit no three packets of 32 MB: fused as far as it goes there would be four
			 * again */
			is_near(f->share_of_step, 0);
			assert_true(f->gain_ns == 0);
			continue;
		}
		/* of one size alone, on an unknown chip: all of it is at stake, and nobody knows how much of
		 * it
		 */
		is_near(f->share_of_step, 0.15);
		assert_true(f->gain_ns == SB_NULL && isnan(f->speedup) && f->gain_method == NULL);
	}
}

static void a_known_chip_decides_by_its_links_rate(void **state)
{
	JUDGED_AUTO used = {0};
	JUDGED_AUTO slow = {0};
	struct communication_op *op = make_transfer(&used.p, 0, 150, 0);
	struct link *hccs = add_link(op, "HCCS", 22400000, 1000); /* 22.4 GB/s = 0.8 of 28 */

	(void)state;
	add_packet(hccs, 1048576, 20, 1000);
	(void)snprintf(used.p.captures[0].chip, sizeof(used.p.captures[0].chip), "Ascend910B");
	judge(&used);
	assert_null(found(&used, "communication.small_packets"));
	assert_false(left_open(&used, "communication.slow_link"));
	assert_null(found(&used, "communication.slow_link"));
	/* large packets at 14 GB/s = half the rate: the link */
	op = make_transfer(&slow.p, 0, 150, 0);
	hccs = add_link(op, "HCCS", 14000000, 1000);
	add_packet(hccs, 40000000, 1, 1000);
	(void)snprintf(slow.p.captures[0].chip, sizeof(slow.p.captures[0].chip), "Ascend910B2");
	judge(&slow);
	is_near(evidence_of(found(&slow, "communication.slow_link"), "link_utilization"), 0.5);
	assert_null(found(&slow, "communication.small_packets"));
}

static void sizes_off_512_bytes_are_misaligned(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO fine = {0};
	struct communication_op *op = make_transfer(&j.p, 0, 100, 0);
	struct link *link = add_link(op, "HCCS", 100000000, 1000);

	(void)state;
	add_packet(link, 1937312, 2, 300); /* 512 x 3783.8125 */
	add_packet(link, 1024, 4, 700);
	judge(&j);
	const struct finding *f = found(&j, "communication.alignment");

	is_near(evidence_of(f, "misaligned_us"), 300);
	is_near(evidence_of(f, "misaligned_packets"), 2);
	is_near(evidence_of(f, "misaligned_share_of_transmission"), 0.3);
	/* 0.3 of the operator's transmission of 100 us */
	is_near(f->share_of_step, 0.03);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL), "hcom_allReduce__1_0_1");
	is_near(f->operator_us[0], 300);
	assert_true(!f->portable && f->gain_ns == SB_NULL);
	/* 512 and less, PCIe and RDMA do not matter */
	op = make_transfer(&fine.p, 0, 100, 0);
	link = add_link(op, "HCCS", 1000, 10);
	add_packet(link, 100, 4, 300);
	add_packet(link, 512, 4, 300);
	add_packet(link, 1024, 4, 300);
	link = add_link(op, "PCIE", 1000, 10);
	add_packet(link, 1000, 4, 300);
	link = add_link(op, "RDMA", 1000, 10);
	add_packet(link, 1000, 4, 300);
	judge(&fine);
	assert_null(found(&fine, "communication.alignment"));
	assert_false(left_open(&fine, "communication.alignment"));
}

/* ascend-formats 1.9: SDMA is the sum of three links, and counts only where none of them tells anything. Of
 * the 110 us of transmission HCCS takes 1000 of 1100 parts, and RDMA nothing. */
static void the_sum_of_links_is_no_link(void **state)
{
	PROFILE_AUTO p = {0};
	const struct check_context ctx = {.t = &THRESHOLDS_DEFAULT};
	struct communication_op *op = make_transfer(&p, 0, 110, 0);
	struct link_sum s;

	(void)state;
	add_link(op, "SDMA", 110000000, 1100);
	s = link_sum_of(&ctx, &p.captures[0], "SDMA");
	is_near(s.transit_us, 110);
	is_near(s.bytes, 110000000);
	add_link(op, "HCCS", 100000000, 1000);
	add_link(op, "PCIE", 10000000, 100);
	add_link(op, "RDMA", 0, 0);
	s = link_sum_of(&ctx, &p.captures[0], "SDMA");
	assert_true(s.bytes == 0 && s.transit_us == 0);
	is_near(link_sum_of(&ctx, &p.captures[0], "HCCS").transit_us, 100);
	is_near(link_sum_of(&ctx, &p.captures[0], "PCIE").transit_us, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(idle_pipes_are_underutilized),
	    cmocka_unit_test(without_counters_utilisation_is_left_open),
	    cmocka_unit_test(aicpu_counts_from_twenty_us_and_costs_what_shows),
	    cmocka_unit_test(format_conversion_counts_from_five_percent_of_compute),
	    cmocka_unit_test(packets_under_the_size_of_their_link_are_small),
	    cmocka_unit_test(a_known_chip_decides_by_its_links_rate),
	    cmocka_unit_test(sizes_off_512_bytes_are_misaligned),
	    cmocka_unit_test(the_sum_of_links_is_no_link),
	};

	return cmocka_run_group_tests_name("findings of the device", tests, NULL, NULL);
}
