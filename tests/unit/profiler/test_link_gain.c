#include "tests/unit/profiler/judged.h"

/* What faster transmission gains: by replay, and by tables alone. All times by hand, in us; a step is 1000.
 */

static void by_tables_the_last_collective_of_a_step_stays_exposed(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	for (int64_t r = 0; r < 4; r++) {
		/* 400 exposed, of 1000 of transmission */
		struct capture *c = make_rank(&j.p, r, 1, 600, 0, 1000);
		struct communication_op *op =
		    add_communication(c, 1, "hcom_allReduce__1_1_1", "77", 300, 300, 0);

		/* 10 GB/s, rank 2: 6; in the file the last collective stands first */
		add_link(op, "HCCS", 60000000, r == 2 ? 10000 : 6000);
		op->start_ns = 700000;
		op = add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 700, 700, 0);
		add_link(op, "HCCS", 60000000, r == 2 ? 10000 : 6000);
		op->start_ns = 1;
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_link");

	/* 400 of 1000 are lost, as much as is exposed; but of the last 300 the link still needs 180 */
	assert_non_null(f);
	is_near(f->share_of_step, 0.4);
	assert_true(f->gain_ns == 220000);
}

/* A rank whose product runs from 0 to 600, beside it a collective from 100 to 500, and another from 600 to
 * 1000, in step 1. Returns the operators, in that order. */
static struct capture *make_two(struct profile *p, int64_t rank, struct communication_op *out_ops[2])
{
	struct capture *c = make_rank(p, rank, 1, 600, 100, 1000);
	uint32_t gpu = add_lane(c, "Ascend Hardware", "Stream 2", 0);
	uint32_t link = add_lane(c, "Communication", "Group 0 Communication", 0);

	add_event(c, gpu, EVENT_KERNEL, "MatMulV2", 0, 600000, -1);
	add_event(c, link, EVENT_COMMUNICATION, "hcom_allReduce__1_0_1", 100000, 400000, -1);
	add_event(c, link, EVENT_COMMUNICATION, "hcom_allReduce__1_1_1", 600000, 400000, -1);
	add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 400, 0);
	add_communication(c, 1, "hcom_allReduce__1_1_1", "77", 400, 400, 0);
	out_ops[0] = &c->communications[0];
	out_ops[1] = &c->communications[1];
	return c;
}

static void misaligned_packets_of_a_hidden_collective_gain_nothing(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	for (int64_t r = 0; r < 2; r++) {
		struct communication_op *ops[2];
		struct link *l;

		(void)make_two(&j.p, r, ops);
		/* aligned packets move 20.48 kB a us, of any size; those of 1023700 bytes take three times
		 * as long */
		l = add_link(ops[0], "HCCS", 4095400, 400);
		add_packet(l, 1024000, 2, 100);
		add_packet(l, 1023700, 2, 300);
		l = add_link(ops[1], "HCCS", 8192000, 400);
		add_packet(l, 2048000, 4, 400);
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.alignment");

	is_near(evidence_of(f, "lost_us"), 2 * (150 - 1023700 / 20480.0));
	/* the one that is exposed has none: it would begin and end as it does */
	assert_true(f->gain_ns == 0);
	assert_int_equal(f->severity, SEVERITY_INFO);
}

static void add_transfer(struct capture *c, int64_t from, int64_t us)
{
	struct event_detail d = {.type = text_id(c, "HCCS"), .bytes = 4000000, .sequence = SB_NULL};
	uint32_t plane = add_lane(c, "Communication", "Plane 0", -1);

	add_event(c, plane, EVENT_COMMUNICATION_TASK, "Memcpy", from * 1000, us * 1000, -1);
	assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
}

static void contention_of_a_hidden_collective_gains_nothing(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	for (int64_t r = 0; r < 2; r++) {
		struct communication_op *ops[2];
		struct capture *c = make_two(&j.p, r, ops);

		/* half as fast beside the product */
		add_transfer(c, 100, 200);
		add_transfer(c, 300, 200);
		for (int64_t i = 0; i < 4; i++)
			add_transfer(c, 600 + i * 100, 100);
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.contention");

	is_near(evidence_of(f, "lost_us"), 200);
	assert_true(f->gain_ns == 0);
	assert_int_equal(f->severity, SEVERITY_INFO);
}

static void a_transfer_that_outlasts_the_product_has_lost_time_too(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 600, 100, 1000);

	(void)state;
	add_kernel(c, "MatMulV2", "MatMulV2", "AI_CORE", 0, 600000)->step = 1;
	/* 4 MB take 50 alone; the second is beside the product for a quarter of its time, and for a quarter
	 * as fast: in 100 it moved as much as in 25, the rest took 25 */
	add_transfer(c, 100, 200);
	add_transfer(c, 500, 125);
	for (int64_t i = 0; i < 4; i++)
		add_transfer(c, 625 + i * 50, 50);
	judge(&j);
	const struct finding *f = found(&j, "communication.contention");

	is_near(evidence_of(f, "slow_transfers"), 2);
	is_near(evidence_of(f, "lost_us"), 150 + 75);
}

/* Without a timeline: 500 of 1000 are all-to-alls of a group that is called so. */
static void make_tables(struct profile *p, const char *use)
{
	struct capture *c = make_capture(p, FORMAT_CLUSTER_ANALYSIS, 0);

	for (int64_t s = 1; s <= 3; s++) {
		add_step(c, s, SB_NULL, SB_NULL);
		c->step_traces = grown(c->step_traces, c->step_trace_count, sizeof(*c->step_traces));
		c->step_traces[c->step_trace_count++] =
		    (struct step_trace){s, 400000, 550000, 0, 550000, 50000, 1000000, 0, SB_NULL};
		add_communication(c, s, "hcom_alltoallv__5_0_1", "5", 500, 500, 0);
		add_communication(c, s, "hcom_allReduce__7_0_1", "7", 50, 50, 0);
	}
	c->group_uses = grown(c->group_uses, 0, sizeof(*c->group_uses));
	c->group_uses[c->group_use_count++] = (struct group_use){text_id(c, "5"), text_id(c, use)};
}

static void tables_tell_the_experts_exchange_by_the_use_of_its_group(void **state)
{
	static const char *const uses[] = {"exp",   "ep",   "tp-ep", "EXPERT_MODEL_PARALLEL_GROUP",
	                                   "dp_cp", "steps"};

	(void)state;
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		JUDGED_AUTO j = {0};

		make_tables(&j.p, uses[i]);
		judge(&j);
		const struct finding *f = found(&j, "moe.all_to_all");

		assert_int_equal(f != NULL, i < 4);
		if (!f)
			continue;
		is_near(evidence_of(f, "all_to_all_share"), 0.5);
		/* the other 500 are nine tenths of a step in order: 500 - 500 / 9 */
		assert_true(f->gain_ns == (int64_t)(500000 - 500000 / 9.0));
	}
}

static void the_gains_of_a_rank_are_no_more_than_its_own_step(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 50, 50, 1000);
	struct communication_op *op = add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 900, 900, 0);
	struct link *l = add_link(op, "HCCS", 409597300, 372736);
	int64_t sum = 0;

	(void)state;
	/* one packet at 10 of 28 GB/s, nine misaligned ones at 1 */
	name_chip(c, "Ascend910B");
	add_packet(l, 40960000, 1, 4096);
	add_packet(l, 40959700, 9, 368640);
	/* the others' steps are ten times as long, so that their mean would not bind */
	for (int64_t r = 1; r < 4; r++) {
		c = make_capture(&j.p, FORMAT_ASCEND_TEXT, r);
		add_step(c, 1, 0, 10000000);
		add_event(c, add_lane(c, "Overlap Analysis", "", -1), EVENT_LANE_COMPUTE, "Computing", 0,
		          10000000, -1);
	}
	judge(&j);
	for (size_t i = 0; i < j.a.count; i++)
		if (j.a.findings[i].rank == 0 && j.a.findings[i].gain_ns != SB_NULL)
			sum += j.a.findings[i].gain_ns;
	/* of 900 us the link's slowness costs 865, and that packets are misaligned 801 */
	assert_true(found(&j, "communication.slow_link")->gain_ns > 860000);
	assert_int_equal(sum, 1000000);
}

static void what_would_win_little_is_an_info_on_every_rank(void **state)
{
	JUDGED_AUTO j = {0};
	size_t n = 0;

	(void)state;
	/* half of the packets are misaligned, and a twentieth slower: of 300 us 150 are theirs, and 7 lost */
	for (int64_t r = 0; r < 3; r++) {
		struct capture *c = make_rank(&j.p, r, 1, 600, 600, 1000);
		struct link *l = add_link(add_communication(c, 1, "hcom_allReduce__1_0_1", "77", 400, 300, 0),
		                          "HCCS", 160000000, 4100);

		add_packet(l, 40000000, 2, 2000);
		add_packet(l, 39999900, 2, 2100);
	}
	judge(&j);
	for (size_t i = 0; i < j.a.count; i++) {
		if (strcmp(j.a.findings[i].code, "communication.alignment") != 0)
			continue;
		n++;
		assert_int_equal(j.a.findings[i].severity, SEVERITY_INFO);
	}
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(by_tables_the_last_collective_of_a_step_stays_exposed),
	    cmocka_unit_test(misaligned_packets_of_a_hidden_collective_gain_nothing),
	    cmocka_unit_test(contention_of_a_hidden_collective_gains_nothing),
	    cmocka_unit_test(a_transfer_that_outlasts_the_product_has_lost_time_too),
	    cmocka_unit_test(the_gains_of_a_rank_are_no_more_than_its_own_step),
	    cmocka_unit_test(what_would_win_little_is_an_info_on_every_rank),
	    cmocka_unit_test(tables_tell_the_experts_exchange_by_the_use_of_its_group),
	};

	return cmocka_run_group_tests_name("gains of transmission", tests, NULL, NULL);
}
