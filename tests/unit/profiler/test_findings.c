#include "tests/unit/profiler/judged.h"

/* Parallelism, host and input: what is judged by the timeline. All times by hand; a step is 1000 us. */

static void a_healthy_profile_is_told_so(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	/* 950 us compute, communication 700 to 960: overlap 250, exposed 10, free 40 */
	make_rank(&j.p, 0, 3, 950, 700, 960);
	make_rank(&j.p, 1, 3, 950, 700, 960);
	judge(&j);
	assert_int_equal(j.a.count, 0);
	assert_null(j.a.component);
	assert_null(j.a.cause);
	assert_true(isnan(j.a.share_of_step));
	assert_int_equal(j.a.confidence, CONFIDENCE_HIGH);
	assert_true(left_open(&j, "io.reading") && left_open(&j, "communication.slow_link"));
	assert_true(left_open(&j, "compute.underutilized") && !left_open(&j, "cpu.host_bound"));
}

static void poor_overlap_is_overlap_over_the_step(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	/* compute 600, communication 551 to 951: overlap 49 = 4.9 %, exposed 351, free 49 */
	make_rank(&j.p, 0, 3, 600, 551, 951);
	judge(&j);
	const struct finding *f = found(&j, "parallel.poor_overlap");

	assert_non_null(f);
	is_near(evidence_of(f, "overlap_share"), 0.049);
	is_near(f->share_of_step, 0.351);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	/* three steps, but 4.9 % is close to 5 % */
	assert_int_equal(f->confidence, CONFIDENCE_MEDIUM);
	/* compute alone is 551 us, more than the 351 us to hide */
	assert_true(f->gain_ns == 351000 && f->rank == 0 && f->step == SB_NULL && f->portable);
	is_near(f->speedup, 1000.0 / 649);
	assert_string_equal(j.a.component, "parallel");
	assert_string_equal(j.a.cause, "poor_overlap");
	is_near(j.a.share_of_step, 0.351);
}

static void confidence_needs_steps_and_a_margin(void **state)
{
	/* overlap 45 = 4.5 % is beyond the margin of 1.1, 46 is not */
	static const struct {
		int64_t steps, compute;
		enum confidence confidence;
	} cases[] = {{3, 595, CONFIDENCE_HIGH},
	             {2, 595, CONFIDENCE_MEDIUM},
	             {3, 597, CONFIDENCE_MEDIUM},
	             {1, 597, CONFIDENCE_LOW}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};

		make_rank(&j.p, 0, cases[i].steps, cases[i].compute, 551, 951);
		judge(&j);
		assert_non_null(found(&j, "parallel.poor_overlap"));
		assert_int_equal(found(&j, "parallel.poor_overlap")->confidence, cases[i].confidence);
	}
}

static void overlap_at_the_limit_or_little_to_cover_is_fine(void **state)
{
	JUDGED_AUTO enough = {0};
	JUDGED_AUTO little = {0};

	(void)state;
	/* overlap 50 = 5 % exactly; exposed 110: 31 % of communication is hidden, and the only collective of
	 * a step can begin no earlier */
	make_rank(&enough.p, 0, 3, 800, 750, 910);
	judge(&enough);
	/* told, but no bottleneck: 11 % exposed */
	assert_int_equal(found(&enough, "parallel.poor_overlap")->severity, SEVERITY_INFO);
	is_near(found(&enough, "parallel.poor_overlap")->share_of_step, 0.11);
	assert_null(enough.a.component);
	/* no overlap, but only 50 us = 5 % of communication */
	make_rank(&little.p, 0, 3, 900, 900, 950);
	judge(&little);
	assert_int_equal(found(&little, "parallel.poor_overlap")->severity, SEVERITY_INFO);
}

static void one_step_is_weak_evidence(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	make_rank(&j.p, 0, 1, 600, 600, 950);
	judge(&j);
	const struct finding *f = found(&j, "parallel.poor_overlap");

	assert_non_null(f);
	assert_int_equal(f->confidence, CONFIDENCE_MEDIUM);
	assert_true(f->step == 1);
}

static void what_a_threshold_says_can_be_changed(void **state)
{
	JUDGED_AUTO j = {0};
	struct thresholds t = THRESHOLDS_DEFAULT;

	(void)state;
	assert_int_equal(threshold_set(&t, "no_such", 1), SB_ENOENT);
	assert_null(threshold_get(&t, "no_such"));
	assert_int_equal(threshold_set(&t, "overlap_share", 0.01), SB_OK);
	/* 49 of 400 us are hidden: 12 % */
	assert_int_equal(threshold_set(&t, "hidden_share", 0.12), SB_OK);
	make_rank(&j.p, 0, 3, 600, 551, 951);
	judge_with(&j, &t);
	assert_int_equal(found(&j, "parallel.poor_overlap")->severity, SEVERITY_INFO);
	assert_string_equal(origin_name(threshold_get(&THRESHOLDS_DEFAULT, "overlap_share")->origin),
	                    "paper");
	assert_string_equal(origin_name(threshold_get(&t, "overlap_share")->origin), "configured");
}

static void a_threshold_is_set_by_a_text(void **state)
{
	static const char *const wrong[] = {"",
	                                    "overlap_share",
	                                    "overlap_share=",
	                                    "=1",
	                                    "overlap_share=x",
	                                    "overlap_share=-0.1",
	                                    "overlap_share=nan",
	                                    "overlap_share=inf",
	                                    "no_such=1",
	                                    "overlap_share =1"};
	struct thresholds t = THRESHOLDS_DEFAULT;
	struct sb_error err = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(threshold_set_text(&t, wrong[i], &err), SB_EINVAL);
		assert_string_equal(err.word, "usage");
	}
	assert_memory_equal(&t, &THRESHOLDS_DEFAULT, sizeof(t));
	assert_int_equal(threshold_set_text(&t, "overlap_share=0.1", &err), SB_OK);
	assert_true(threshold_get(&t, "overlap_share")->value == 0.1);
}

static void free_time_without_a_cause_is_the_hosts(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	make_rank(&j.p, 0, 3, 890, 0, 0); /* free 110 us = 11 % */
	judge(&j);
	const struct finding *f = found(&j, "cpu.host_bound");

	assert_non_null(f);
	is_near(f->share_of_step, 0.11);
	assert_true(f->gain_ns == 110000);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_string_equal(j.a.component, "cpu");
	make_rank(&near.p, 0, 3, 900, 0, 0); /* 10 % exactly */
	judge(&near);
	assert_int_equal(near.a.count, 0);
}

static void waiting_costs_its_idle_time_and_the_lead_it_lost(void **state)
{
	JUDGED_AUTO j = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	/* waits 10..25: idle inside 5 ms; after it at most 15 ms of the 35 that are left */
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", 10000000, 15000000, 1);
	judge(&j);
	is_near(found(&j, "cpu.synchronization")->share_of_step, 0.20);
	is_near(found(&j, "cpu.host_bound")->share_of_step, 0.20);
}

static void a_wait_while_the_device_works_is_free(void **state)
{
	JUDGED_AUTO j = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaDeviceSynchronize", 65000000, 40000000, 1);
	judge(&j);
	assert_null(found(&j, "cpu.synchronization"));
	assert_false(left_open(&j, "cpu.synchronization"));
}

static void compilation_counts_from_twenty_calls(void **state)
{
	(void)state;
	for (int calls = 19; calls <= 20; calls++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_rank(&j.p, 0, 1, 800, 0, 0);
		uint32_t host = add_lane(c, "CANN", "1", -1);

		/* 10 us each, the first in the free time 800..1000 */
		for (int64_t i = 0; i < calls; i++)
			add_event(c, host, EVENT_HOST_RUNTIME, "AscendCL@aclopCompileAndExecute",
			          (i == 0 ? 900 : 10 * i) * 1000, 10000, -1);
		judge(&j);
		const struct finding *f = found(&j, "cpu.compilation");

		assert_int_equal(f != NULL, calls == 20);
		if (f)
			is_near(f->share_of_step, 0.01);
	}
}

static void garbage_collection_needs_its_lane(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO none = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), gc = add_lane(c, "Python GC", "1", -1), host;

	(void)state;
	add_event(c, gpu, EVENT_KERNEL, "a", 0, 96000000, -1);
	add_event(c, gpu, EVENT_KERNEL, "b", 99000000, 21000000, -1);
	/* 2.5 ms of it idle, and then 0.5 ms until the host that it had stopped launches again: of 120 ms */
	add_event(c, gc, EVENT_OTHER, "GC", 95000000, 3500000, -1);
	add_event(c, gc, EVENT_OTHER, "GC", 10000000, 999999, -1); /* under 1 ms */
	judge(&j);
	is_near(found(&j, "cpu.garbage_collection")->share_of_step, 0.025);
	is_near(evidence_of(found(&j, "cpu.garbage_collection"), "collections"), 1);
	assert_int_equal(found(&j, "cpu.garbage_collection")->severity, SEVERITY_INFO);
	assert_null(j.a.component);
	make_gap(&none.p, &host);
	judge(&none);
	assert_true(left_open(&none, "cpu.garbage_collection"));
}

static void long_receives_are_the_pipelines_bubble(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 3, 700, 700, 1000);
	uint32_t group = add_lane(c, "Communication", "Group 0", -1);

	(void)state;
	for (int64_t s = 0; s < 3; s++)
		add_event(c, group, EVENT_COMMUNICATION, "hcom_receive__1_0_1", s * 1000000 + 700000, 280000,
		          -1);
	judge(&j);
	is_near(found(&j, "parallel.pipeline_bubble")->share_of_step, 0.28);
	/* what is exposed beside the bubble is 20 us = 2 %: just enough to be told */
	assert_int_equal(found(&j, "parallel.poor_overlap")->severity, SEVERITY_INFO);
	assert_null(found(&j, "unexplained"));
}

static void exposed_communication_without_a_cause_is_unexplained(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	/* overlap 250 is fine, exposed 210 */
	make_rank(&j.p, 0, 3, 790, 540, 1000);
	judge(&j);
	is_near(found(&j, "unexplained")->share_of_step, 0.21);
	assert_int_equal(found(&j, "unexplained")->confidence, CONFIDENCE_LOW);
	assert_string_equal(j.a.component, "unexplained");
	assert_null(j.a.cause);
	make_rank(&near.p, 0, 3, 800, 550, 1000);
	judge(&near);
	assert_null(found(&near, "unexplained"));
	assert_int_equal(near.a.count, 1);
	assert_int_equal(found(&near, "parallel.poor_overlap")->severity, SEVERITY_INFO);
}

static void at_most_eight_ranks_stand_for_a_code(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	for (int64_t rank = 0; rank < 12; rank++)
		make_rank(&j.p, rank, 3, 600 + rank, 600 + rank, 950);
	judge(&j);
	assert_int_equal(j.a.count, 8);
	for (size_t i = 0; i < 8; i++) {
		/* the least compute leaves the most communication exposed */
		assert_true(j.a.findings[i].rank == (int64_t)i);
		is_near(evidence_of(&j.a.findings[i], "ranks_affected"), 12);
	}
}

static void scaling_all_times_changes_no_share(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};
	struct capture *c;

	(void)state;
	make_rank(&j.p, 0, 3, 600, 551, 951);
	c = make_rank(&k.p, 0, 3, 600, 551, 951);
	for (size_t i = 0; i < c->trace.count; i++) {
		c->trace.start_ns[i] *= 7;
		c->trace.dur_ns[i] *= 7;
	}
	for (size_t i = 0; i < c->step_count; i++) {
		c->steps[i].start_ns *= 7;
		c->steps[i].dur_ns *= 7;
	}
	judge(&j);
	judge(&k);
	assert_int_equal(j.a.count, k.a.count);
	for (size_t i = 0; i < j.a.count; i++) {
		assert_string_equal(j.a.findings[i].code, k.a.findings[i].code);
		is_near(k.a.findings[i].share_of_step, j.a.findings[i].share_of_step);
		assert_true(k.a.findings[i].gain_ns == 7 * j.a.findings[i].gain_ns);
	}
}

static void the_tree_adds_up_to_the_step(void **state)
{
	JUDGED_AUTO j = {0};
	int64_t sum = 0;

	(void)state;
	make_rank(&j.p, 0, 3, 600, 551, 951);
	make_rank(&j.p, 1, 3, 700, 651, 951);
	judge(&j);
	assert_true(j.a.tree_count > 1);
	const struct tree_node *tree = j.a.tree,
	                       root = tree ? tree[0] : (struct tree_node){.first_child = -1};

	assert_true(root.time_ns == 3000000 && root.next == -1);
	for (int32_t n = root.first_child; n >= 0; n = tree[n].next)
		sum += tree[n].time_ns;
	assert_true(sum == 3000000);
}

static void a_profile_without_a_device_is_not_judged(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1);

	(void)state;
	add_step(c, 1, 0, 100);
	add_event(c, host, EVENT_HOST_OP, "aten::mm", 0, 50, -1);
	judge(&j);
	assert_int_equal(j.a.count, 0);
	assert_int_equal(j.a.tree_count, 0);
	assert_null(j.a.component);
	assert_int_equal(j.a.confidence, CONFIDENCE_LOW);
	assert_true(left_open(&j, "cpu.host_bound") && left_open(&j, "parallel.poor_overlap"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_healthy_profile_is_told_so),
	    cmocka_unit_test(poor_overlap_is_overlap_over_the_step),
	    cmocka_unit_test(confidence_needs_steps_and_a_margin),
	    cmocka_unit_test(overlap_at_the_limit_or_little_to_cover_is_fine),
	    cmocka_unit_test(one_step_is_weak_evidence),
	    cmocka_unit_test(what_a_threshold_says_can_be_changed),
	    cmocka_unit_test(a_threshold_is_set_by_a_text),
	    cmocka_unit_test(free_time_without_a_cause_is_the_hosts),
	    cmocka_unit_test(waiting_costs_its_idle_time_and_the_lead_it_lost),
	    cmocka_unit_test(a_wait_while_the_device_works_is_free),
	    cmocka_unit_test(compilation_counts_from_twenty_calls),
	    cmocka_unit_test(garbage_collection_needs_its_lane),
	    cmocka_unit_test(long_receives_are_the_pipelines_bubble),
	    cmocka_unit_test(exposed_communication_without_a_cause_is_unexplained),
	    cmocka_unit_test(at_most_eight_ranks_stand_for_a_code),
	    cmocka_unit_test(scaling_all_times_changes_no_share),
	    cmocka_unit_test(the_tree_adds_up_to_the_step),
	    cmocka_unit_test(a_profile_without_a_device_is_not_judged),
	};

	return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
