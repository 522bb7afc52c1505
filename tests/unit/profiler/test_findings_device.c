#include "tests/unit/profiler/judged.h"

#include <stdio.h>

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
		is_near(f->share_of_step, 0.15);
		/* one step; 3 of 4 is close to 0.8 besides */
		assert_int_equal(f->confidence, i == 0 ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
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

/* Ranks with one operator a step: transmission and wait of each rank, us. */
static void make_domain(struct profile *p, size_t ranks, const double *transit, const double *wait,
                        int64_t steps)
{
	for (size_t r = 0; r < ranks; r++) {
		struct capture *c = make_rank(p, (int64_t)r, steps, 600, 300, 1000);

		for (int64_t s = 1; s <= steps; s++)
			add_communication(c, s, "hcom_allReduce__1_0_1", "77", 700, transit[r], wait[r]);
	}
}

static void a_rank_that_transmits_longest_is_slow(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	static const double even[] = {0, 0}, transit[] = {50, 100}, close[] = {60, 100};

	(void)state;
	/* R_wait = 1 - 75/100 = 0.25; the msprof rule sees no wait at all: the two do not agree */
	make_domain(&j.p, 2, transit, even, 3);
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	is_near(evidence_of(f, "r_wait"), 0.25);
	assert_true(f->rank == 1);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	assert_int_equal(f->severity, SEVERITY_INFO);
	/* 1 - 80/100 = 0.2 is not over the limit */
	make_domain(&near.p, 2, close, even, 3);
	judge(&near);
	assert_null(found(&near, "communication.slow_rank"));
}

static void the_two_rules_together_are_sure(void **state)
{
	JUDGED_AUTO j = {0};
	static const double transit[] = {50, 50, 100}, wait[] = {100, 100, 0};

	(void)state;
	make_domain(&j.p, 3, transit, wait, 3);
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 2);
	assert_int_equal(f->confidence, CONFIDENCE_HIGH);
	/* of 100 us a step, R_wait = 1 - 200/300 is lost */
	is_near(evidence_of(f, "r_wait"), 1.0 / 3);
	assert_true(f->gain_ns == 33333);
	is_near(evidence_of(f, "steps_that_agree"), 1);
}

static void the_last_to_arrive_is_named_only_over_several_steps(void **state)
{
	static const double transit[] = {50, 50}, wait[] = {200, 5};

	(void)state;
	for (int64_t steps = 2; steps <= 3; steps++) {
		JUDGED_AUTO j = {0};

		make_domain(&j.p, 2, transit, wait, steps);
		judge(&j);
		const struct finding *f = found(&j, "communication.slow_rank");

		assert_non_null(f);
		assert_true(f->rank == 1);
		assert_int_equal(f->confidence, steps == 3 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
		assert_int_equal(f->severity, steps == 3 ? SEVERITY_CRITICAL : SEVERITY_INFO);
		is_near(f->share_of_step, 0.2);
	}
}

/* The ranks of a GPU job: collectives end together, a rank that comes last has the shortest. */
static void make_gpus(struct profile *p, int64_t ranks, int64_t late_rank, int64_t late_us, int64_t skew)
{
	for (int64_t r = 0; r < ranks; r++) {
		struct capture *c = make_capture(p, FORMAT_KINETO, r);
		uint32_t gpu = add_lane(c, "GPU", "7", 0), link = add_lane(c, "GPU", "20", 0),
		         host = add_lane(c, "python", "1", -1);

		for (int64_t s = 0; s < 3; s++) {
			int64_t at = s * 1000000 + r * skew;
			int64_t arrive = at + (r == late_rank ? 500 + late_us : 500) * 1000;

			add_step(c, s, at, 1000000);
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, 2 * s);
			add_event(c, gpu, EVENT_KERNEL, "k", at, arrive - at, 2 * s);
			add_event(c, link, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce", arrive,
			          at + 980000 - arrive, 2 * s);
		}
	}
}

static void the_shortest_collective_names_the_slow_gpu(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO even = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	/* 480 us of waiting and sending, of which the late rank takes 280; clocks are 40 ms apart */
	make_gpus(&j.p, 4, 2, 200, 40000000);
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 2);
	assert_int_equal(f->confidence, CONFIDENCE_HIGH);
	is_near(evidence_of(f, "mean_wait_of_others_us"), 600);
	assert_true(f->gain_ns == 200000);
	make_gpus(&even.p, 4, 2, 0, 0);
	judge(&even);
	assert_null(found(&even, "communication.slow_rank"));
	/* 96 of 480 us is 20 % and not more */
	make_gpus(&near.p, 4, 2, 96, 0);
	judge(&near);
	assert_null(found(&near, "communication.slow_rank"));
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
	    cmocka_unit_test(a_rank_that_transmits_longest_is_slow),
	    cmocka_unit_test(the_two_rules_together_are_sure),
	    cmocka_unit_test(the_last_to_arrive_is_named_only_over_several_steps),
	    cmocka_unit_test(the_shortest_collective_names_the_slow_gpu),
	};

	return cmocka_run_group_tests_name("findings of the device", tests, NULL, NULL);
}
