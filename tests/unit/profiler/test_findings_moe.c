#include "tests/unit/profiler/judged.h"

#include "profiler/findings/bus.h"
#include "profiler/findings/moe.h"

/* Mixtures of experts. A step is 1000 us. */

static void names_tell_experts_and_their_exchange(void **state)
{
	(void)state;
	assert_int_equal(moe_name_of("GroupedMatmul"), MOE_EXPERTS);
	assert_int_equal(moe_name_of("cutlass::gemm::kernel::GemmUniversal<GroupedGemmProblemShape>"),
	                 MOE_EXPERTS);
	assert_int_equal(moe_name_of("void deep_ep::internode::dispatch<true, 8>(int)"), MOE_EXCHANGE);
	assert_int_equal(moe_name_of("MoeDistributeCombine"), MOE_EXCHANGE);
	assert_int_equal(moe_name_of("MoELayer.forward"), MOE_HINT);
	assert_int_equal(moe_name_of("ampere_sgemm_128x64_tn"), MOE_NOTHING);
	assert_int_equal(moe_name_of("at::native::dispatch"), MOE_NOTHING);
	assert_int_equal(collective_kind_of("all_to_allv"), COLLECTIVE_ALL_TO_ALL);
	assert_int_equal(collective_kind_of("hcom_alltoallv__1_0_1"), COLLECTIVE_ALL_TO_ALL);
	assert_int_equal(collective_kind_of("ncclDevKernel_AllReduce_Sum"), COLLECTIVE_ALL_REDUCE);
	assert_int_equal(collective_kind_of("_reduce_scatter_base"), COLLECTIVE_REDUCE_SCATTER);
	is_near(bus_factor(COLLECTIVE_ALL_REDUCE, 4), 1.5);
	is_near(bus_factor(COLLECTIVE_ALL_TO_ALL, 4), 0.75);
	is_near(bus_factor(COLLECTIVE_OTHER, 4), 1);
}

/* A GPU rank: experts us of grouped products, then an all-to-all up to `until`, then other work to the end.
 */
static void make_experts(struct profile *p, int64_t rank, int64_t experts, int64_t until, const char *kernel)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, rank);
	uint32_t gpu = add_lane(c, "GPU", "7", 0), link = add_lane(c, "GPU", "20", 0),
	         host = add_lane(c, "python", "1", -1);

	for (int64_t s = 0; s < 3; s++) {
		int64_t at = s * 1000000;
		struct event_detail d = {.type = text_id(c, "all_to_allv"),
		                         .group = text_id(c, "0"),
		                         .bytes = SB_NULL,
		                         .sequence = s};

		add_step(c, s, at, 1000000);
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, s);
		if (experts > 0)
			add_event(c, gpu, EVENT_KERNEL, kernel, at, experts * 1000, s);
		d.event = (uint32_t)c->trace.count;
		add_event(c, link, EVENT_COMMUNICATION, "ncclDevKernel_SendRecv(x)", at + experts * 1000,
		          (until - experts) * 1000, s);
		assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
		add_event(c, gpu, EVENT_KERNEL, "other", at + until * 1000, (1000 - until) * 1000, s);
	}
}

static void the_rank_with_more_tokens_keeps_the_others_waiting(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	/* 300 us against 100, 100, 100: mean 150, 150 us too long */
	for (int64_t r = 0; r < 4; r++)
		make_experts(&j.p, r, r == 3 ? 300 : 100, 320, "grouped_gemm");
	judge(&j);
	const struct finding *f = found(&j, "moe.imbalance");

	assert_true(f && f->rank == 3);
	is_near(evidence_of(f, "expert_time_over_mean"), 2);
	is_near(evidence_of(f, "two_busiest_ranks_share"), 400.0 / 600);
	/* at most the mean excess; a replay that keeps the host's steps apart finds less */
	assert_true(f->gain_ns > 0 && f->gain_ns <= 150000);
	is_near(f->share_of_step, 0.15);
	/* the same is not told twice */
	assert_null(found(&j, "communication.slow_rank"));
	/* 1.2 times the mean is not more than that */
	for (int64_t r = 0; r < 4; r++)
		make_experts(&near.p, r, r == 3 ? 144 : 112, 200, "grouped_gemm");
	judge(&near);
	assert_null(found(&near, "moe.imbalance"));
}

static void the_exchange_counts_from_forty_percent(void **state)
{
	static const struct {
		int64_t until;
		bool told;
		enum severity severity;
	} cases[] = {{200, false, SEVERITY_INFO},
	             {250, true, SEVERITY_INFO},
	             {500, true, SEVERITY_INFO},
	             {510, true, SEVERITY_WARNING},
	             {850, true, SEVERITY_CRITICAL}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};

		/* experts take the first 100 us */
		make_experts(&j.p, 0, 100, cases[i].until, "grouped_gemm");
		judge(&j);
		const struct finding *f = found(&j, "moe.all_to_all");

		assert_int_equal(f != NULL, cases[i].told);
		if (!f)
			continue;
		is_near(evidence_of(f, "all_to_all_share"), (double)(cases[i].until - 100) / 1000);
		assert_int_equal(f->severity, cases[i].severity);
		/* down to a tenth of the step: the rest of it, 590 us, is nine tenths then; and 250 us. Only
		 * the last of the three steps ends sooner: the host begins the others when it did */
		if (cases[i].until == 510)
			assert_true(llabs(3 * f->gain_ns - (410000 - 590000 / 9)) < 6);
		if (cases[i].until == 850)
			assert_true(llabs(3 * f->gain_ns - (750000 - 250000 / 9)) < 6);
	}
}

/* One rank: a gate for 512 tokens of 8 experts each, then six products of 50 us; in backward one of three has
 * its rows in the second place. */
static void make_capacity(struct profile *p, const char *const rows[6])
{
	struct capture *c = make_rank(p, 0, 1, 600, 500, 1000);
	struct kernel *k = add_kernel(c, "gate", "MoeGatingTopK", "AI_VECTOR_CORE", 0, 1000);

	k->output_shapes = text_id(c, "\"512,8;512,8;512,64\"");
	for (int i = 0; i < 6; i++) {
		char shapes[64];

		(void)snprintf(shapes, sizeof(shapes), "\"%s;16,4096,2816\"", rows[i]);
		k = add_kernel(c, "product", "GroupedMatmul", "AI_CORE", 10000 + i * 50000, 50000);
		k->input_shapes = text_id(c, shapes);
	}
}

static void rows_that_no_token_fills_are_padding(void **state)
{
	static const struct {
		const char *rows[6];
		double padding; /* 0 = nothing is said */
		enum severity severity;
	} cases[] = {/* 512 x 8 = 4096 of 10240 rows */
	             {{"10240,4096", "10240,4096", "4096,10240", "10240,4096", "10240,4096", "4096,10240"},
	              0.6,
	              SEVERITY_WARNING},
	             /* 4096 of 6144 */
	             {{"6144,4096", "6144,4096", "4096,6144", "6144,4096", "6144,4096", "4096,6144"},
	              1.0 / 3,
	              SEVERITY_INFO},
	             /* the usual capacity of 1.25 is by intent */
	             {{"5120,4096", "5120,4096", "5120,4096", "5120,4096", "5120,4096", "5120,4096"},
	              0,
	              SEVERITY_INFO},
	             /* as many as come: no capacity */
	             {{"9000,4096", "9001,4096", "9002,4096", "9003,4096", "9004,4096", "9005,4096"},
	              0,
	              SEVERITY_INFO}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};

		make_capacity(&j.p, cases[i].rows);
		judge(&j);
		const struct finding *f = found(&j, "moe.imbalance");

		assert_int_equal(f != NULL, cases[i].padding > 0);
		if (!f)
			continue;
		is_near(evidence_of(f, "padding_share"), cases[i].padding);
		is_near(evidence_of(f, "routed_rows"), 4096);
		/* of six products of 50 us, in a step of 1 ms */
		is_near(f->share_of_step, cases[i].padding * 0.3);
		assert_int_equal(f->severity >= SEVERITY_WARNING, cases[i].severity >= SEVERITY_WARNING);
		assert_true(f->confidence <= CONFIDENCE_MEDIUM);
	}
}

static void jobs_without_experts_are_left_alone(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO one = {0};

	(void)state;
	/* a recommender: all-to-alls, no experts: neither a finding nor something left open */
	for (int64_t r = 0; r < 2; r++)
		make_experts(&j.p, r, 100, 800, "embedding_bag");
	judge(&j);
	assert_null(found(&j, "moe.all_to_all"));
	assert_null(found(&j, "moe.imbalance"));
	assert_false(left_open(&j, "moe.all_to_all") || left_open(&j, "moe.imbalance"));
	/* one rank says nothing of the balance */
	make_experts(&one.p, 0, 100, 800, "grouped_gemm");
	judge(&one);
	assert_true(left_open(&one, "moe.imbalance"));
	assert_false(left_open(&one, "moe.all_to_all"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_tell_experts_and_their_exchange),
	    cmocka_unit_test(the_rank_with_more_tokens_keeps_the_others_waiting),
	    cmocka_unit_test(the_exchange_counts_from_forty_percent),
	    cmocka_unit_test(rows_that_no_token_fills_are_padding),
	    cmocka_unit_test(jobs_without_experts_are_left_alone),
	};

	return cmocka_run_group_tests_name("findings of experts", tests, NULL, NULL);
}
