#include "tests/unit/profiler/judged.h"

#include <stdio.h>

#include "profiler/findings/size_time.h"

/* Links, packets, contention, retransmission and settings. All times by hand; a step is 1000 us. */

static void a_line_gives_back_what_it_was_made_of(void **state)
{
	struct size_fit f = {0}, one = {0}, flat = {0};
	struct size_time t;

	(void)state;
	/* 100 us and 10 GB/s: 1 MB takes 200 us, 4 MB 500 */
	size_fit_add(&f, 1e6, 200, 3);
	size_fit_add(&f, 4e6, 500, 1);
	t = size_fit_line(&f);
	assert_true(t.known);
	is_near(t.latency_us, 100);
	is_near(t.us_per_byte, 1e-4);
	is_near(size_time_us(&t, 2, 8e6), 2 * 100 + 800);
	/* one size alone tells no slope; at a known rate the rest is latency */
	size_fit_add(&one, 1e6, 200, 5);
	assert_false(size_fit_line(&one).known);
	t = size_fit_at_rate(&one, 10e9);
	is_near(t.latency_us, 100);
	assert_false(size_fit_at_rate(&one, NAN).known);
	/* all take as long: no bytes count; what is no transfer does not count */
	size_fit_add(&flat, 1e6, 70, 1);
	size_fit_add(&flat, 9e6, 70, 1);
	size_fit_add(&flat, -1, 70, 1);
	size_fit_add(&flat, 1e6, NAN, 1);
	t = size_fit_line(&flat);
	is_near(t.latency_us, 70);
	is_near(t.us_per_byte, 0);
}

/* A rank with 400 us of exposed communication a step and one operator on one link. */
static struct link *make_link(struct profile *p, int64_t rank, const char *chip, const char *name,
                              int64_t bytes, double us)
{
	struct capture *c = make_rank(p, rank, 1, 600, 600, 1000);
	struct communication_op *op = add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 300, 0);

	(void)snprintf(c->chip, sizeof(c->chip), "%s", chip);
	return add_link(op, name, bytes, us);
}

static void a_link_below_those_of_the_other_ranks_is_slow_on_any_chip(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	JUDGED_AUTO tiny = {0};

	(void)state;
	for (int64_t r = 0; r < 4; r++) {
		/* 10 GB/s, rank 2: 6; transmission 300 us of which 0.4 are too long */
		make_link(&j.p, r, "", "HCCS", 60000000, r == 2 ? 10000 : 6000);
		/* 81 % of the others */
		make_link(&near.p, r, "", "HCCS", 81000000, r == 2 ? 10000 : 8100);
		/* the same of 134 kB: all latency (section 6.1 of the page) */
		make_link(&tiny.p, r, "", "HCCS", 134392, r == 2 ? 100 : 57);
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_link");

	is_near(evidence_of(f, "below_other_ranks"), 0.4);
	assert_true(f->rank == 2 && f->gain_ns == 120000);
	/* that it sends longer is its link's matter: no slow rank besides */
	assert_null(found(&j, "communication.slow_rank"));
	for (size_t i = 0; i < j.a.count; i++)
		assert_true(strcmp(j.a.findings[i].code, "communication.slow_link") != 0 ||
		            j.a.findings[i].rank == 2);
	judge(&near);
	assert_null(found(&near, "communication.slow_link"));
	/* no rank stands out, but what the link of an unknown chip should reach stays open */
	assert_true(left_open(&near, "communication.slow_link"));
	judge(&tiny);
	assert_null(found(&tiny, "communication.slow_link"));
}

static void published_vectors_of_the_slow_link_rule(void **state)
{
	/* section 6.3: utilisation of RDMA, HCCS and PCIe; the chip is 910A: 12.5, 18 and 20 GB/s */
	static const struct {
		double use[3];
		int64_t packet;
		bool slow;
	} cases[] = {{{.73, .7546, .6977}, 1000, false},
	             {{.73, .7546, .6977}, 36000000, true},
	             {{.93, .8546, .8977}, 36000000, false}};
	static const char *const names[] = {"RDMA", "HCCS", "PCIE"};
	static const double rates[] = {12.5e3, 18e3, 20e3}; /* bytes per us */

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 600, 600, 1000);
		struct communication_op *op =
		    add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 300, 0);

		(void)snprintf(c->chip, sizeof(c->chip), "Ascend910A");
		for (size_t k = 0; k < 3; k++) {
			double us = 36000000 / (rates[k] * cases[i].use[k]);

			add_packet(add_link(op, names[k], 36000000, us), cases[i].packet,
			           36000000 / cases[i].packet, us);
		}
		judge(&j);
		assert_int_equal(found(&j, "communication.slow_link") != NULL, cases[i].slow);
		assert_int_equal(found(&j, "communication.small_packets") != NULL, i == 0);
	}
}

static void a_link_that_reaches_its_rate_at_times_is_not_slow(void **state)
{
	JUDGED_AUTO j = {0};
	struct link *l = make_link(&j.p, 0, "Ascend910B", "HCCS", 160000000, 12000);

	(void)state;
	/* 13 GB/s together, but half of it at 40: the other half has a cause of its own */
	add_packet(l, 40000000, 2, 2000);
	add_packet(l, 39999900, 2, 10000);
	judge(&j);
	assert_null(found(&j, "communication.slow_link"));
	const struct finding *f = found(&j, "communication.alignment");

	/* of 10000 us, what aligned packets of that size take is 2000 */
	is_near(evidence_of(f, "lost_us"), 10000 - 79999800.0 / 40000);
	/* of the transmission of 300 us as large a part as of the packets' time */
	assert_true(f->gain_ns == (int64_t)(300 * 1000 * (10000 - 79999800.0 / 40000) / 12000));
}

static void packets_are_fused_by_the_captures_own_sizes(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO hidden = {0};
	struct link *l = make_link(&j.p, 0, "", "HCCS", 96000000, 10800);

	(void)state;
	/* 50 us and 20 GB/s: 1 MB takes 100 us, 4 MB 250; 64 MB and 32 MB, 64 + 8 packets */
	add_packet(l, 1000000, 64, 6400);
	add_packet(l, 4000000, 8, 2000);
	judge(&j);
	const struct finding *f = found(&j, "communication.small_packets");

	/* now 72 x 50 + 4800 = 8400; fused three packets of 32 MB: 3 x 50 + 4800 = 4950 */
	is_near(evidence_of(f, "transmission_if_fused_us"), 300 * 4950.0 / 8400);
	assert_true(f->gain_ns == (int64_t)(300000 * (1 - 4950.0 / 8400)));
	/* the same hidden under compute: there is nothing to gain (the paper's ResNet50 and DLRM) */
	struct capture *c = make_rank(&hidden.p, 0, 1, 960, 500, 1000);

	l = add_link(add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 300, 0), "HCCS", 96000000,
	             10800);
	add_packet(l, 1000000, 64, 6400);
	add_packet(l, 4000000, 8, 2000);
	judge(&hidden);
	assert_null(found(&hidden, "communication.small_packets"));
	assert_false(left_open(&hidden, "communication.small_packets"));
}

/* A GPU rank: `count` all-reduces a step of so many bytes and us each, none under compute. */
static struct capture *make_gpu(struct profile *p, int64_t rank, const char *chip, int64_t count,
                                int64_t bytes, int64_t us)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, rank);
	uint32_t gpu = add_lane(c, "GPU", "7", (int32_t)rank), link = add_lane(c, "GPU", "20", (int32_t)rank),
	         host = add_lane(c, "python", "1", -1);

	(void)snprintf(c->chip, sizeof(c->chip), "%s", chip);
	for (int64_t s = 0; s < 3; s++) {
		int64_t at = s * 1000000;

		add_step(c, s, at, 1000000);
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, s);
		add_event(c, gpu, EVENT_KERNEL, "k", at, 400000, s);
		for (int64_t i = 0; i < count; i++) {
			struct event_detail d = {.event = (uint32_t)c->trace.count,
			                         .type = text_id(c, "allreduce"),
			                         .group = text_id(c, "0"),
			                         .bytes = bytes,
			                         .sequence = s * count + i};

			add_event(c, link, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce(x)",
			          at + 400000 + i * us * 1000, us * 1000, s);
			assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
		}
	}
	return c;
}

static void a_slow_bus_is_seen_by_all_ranks_of_the_group(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO fine = {0};
	JUDGED_AUTO apart = {0};

	(void)state;
	for (int64_t r = 0; r < 4; r++) {
		/* 64 MB x 1.5 in 500 us are 192 GB/s of 450; in 400 us 240 */
		make_gpu(&j.p, r, "NVIDIA H100 80GB HBM3", 1, 64000000, 500);
		make_gpu(&fine.p, r, "NVIDIA H100 80GB HBM3", 1, 64000000, 400);
		/* one device a rank, all called 0: they may be on several nodes, whose network is not known
		 */
		struct capture *c = make_gpu(&apart.p, r, "NVIDIA H100 80GB HBM3", 1, 64000000, 500);

		c->trace.lanes[0].device = c->trace.lanes[1].device = 0;
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_link");

	is_near(evidence_of(f, "bus_bandwidth"), 192e9);
	is_near(evidence_of(f, "link_utilization"), 192.0 / 450);
	is_near(evidence_of(f, "ranks_affected"), 4);
	judge(&fine);
	assert_null(found(&fine, "communication.slow_link"));
	assert_false(left_open(&fine, "communication.slow_link"));
	judge(&apart);
	assert_null(found(&apart, "communication.slow_link"));
	assert_true(left_open(&apart, "communication.slow_link"));
}

static void many_small_collectives_are_small_packets_few_are_not(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO few = {0};
	JUDGED_AUTO large = {0};

	(void)state;
	make_gpu(&j.p, 0, "", 20, 65536, 20);
	judge(&j);
	const struct finding *f = found(&j, "communication.small_packets");

	is_near(evidence_of(f, "small_collectives_a_step"), 20);
	assert_true(f->gain_ns == SB_NULL);
	make_gpu(&few.p, 0, "", 15, 65536, 20);
	judge(&few);
	assert_null(found(&few, "communication.small_packets"));
	assert_false(left_open(&few, "communication.small_packets"));
	/* the traffic of a recommender: as many, but large */
	make_gpu(&large.p, 0, "", 20, 8000000, 20);
	judge(&large);
	assert_null(found(&large, "communication.small_packets"));
}

/* Four transfers of 4 MB alone in 100 us, and four beside a product in `us`. */
static void make_transfers(struct profile *p, int64_t us)
{
	struct capture *c = make_rank(p, 0, 1, 600, 0, 1000);
	uint32_t plane = add_lane(c, "Communication", "Plane 0", -1);

	add_kernel(c, "MatMulV2", "MatMulV2", "AI_CORE", 0, 500000)->step = 1;
	for (int64_t i = 0; i < 8; i++) {
		struct event_detail d = {.event = (uint32_t)c->trace.count,
		                         .type = text_id(c, "HCCS"),
		                         .bytes = 4000000,
		                         .sequence = SB_NULL};

		add_event(c, plane, EVENT_COMMUNICATION_TASK, "Memcpy",
		          i < 4 ? i * 125000 : 500000 + (i - 4) * 100000, (i < 4 ? us : 100) * 1000, -1);
		assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
	}
}

static void transfers_that_are_slower_beside_products_contend(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	/* 40 GB/s alone; beside a product 4 MB in 124 us are 0.806 of it */
	make_transfers(&near.p, 124);
	judge(&near);
	assert_null(found(&near, "communication.contention"));
	assert_false(left_open(&near, "communication.contention"));
	make_transfers(&j.p, 160);
	judge(&j);
	const struct finding *f = found(&j, "communication.contention");

	/* 25 of 40 GB/s */
	is_near(evidence_of(f, "bandwidth_ratio_beside_products"), 0.625);
	is_near(evidence_of(f, "slow_transfers"), 4);
}

/* Three ranks, one all-reduce over RDMA; seconds. */
static void make_rdma(struct profile *p, double elapse, double worst)
{
	for (int64_t r = 0; r < 3; r++) {
		struct capture *c = make_rank(p, r, 1, 600, 600, 1000);
		struct communication_op *op = add_communication(
		    c, 1, "hcom_allReduce__1_0_1", "77", elapse * 1e6, (r == 1 ? worst : 0.1) * 1e6, 0);

		add_link(op, "RDMA", 4000000, (r == 1 ? worst : 0.1) * 1e6);
	}
}

static void four_seconds_on_all_ranks_are_a_retransmission(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO early = {0};
	JUDGED_AUTO shorter = {0};

	(void)state;
	make_rdma(&j.p, 4.2, 4.1);
	judge(&j);
	const struct finding *f = found(&j, "communication.retransmission");

	assert_true(f && f->rank == 1);
	is_near(evidence_of(f, "rdma_transit_us"), 4.1e6);
	is_near(evidence_of(f, "rdma_transit_of_others_us"), 0.1e6);
	/* all that is exposed has this cause */
	assert_null(found(&j, "parallel.poor_overlap"));
	/* a rank that waited less than 4 s says that nothing was sent again; at 4 s itself it is not over */
	make_rdma(&early.p, 3.9, 4.1);
	judge(&early);
	assert_null(found(&early, "communication.retransmission"));
	make_rdma(&shorter.p, 4.2, 4.0);
	judge(&shorter);
	assert_null(found(&shorter, "communication.retransmission"));
	assert_false(left_open(&shorter, "communication.retransmission"));
}

static void add_variable(struct capture *c, const char *name, const char *value)
{
	c->environment = grown(c->environment, c->environment_count, sizeof(*c->environment));
	c->environment[c->environment_count].name = text_id(c, name);
	c->environment[c->environment_count++].value = *value ? text_id(c, value) : 0;
}

static void a_forced_algorithm_is_told_and_weighed_by_the_link(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO unset = {0};
	JUDGED_AUTO silent = {0};

	(void)state;
	/* 14 of 28 GB/s */
	make_link(&j.p, 0, "Ascend910B", "HCCS", 42000000, 3000);
	add_variable(&j.p.captures[0], "HCCL_ALGO", "level0:NA;level1:ring");
	judge(&j);
	const struct finding *f = found(&j, "communication.configuration");

	is_near(evidence_of(f, "link_utilization"), 0.5);
	is_near(f->share_of_step, 0.15);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL),
	                    "HCCL_ALGO=level0:NA;level1:ring");
	make_link(&unset.p, 0, "Ascend910B", "HCCS", 42000000, 3000);
	add_variable(&unset.p.captures[0], "HCCL_ALGO", "");
	judge(&unset);
	assert_null(found(&unset, "communication.configuration"));
	assert_false(left_open(&unset, "communication.configuration"));
	make_link(&silent.p, 0, "Ascend910B", "HCCS", 42000000, 3000);
	judge(&silent);
	assert_true(left_open(&silent, "communication.configuration"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_line_gives_back_what_it_was_made_of),
	    cmocka_unit_test(a_link_below_those_of_the_other_ranks_is_slow_on_any_chip),
	    cmocka_unit_test(published_vectors_of_the_slow_link_rule),
	    cmocka_unit_test(a_link_that_reaches_its_rate_at_times_is_not_slow),
	    cmocka_unit_test(packets_are_fused_by_the_captures_own_sizes),
	    cmocka_unit_test(a_slow_bus_is_seen_by_all_ranks_of_the_group),
	    cmocka_unit_test(many_small_collectives_are_small_packets_few_are_not),
	    cmocka_unit_test(transfers_that_are_slower_beside_products_contend),
	    cmocka_unit_test(four_seconds_on_all_ranks_are_a_retransmission),
	    cmocka_unit_test(a_forced_algorithm_is_told_and_weighed_by_the_link),
	};

	return cmocka_run_group_tests_name("findings of links", tests, NULL, NULL);
}
