#include "tests/unit/profiler/judged.h"

/* Who keeps a domain waiting, and when the answer is nobody. All times by hand; a step is 1000 us. */

/* Ranks with one operator a step: transmission and wait of each rank, us. All do the same besides. */
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

/* Two Ascend ranks; in step s rank late[s] computes 795 us and waits 5, the other one 600 and 200. */
static void make_pair(struct profile *p, const int *late, int64_t steps)
{
	for (int r = 0; r < 2; r++) {
		struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, r);
		uint32_t lane = add_lane(c, "Overlap Analysis", "", -1);

		for (int64_t s = 0; s < steps; s++) {
			int64_t at = s * 1000000, from = late[s] == r ? 795000 : 600000;

			add_step(c, s + 1, at, 1000000);
			add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", at, from, -1);
			add_event(c, lane, EVENT_LANE_COMMUNICATION, "Communication", at + from,
			          1000000 - from, -1);
			add_event(c, lane, EVENT_LANE_EXPOSED, "Communication(Not Overlapped)", at + from,
			          1000000 - from, -1);
			add_communication(c, s + 1, "hcom_allReduce__1_0_1", "77",
			                  (double)(1000000 - from) / 1000, 50, late[s] == r ? 5 : 200);
		}
	}
}

static void of_two_ranks_the_last_to_arrive_is_named_with_reserve(void **state)
{
	static const int late[] = {1, 1, 1};

	(void)state;
	for (int64_t steps = 1; steps <= 3; steps++) {
		JUDGED_AUTO j = {0};

		make_pair(&j.p, late, steps);
		judge(&j);
		const struct finding *f = found(&j, "communication.slow_rank");

		assert_non_null(f);
		assert_true(f->rank == 1);
		is_near(f->share_of_step, 0.195);
		/* seen once it is a hint; two ranks are never sure */
		assert_int_equal(f->severity, steps == 1 ? SEVERITY_INFO : SEVERITY_CRITICAL);
		assert_int_equal(f->confidence, steps == 1 ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
		if (steps > 1) {
			assert_true(f->gain_ns == 195000);
			is_near(evidence_of(f, "compute_over_others"), 795.0 / 600);
		}
	}
}

static void opposite_votes_name_nobody(void **state)
{
	static const int two[] = {0, 1}, four[] = {0, 1, 1, 0};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};

	(void)state;
	make_pair(&j.p, two, 2);
	judge(&j);
	assert_null(found(&j, "communication.slow_rank"));
	assert_false(left_open(&j, "communication.slow_rank"));
	make_pair(&k.p, four, 4);
	judge(&k);
	assert_null(found(&k, "communication.slow_rank"));
}

/* The first vector of the page, section 6.3: msprof's rule names rank 1. us. */
static void make_vector(struct profile *p, double synchronization)
{
	struct communication_op *op;

	op = add_communication(make_rank(p, 0, 1, 300, 300, 1000), 1, "hcom_allReduce__1_0_1", "77",
	                       645238.99, 9835.98, 635403.01);
	op->synchronization_us = synchronization;
	op = add_communication(make_rank(p, 1, 1, 300, 300, 1000), 1, "hcom_allReduce__1_0_1", "77",
	                       155606.34, 10851.8, 144754.54);
	op->synchronization_us = 0.33;
	for (size_t i = 0; i < p->count; i++) {
		/* the operators are those of a step of a second */
		for (size_t k = 0; k < p->captures[i].trace.count; k++) {
			p->captures[i].trace.start_ns[k] *= 1000;
			p->captures[i].trace.dur_ns[k] *= 1000;
		}
		p->captures[i].steps[0].dur_ns = 1000000000;
	}
}

static void published_vectors_of_the_slow_rank_rule(void **state)
{
	JUDGED_AUTO slow = {0};
	JUDGED_AUTO links = {0};

	(void)state;
	make_vector(&slow.p, 463943.66);
	judge(&slow);
	const struct finding *f = found(&slow, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 1);
	/* the page: R_wait is 0.0468, so the paper's rule names nobody; one step, two ranks: a hint */
	is_near(evidence_of(f, "r_wait"), 1 - (9835.98 + 10851.8) / 2 / 10851.8);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	assert_int_equal(f->severity, SEVERITY_INFO);
	/* without waiting before the transmission the links are unequal, and no rank is late by that rule */
	make_vector(&links.p, 0);
	judge(&links);
	f = found(&links, "communication.slow_rank");
	assert_true(!f || f->severity == SEVERITY_INFO);
}

/* Ranks of a GPU job: rank r computes until 500 us + late[r], then all reduce until 980 us. */
static void make_gpus(struct profile *p, int64_t ranks, const int64_t *late_ns, int64_t skew)
{
	for (int64_t r = 0; r < ranks; r++) {
		struct capture *c = make_capture(p, FORMAT_KINETO, r);
		uint32_t gpu = add_lane(c, "GPU", "7", 0), link = add_lane(c, "GPU", "20", 0),
		         host = add_lane(c, "python", "1", -1);

		for (int64_t s = 0; s < 3; s++) {
			int64_t at = s * 1000000 + r * skew;
			int64_t arrive = at + 500000 + late_ns[r];

			add_step(c, s, at, 1000000);
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, 2 * s);
			/* the loss is looked at: without it the host would not feel a faster step */
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", at + 2000, 980000,
			          -1);
			add_event(c, gpu, EVENT_KERNEL, "k", at, arrive - at, 2 * s);
			add_event(c, link, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce", arrive,
			          at + 980000 - arrive, 2 * s);
		}
	}
}

static void the_shortest_collective_names_the_slow_gpu(void **state)
{
	/* each rank is a little different, as clocks are; rank 2 is 200 us late; clocks are 40 ms apart */
	static const int64_t late[] = {0, 3000, 200000, 1000};
	JUDGED_AUTO j = {0};

	(void)state;
	make_gpus(&j.p, 4, late, 40000000);
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 2);
	assert_int_equal(f->confidence, CONFIDENCE_HIGH);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	/* the others wait 200, 197 and 199 us a step */
	is_near(evidence_of(f, "mean_wait_of_others_us"), 3 * 596.0 / 3);
	is_near(evidence_of(f, "compute_over_others"), 700.0 / 501);
	/* as fast as the rest it comes at 501 us, and rank 1 is the last, at 503 */
	assert_true(f->gain_ns >= 196990 && f->gain_ns <= 197010);
}

static void equal_ranks_and_clocks_apart_name_nobody(void **state)
{
	static const int64_t equal[8] = {0}, noise[8] = {0, 7000, 2000, 11000, 5000, 9000, 3000, 12000};
	static const int64_t little[4] = {0, 1000, 17000, 2000}, some[4] = {0, 500, 47000, 1000};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};
	JUDGED_AUTO l = {0};
	JUDGED_AUTO m = {0};

	(void)state;
	make_gpus(&j.p, 8, equal, 40000000);
	judge(&j);
	assert_null(found(&j, "communication.slow_rank"));
	make_gpus(&k.p, 8, noise, -40000000);
	judge(&k);
	assert_null(found(&k, "communication.slow_rank"));
	assert_false(left_open(&k, "communication.slow_rank"));
	/* an outlier, but of 1.6 % of the step */
	make_gpus(&l.p, 4, little, 0);
	judge(&l);
	assert_null(found(&l, "communication.slow_rank"));
	/* of 4.65 %: told, and no more */
	make_gpus(&m.p, 4, some, 0);
	judge(&m);
	assert_non_null(found(&m, "communication.slow_rank"));
	assert_int_equal(found(&m, "communication.slow_rank")->severity, SEVERITY_INFO);
}

static void a_rank_that_was_kept_waiting_itself_is_not_slow(void **state)
{
	JUDGED_AUTO j = {0};
	/* ranks 0 and 1 share the group "t", so do 2 and 3; 1 and 3 share "d" and 0 and 2 share "d2". Rank 3
	 * is late in "t": rank 2 waits there, and comes late to "d2" without having worked longer */
	static const int64_t t_from[] = {500, 500, 500, 700}, t_end = 750;
	static const int64_t quick[] = {550, 550, 750, 750};

	(void)state;
	for (int64_t r = 0; r < 4; r++) {
		struct capture *c = make_capture(&j.p, FORMAT_KINETO, r);
		uint32_t gpu = add_lane(c, "GPU", "7", 0), link = add_lane(c, "GPU", "20", 0),
		         host = add_lane(c, "python", "1", -1);

		for (int64_t s = 0; s < 3; s++) {
			int64_t at = s * 1000000, from = t_from[r] * 1000, end = (r < 2 ? 550 : t_end) * 1000;
			struct event_detail d = {.group = text_id(c, r < 2 ? "t0" : "t1"),
			                         .type = text_id(c, "allreduce"),
			                         .bytes = SB_NULL,
			                         .sequence = s};

			add_step(c, s, at, 1000000);
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, s);
			add_event(c, gpu, EVENT_KERNEL, "k", at, from, s);
			d.event = (uint32_t)c->trace.count;
			add_event(c, link, EVENT_COMMUNICATION, "nccl", at + from, end - from, s);
			assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
			d.event = (uint32_t)c->trace.count;
			d.group = text_id(c, r % 2 ? "d1" : "d0");
			add_event(c, link, EVENT_COMMUNICATION, "nccl", at + quick[r] * 1000,
			          (800 - quick[r]) * 1000, s);
			assert_int_equal(trace_append_detail(&c->trace, &d), SB_OK);
		}
	}
	judge(&j);
	for (size_t i = 0; i < j.a.count; i++)
		if (strcmp(j.a.findings[i].code, "communication.slow_rank") == 0)
			assert_true(j.a.findings[i].rank == 3);
	assert_non_null(found(&j, "communication.slow_rank"));
}

/* A rank of which only the step table is there: compute, exposed communication, idle, us. */
static void make_table(struct profile *p, int64_t rank, int64_t stage, int64_t compute, int64_t exposed,
                       int64_t idle, int64_t bubble)
{
	struct capture *c = make_capture(p, FORMAT_CLUSTER_ANALYSIS, rank);

	c->stage = stage;
	assert_int_equal(capture_add_step_trace(
	                     c, &(struct step_trace){.step = 2,
	                                             .computing = compute * 1000,
	                                             .exposed = exposed * 1000,
	                                             .overlapped = 0,
	                                             .communication = exposed * 1000,
	                                             .free = idle * 1000,
	                                             .stage = (compute + exposed + idle - bubble) * 1000,
	                                             .bubble = bubble * 1000,
	                                             .preparing = SB_NULL}),
	                 SB_OK);
}

static void step_tables_name_the_rank_that_communicates_least_if_it_shows_why(void **state)
{
	/* mpa_fixtures, ms as us: section 6.1 of the page: rank 1, on the host */
	static const int64_t exposed[] = {684, 133, 530, 266, 478, 756, 244, 539};
	static const int64_t idle[] = {991, 1489, 1110, 1367, 1131, 893, 1391, 1062};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};

	(void)state;
	for (int64_t r = 0; r < 8; r++)
		make_table(&j.p, r, SB_NULL, 80, exposed[r], idle[r], 0);
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 1);
	/* others' mean 499.571 less 133, of 1702; Dixon's test names nobody, so it is weak */
	is_near(evidence_of(f, "mean_wait_of_others_share"), (3497.0 / 7 - 133) / 1702);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	/* rank 1 idles 1489, the others' median is 1110 */
	is_near(evidence_of(f, "idle_over_others_us"), 379);
	/* less communication alone: all work and idle alike, the capture is shorter */
	for (int64_t r = 0; r < 8; r++)
		make_table(&k.p, r, SB_NULL, 800, exposed[r], 100, 0);
	judge(&k);
	assert_null(found(&k, "communication.slow_rank"));
}

static void stages_are_not_compared(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	/* stage 0 communicates 145, stage 1 the same and waits 70 in its bubble; within a stage all are alike
	 */
	for (int64_t r = 0; r < 8; r++)
		make_table(&j.p, r, r / 4, r < 4 ? 160 : 90, 145 + r % 4 + (r < 4 ? 0 : 70), 60,
		           r < 4 ? 0 : 70);
	judge(&j);
	assert_null(found(&j, "communication.slow_rank"));
	assert_false(left_open(&j, "communication.slow_rank"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_rank_that_transmits_longest_is_slow),
	    cmocka_unit_test(the_two_rules_together_are_sure),
	    cmocka_unit_test(of_two_ranks_the_last_to_arrive_is_named_with_reserve),
	    cmocka_unit_test(opposite_votes_name_nobody),
	    cmocka_unit_test(published_vectors_of_the_slow_rank_rule),
	    cmocka_unit_test(the_shortest_collective_names_the_slow_gpu),
	    cmocka_unit_test(equal_ranks_and_clocks_apart_name_nobody),
	    cmocka_unit_test(a_rank_that_was_kept_waiting_itself_is_not_slow),
	    cmocka_unit_test(step_tables_name_the_rank_that_communicates_least_if_it_shows_why),
	    cmocka_unit_test(stages_are_not_compared),
	};

	return cmocka_run_group_tests_name("slow rank", tests, NULL, NULL);
}
