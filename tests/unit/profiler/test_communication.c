#include "tests/unit/profiler/fixture.h"

#include "profiler/communication.h"

static struct communication_report compute(const struct profile *p, double threshold)
{
	struct communication_report r = {0};

	assert_int_equal(communication_compute(p, threshold, &r, NULL), SB_OK);
	return r;
}

/* Four ranks, one domain: transmission 10, 10, 10, 20 us in two operators. */
static void make_domain(struct profile *p, const int64_t *ranks, double slow)
{
	for (int i = 0; i < 4; i++) {
		struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, ranks[i]);
		double t = i == 3 ? slow : 10;

		add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, t * 0.4, 5);
		add_communication(c, 1, "hcom_allReduce__1_1_1", "77", 100, t * 0.6, 5);
		add_communication(c, 1, "hcom_send__1_0_1", "77", 100, i == 0 ? 1000 : 0, 5);
	}
}

static void r_wait_is_one_minus_mean_over_max(void **state)
{
	static const int64_t ranks[] = {0, 1, 2, 3};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	make_domain(&p, ranks, 20);
	r = compute(&p, 0.2);
	assert_int_equal(r.domain_count, 1);
	assert_int_equal(r.domains[0].rank_count, 4);
	/* 1 - 12.5/20 */
	assert_float_equal(r.domains[0].r_wait, 0.375, 1e-12);
	assert_true(r.domains[0].slow_rank == 3);
	assert_string_equal(sb_strings_get(r.strings, r.domains[0].group, NULL), "77");
}

static void at_the_threshold_nobody_is_slow(void **state)
{
	static const int64_t ranks[] = {0, 1, 2, 3};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	make_domain(&p, ranks, 20);
	r = compute(&p, 0.375);
	assert_true(r.domains[0].slow_rank == SB_NULL);
	assert_float_equal(r.domains[0].r_wait, 0.375, 1e-12);
}

static void permuting_the_ranks_permutes_the_answer(void **state)
{
	static const int64_t ranks[] = {3, 1, 0, 2};
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};

	(void)state;
	make_domain(&p, ranks, 20);
	r = compute(&p, 0.2);
	assert_float_equal(r.domains[0].r_wait, 0.375, 1e-12);
	assert_true(r.domains[0].slow_rank == 2);
	assert_true(r.rows[0].rank == 0 && r.rows[11].rank == 3);
}

static void one_rank_alone_is_never_slow(void **state)
{
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 5);

	(void)state;
	add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, 40, 5);
	r = compute(&p, 0);
	assert_int_equal(r.domain_count, 1);
	assert_true(isnan(r.domains[0].r_wait) && r.domains[0].slow_rank == SB_NULL);
}

static void only_operators_that_all_ranks_have_are_compared(void **state)
{
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, 40, 5);
	add_communication(c, 2, "hcom_allReduce__1_0_1", "77", 100, 4000, 5);
	c = make_capture(&p, FORMAT_ASCEND_TEXT, 1);
	add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, 60, 5);
	r = compute(&p, 0.1);
	/* 1 - 50/60; step 2 was captured on rank 0 only */
	assert_float_equal(r.domains[0].r_wait, 1.0 / 6, 1e-12);
	assert_true(r.domains[0].slow_rank == 1);
}

static void sdma_is_not_added_to_its_parts(void **state)
{
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	struct communication_op *op = add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, 40, 5);

	(void)state;
	add_link(op, "RDMA", 1000, 1);
	add_link(op, "HCCS", 200, 1);
	add_link(op, "PCIE", 30, 1);
	add_link(op, "SDMA", 230, 1);
	add_link(op, "SIO", 0, 0);
	add_communication(c, 1, "hcom_allReduce__1_1_1", "77", 100, 40, 5);
	r = compute(&p, 0.2);
	assert_true(r.rows[0].bytes == 1230);
	assert_int_equal(r.rows[0].link_count, 5);
	assert_true(r.rows[1].bytes == SB_NULL);
}

/* Where its parts are not told, or not all of them, the sum is what moved. */
static void sdma_counts_where_its_parts_do_not(void **state)
{
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	struct communication_op *op = add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 100, 40, 5);

	(void)state;
	add_link(op, "RDMA", 1000, 1);
	add_link(op, "SDMA", 230, 1);
	op = add_communication(c, 1, "hcom_allReduce__1_1_1", "77", 100, 40, 5);
	add_link(op, "HCCS", 200, 1);
	add_link(op, "PCIE", 0, 0);
	add_link(op, "SDMA", 230, 1);
	r = compute(&p, 0.2);
	assert_true(r.rows[0].bytes == 1230 && r.rows[1].bytes == 230);
}

static void collectives_of_a_timeline_are_summed(void **state)
{
	PROFILE_AUTO p = {0};
	COMMUNICATION_AUTO r = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 2);
	uint32_t host = add_lane(c, "python", "1", -1), gpu = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	add_step(c, 1, 0, 100);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 10, 1, 1);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 11, 1, 2);
	add_event(c, gpu, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_f32(x)", 20, 30000, 1);
	struct event_detail d = {.event = 2,
	                         .type = text_id(c, "allreduce"),
	                         .group = text_id(c, "0"),
	                         .bytes = 4096,
	                         .sequence = SB_NULL};

	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
	add_event(c, gpu, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_f32(x)", 40000, 10000, 2);
	d.event = 3;
	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
	add_event(c, gpu, EVENT_COMMUNICATION, "ncclDevKernel_Broadcast<1>(x)", 60000, 500, -1);
	r = compute(&p, 0.2);
	assert_int_equal(r.row_count, 2);
	assert_string_equal(sb_strings_get(r.strings, r.rows[0].name, NULL), "allreduce");
	assert_true(r.rows[0].count == 2 && r.rows[0].bytes == 8192 && r.rows[0].step == 1);
	assert_float_equal(r.rows[0].elapse_us, 40, 1e-12);
	assert_true(isnan(r.rows[0].transit_us) && isnan(r.rows[0].wait_us));
	assert_string_equal(sb_strings_get(r.strings, r.rows[1].name, NULL), "ncclDevKernel_Broadcast");
	assert_true(r.rows[1].step == SB_NULL && r.rows[1].bytes == SB_NULL && r.rows[1].group == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(r_wait_is_one_minus_mean_over_max),
	    cmocka_unit_test(at_the_threshold_nobody_is_slow),
	    cmocka_unit_test(permuting_the_ranks_permutes_the_answer),
	    cmocka_unit_test(one_rank_alone_is_never_slow),
	    cmocka_unit_test(only_operators_that_all_ranks_have_are_compared),
	    cmocka_unit_test(sdma_is_not_added_to_its_parts),
	    cmocka_unit_test(sdma_counts_where_its_parts_do_not),
	    cmocka_unit_test(collectives_of_a_timeline_are_summed),
	};

	return cmocka_run_group_tests_name("communication", tests, NULL, NULL);
}
