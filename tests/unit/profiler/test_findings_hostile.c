#include <time.h>

#include "profiler/findings/host_part.h"
#include "tests/unit/profiler/judged.h"

/* What no sane job writes, and what a source does not say: no invented cost comes of it. A step is 1000 us.
 */

static struct step_trace *add_step_trace(struct capture *c, struct step_trace t)
{
	c->step_traces = grown(c->step_traces, c->step_trace_count, sizeof(t));
	c->step_traces[c->step_trace_count] = t;
	return &c->step_traces[c->step_trace_count++];
}

static void rows_without_a_step_have_no_span_to_share(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_ASCEND_TEXT, 0);
	struct step_trace row = {.step = SB_NULL,
	                         .computing = 500000,
	                         .exposed = 300000,
	                         .overlapped = 0,
	                         .communication = 300000,
	                         .free = 200000,
	                         .stage = 900000,
	                         .bubble = 100000,
	                         .preparing = SB_NULL};

	(void)state;
	/* the span over two rows is not known: their bubbles are not the step */
	add_step_trace(c, row);
	add_step_trace(c, row);
	judge(&j);
	assert_int_equal(j.b.count, 1);
	const struct breakdown_row r = j.b.rows ? j.b.rows[0] : (struct breakdown_row){0};

	assert_true(r.span_ns == SB_NULL && r.bubble_ns == 200000);
	assert_int_equal(j.a.count, 0);
}

static void a_missing_bubble_is_not_zero(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	add_step_trace(c, (struct step_trace){.step = SB_NULL,
	                                      .computing = 500000,
	                                      .exposed = 300000,
	                                      .overlapped = 0,
	                                      .communication = 300000,
	                                      .free = 200000,
	                                      .stage = 1000000,
	                                      .bubble = SB_NULL,
	                                      .preparing = SB_NULL});
	judge(&j);
	assert_int_equal(j.b.count, 1);
	const struct breakdown_row r = j.b.rows ? j.b.rows[0] : (struct breakdown_row){0};

	assert_true(r.bubble_ns == SB_NULL);
	assert_true(r.span_ns == 1000000 && r.busy_ns == 800000);
	assert_true(left_open(&j, "parallel.pipeline_bubble"));
}

static void counts_of_calls_do_not_wrap(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 1, 990, 0, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		c->apis = grown(c->apis, c->api_count, sizeof(*c->apis));
		c->apis[c->api_count++] =
		    (struct api_row){0, text_id(c, "aclopCompileAndExecute"), INT64_MAX, INT64_MAX};
	}
	judge(&j);
	is_near(evidence_of(found(&j, "cpu.compilation"), "compilations"), 0x1p63);
}

static void conversions_that_take_no_time_are_no_share(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 3, 990, 0, 0);

	(void)state;
	add_kernel(c, "trans", "TransData", "AI_VECTOR_CORE", 0, 0);
	judge(&j);
	assert_false(left_open(&j, "compute.format_conversion"));
	assert_null(found(&j, "compute.format_conversion"));
}

static void a_gain_is_at_most_the_cost(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	/* exposed: 900 to 1000. Rank 1 transmits 1000 us a step: R_wait = 1 - 750/1000, of which 250 us would
	 * be lost if it were not for the compute that covers most of it */
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = make_rank(&j.p, r, 3, 900, 0, 1000);

		for (int64_t s = 1; s <= 3; s++)
			add_communication(c, s, "hcom_allReduce__1_0_1", "77", 1000, r == 0 ? 500 : 1000,
			                  r == 0 ? 500 : 0);
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	is_near(f->share_of_step, 0.1);
	assert_true(f->rank == 1 && f->gain_ns == 100000);
}

static void a_number_used_twice_by_one_rank_is_no_comparison(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	/* rank 1 comes last in the 3 collectives that both ranks have, and used 4 other numbers twice */
	for (int64_t r = 0; r < 2; r++) {
		struct capture *c = make_capture(&j.p, FORMAT_KINETO, r);
		uint32_t gpu = add_lane(c, "GPU", "7", 0), host = add_lane(c, "python", "1", -1);

		for (int64_t s = 0; s < 3; s++) {
			int64_t at = s * 1000000, arrive = at + (r == 1 ? 700000 : 400000);

			add_step(c, s, at, 1000000);
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at, 1000, s);
			add_event(c, gpu, EVENT_KERNEL, "k", at, arrive - at, s);
			add_event(c, gpu, EVENT_COMMUNICATION, "nccl", arrive, at + 900000 - arrive, s);
			assert_int_equal(
			    trace_append_detail(&c->trace,
			                        &(struct event_detail){.bytes = SB_NULL, .sequence = s}),
			    SB_OK);
		}
		for (int i = 0; i < 8 && r == 0; i++) {
			add_event(c, gpu, EVENT_COMMUNICATION, "nccl", 2900000 + i * 2000, i % 2 ? 100 : 1000,
			          2);
			assert_int_equal(
			    trace_append_detail(
			        &c->trace, &(struct event_detail){.bytes = SB_NULL, .sequence = 10 + i / 2}),
			    SB_OK);
		}
	}
	judge(&j);
	const struct finding *f = found(&j, "communication.slow_rank");

	assert_non_null(f);
	assert_true(f->rank == 1);
	is_near(evidence_of(f, "collectives_it_was_last_in"), 1);
}

/* One finding a rank: to look through all of them for each rank would take minutes. */
static void a_hundred_thousand_ranks_are_judged(void **state)
{
	enum { RANKS = 100000 };
	JUDGED_AUTO j = {0};
	clock_t begin = clock();

	(void)state;
	for (int i = 0; i < RANKS; i++)
		add_step_trace(make_capture(&j.p, FORMAT_ASCEND_TEXT, i),
		               (struct step_trace){.step = 1,
		                                   .computing = 500000,
		                                   .exposed = 300000,
		                                   .overlapped = 0,
		                                   .communication = 300000,
		                                   .free = 200000,
		                                   .stage = 1000000,
		                                   .bubble = 0,
		                                   .preparing = SB_NULL});
	judge(&j);
	assert_int_equal(j.b.count, RANKS);
	assert_true(j.a.count > 0);
	assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
}

/* 2^20 events for 128 devices: half of them is as much as is looked through. A few devices are all judged. */
static void a_capture_of_very_many_devices_is_judged_in_part(void **state)
{
	enum { DEVICES = 128, EVENTS = 1 << 20 };
	const struct collectives none = {0};
	struct check_context ctx = {.t = &THRESHOLDS_DEFAULT, .collectives = &none};
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);

	(void)state;
	for (int i = 0; i < DEVICES; i++)
		add_lane(c, "GPU", "stream 7", i);
	for (int i = 0; i < EVENTS; i++)
		add_event(c, (uint32_t)i % DEVICES, EVENT_KERNEL, "k", i, 1, -1);
	for (size_t events = EVENTS; events > 0; events = events > DEVICES ? DEVICES : 0) {
		c->trace.count = events;
		assert_int_equal(breakdown_compute(&j.p, &j.p.warnings, &j.b, NULL), SB_OK);
		assert_int_equal(j.b.count, DEVICES);
		ctx.p = &j.p;
		ctx.b = &j.b;
		assert_int_equal(views_build(&ctx), SB_OK);
		/* 2^26 / (2^20 + 1) is 63: the least counts */
		assert_int_equal(ctx.view_count, events == EVENTS ? VIEWS_LEAST : DEVICES);
		assert_int_equal(ctx.views_left_out, events == EVENTS);
		for (size_t i = 0; i < ctx.view_count; i++)
			assert_int_equal(ctx.views[i].device, i);
		for (size_t i = 0; i < j.p.count; i++)
			host_part_free(&ctx.hosts[i]);
		free(ctx.hosts);
		views_free(&ctx);
		ctx.views_left_out = false;
		breakdown_free(&j.b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_without_a_step_have_no_span_to_share),
	    cmocka_unit_test(a_missing_bubble_is_not_zero),
	    cmocka_unit_test(counts_of_calls_do_not_wrap),
	    cmocka_unit_test(conversions_that_take_no_time_are_no_share),
	    cmocka_unit_test(a_gain_is_at_most_the_cost),
	    cmocka_unit_test(a_number_used_twice_by_one_rank_is_no_comparison),
	    cmocka_unit_test(a_hundred_thousand_ranks_are_judged),
	    cmocka_unit_test(a_capture_of_very_many_devices_is_judged_in_part),
	};

	return cmocka_run_group_tests_name("findings of hostile profiles", tests, NULL, NULL);
}
