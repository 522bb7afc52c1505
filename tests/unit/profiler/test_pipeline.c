#include "tests/unit/profiler/judged.h"

/* The bubble of a pipeline, and what ranks wait for one another. All times by hand. */

#define US INT64_C(1000)
#define MS INT64_C(1000000)

struct stage_made {
	struct capture *c;
	uint32_t gpu, link;
};

static struct stage_made make_stage(struct profile *p, int64_t rank, int64_t stage)
{
	struct stage_made s = {.c = make_capture(p, FORMAT_KINETO, rank)};

	s.c->stage = stage;
	s.gpu = add_lane(s.c, "GPU 0", "7", 0);
	s.link = add_lane(s.c, "GPU 0", "20", 0);
	return s;
}

/* NCCL has one kernel for sends and receives: the collective's name beside it tells them apart. */
static void add_exchange(const struct stage_made *s, const char *type, int64_t start, int64_t dur)
{
	struct event_detail d = {.event = (uint32_t)s->c->trace.count,
	                         .type = type ? text_id(s->c, type) : 0,
	                         .bytes = SB_NULL,
	                         .sequence = SB_NULL};

	add_event(s->c, s->link, EVENT_COMMUNICATION, "ncclDevKernel_SendRecv", start, dur, -1);
	assert_int_equal(trace_append_detail(&s->c->trace, &d), SB_OK);
}

/* 100 ms: computes 0..60 and 85..100; an exchange 50..85, of which 25 are under no compute. */
static void make_receiver(struct profile *p, const char *type)
{
	struct stage_made s = make_stage(p, 0, SB_NULL);

	add_event(s.c, s.gpu, EVENT_KERNEL, "gemm", 0, 60 * MS, -1);
	add_exchange(&s, type, 50 * MS, 35 * MS);
	add_event(s.c, s.gpu, EVENT_KERNEL, "gemm", 85 * MS, 15 * MS, -1);
}

static void on_gpus_exposed_receives_are_the_bubble(void **state)
{
	static const char *const receives[] = {"recv", "irecv", "nccl:recv 0<-1", "hcom_receive_"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		JUDGED_AUTO j = {0};
		const struct finding *f;

		make_receiver(&j.p, receives[i]);
		judge(&j);
		f = found(&j, "parallel.pipeline_bubble");
		assert_non_null(f);
		is_near(f->share_of_step, 0.25);
		is_near(evidence_of(f, "bubble_us"), 25000);
		is_near(evidence_of(f, "receives_per_step"), 1);
	}
}

static void what_may_be_an_exchange_of_all_is_no_bubble(void **state)
{
	static const char *const others[] = {"send", "all_to_allv", NULL};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		JUDGED_AUTO j = {0};

		make_receiver(&j.p, others[i]);
		judge(&j);
		assert_null(found(&j, "parallel.pipeline_bubble"));
		/* not known is not the same as none */
		if (!others[i])
			assert_true(left_open(&j, "parallel.pipeline_bubble"));
	}
}

/* Four stages with four micro-batches. A stage computes what it is given, and receives from where it may: the
 * ends four times, those between twice as often. What is left of 100 ms it waits. */
static void make_pipeline(struct profile *p, const int64_t compute_ms[4])
{
	for (int64_t k = 0; k < 4; k++) {
		struct stage_made s = make_stage(p, k, k);
		int64_t n = k == 0 || k == 3 ? 4 : 8, wait = (100 - compute_ms[k]) * MS / n, at = 0;

		for (int64_t i = 0; i < n; i++) {
			add_exchange(&s, "recv", at, wait);
			add_event(s.c, s.gpu, EVENT_KERNEL, "gemm", at + wait, compute_ms[k] * MS / n, -1);
			at += 100 * MS / n;
		}
	}
}

static void stages_are_compared(void **state)
{
	/* (4 - 1) / (4 + 4 - 1) of a step is what four equal stages wait with four micro-batches */
	static const int64_t equal[4] = {56, 56, 56, 56}, unequal[4] = {96, 56, 40, 48};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};
	const struct finding *f;

	(void)state;
	make_pipeline(&j.p, equal);
	judge(&j);
	f = found(&j, "parallel.pipeline_bubble");
	is_near(f->share_of_step, 0.44);
	is_near(evidence_of(f, "stages"), 4);
	is_near(evidence_of(f, "slowest_stage_over_mean"), 1);
	for (size_t i = 0; i < j.a.count; i++)
		if (strcmp(j.a.findings[i].code, "parallel.pipeline_bubble") == 0)
			is_near(evidence_of(&j.a.findings[i], "bubble_share_of_equal_stages"), 3.0 / 7);
	assert_true(f->gain_ns == 44 * MS);

	make_pipeline(&k.p, unequal);
	judge(&k);
	f = found(&k, "parallel.pipeline_bubble");
	/* 96 over a mean of 60; spread evenly each computes 60 of 100, and the second waits 44 */
	is_near(evidence_of(f, "slowest_stage_over_mean"), 1.6);
	assert_true(f->gain_ns == 40 * MS);
	/* the first stage waits 4 % and is no finding */
	for (size_t i = 0; i < k.a.count; i++)
		if (strcmp(k.a.findings[i].code, "parallel.pipeline_bubble") == 0)
			assert_true(k.a.findings[i].rank != 0);
}

/* A table of a pipeline's stage: 600 ms of it, 400 more of waiting; its step by another file. */
static void make_table(struct profile *p, int64_t step_ms)
{
	struct capture *c = make_capture(p, FORMAT_MINDINSIGHT, 1);

	add_step(c, 1, 0, step_ms * MS);
	c->step_traces = grown(c->step_traces, c->step_trace_count, sizeof(*c->step_traces));
	c->step_traces[c->step_trace_count++] = (struct step_trace){.step = 1,
	                                                            .computing = SB_NULL,
	                                                            .exposed = 500 * MS,
	                                                            .overlapped = SB_NULL,
	                                                            .communication = SB_NULL,
	                                                            .free = SB_NULL,
	                                                            .stage = 600 * MS,
	                                                            .bubble = 400 * MS,
	                                                            .preparing = SB_NULL};
}

static void two_files_that_contradict_make_no_sure_finding(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO other = {0};
	const struct finding *f;

	(void)state;
	make_table(&j.p, 1000);
	judge(&j);
	f = found(&j, "parallel.pipeline_bubble");
	is_near(f->share_of_step, 0.40);
	is_near(evidence_of(f, "step_us"), 1e6);
	/* one step */
	assert_int_equal(f->confidence, CONFIDENCE_MEDIUM);
	/* a step of 20 ms cannot wait for 400: the share is of what the table calls a step, and says so */
	make_table(&other.p, 20);
	judge(&other);
	f = found(&other, "parallel.pipeline_bubble");
	is_near(f->share_of_step, 0.40);
	is_near(evidence_of(f, "step_us"), 1e6);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	assert_int_equal(other.a.confidence, CONFIDENCE_LOW);
}

/* Three ranks compute `own` ms and then meet in a collective that transmits for 4 ms; 100 ms in all. */
static void make_meeting(struct profile *p, const int64_t own[3])
{
	for (int64_t r = 0; r < 3; r++) {
		struct stage_made s = make_stage(p, r, SB_NULL);
		struct event_detail d = {.event = 1,
		                         .type = text_id(s.c, "allreduce"),
		                         .group = text_id(s.c, "dp"),
		                         .ranks = text_id(s.c, "[0, 1, 2]"),
		                         .bytes = 1000,
		                         .sequence = 1};

		add_event(s.c, s.gpu, EVENT_KERNEL, "gemm", 0, own[r] * MS, -1);
		add_event(s.c, s.link, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce", own[r] * MS,
		          (100 - own[r]) * MS, -1);
		assert_int_equal(trace_append_detail(&s.c->trace, &d), SB_OK);
	}
}

/* No compute can cover the wait for a rank that is late: it is no matter of overlap. */
static void waiting_for_a_late_rank_is_no_poor_overlap(void **state)
{
	static const int64_t late[3] = {70, 96, 70}, together[3] = {70, 70, 70};
	JUDGED_AUTO j = {0};
	JUDGED_AUTO k = {0};

	(void)state;
	make_meeting(&j.p, late);
	judge(&j);
	/* 4 of 100 ms are transmitted on each rank, 26 the others wait */
	is_near(found(&j, "parallel.poor_overlap")->share_of_step, 0.04);
	assert_int_equal(found(&j, "parallel.poor_overlap")->severity, SEVERITY_INFO);
	make_meeting(&k.p, together);
	judge(&k);
	is_near(found(&k, "parallel.poor_overlap")->share_of_step, 0.30);
	assert_int_equal(found(&k, "parallel.poor_overlap")->severity, SEVERITY_CRITICAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(on_gpus_exposed_receives_are_the_bubble),
	    cmocka_unit_test(what_may_be_an_exchange_of_all_is_no_bubble),
	    cmocka_unit_test(stages_are_compared),
	    cmocka_unit_test(waiting_for_a_late_rank_is_no_poor_overlap),
	    cmocka_unit_test(two_files_that_contradict_make_no_sure_finding),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
