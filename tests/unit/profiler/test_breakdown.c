#include "tests/unit/profiler/fixture.h"

#include "profiler/breakdown.h"

static struct breakdown compute(struct profile *p)
{
	struct breakdown b = {0};

	assert_int_equal(breakdown_compute(p, &p->warnings, &b, NULL), SB_OK);
	return b;
}

static void gpu_identities_hold(const struct breakdown *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct breakdown_row *r = &b->rows[i];

		if (r->span_ns == SB_NULL)
			continue;
		assert_true(r->communication_ns == r->exposed_ns + r->overlap_ns);
		assert_true(r->span_ns == r->compute_ns + r->exposed_ns + r->copy_exposed_ns + r->free_ns);
		assert_true(r->span_ns == r->busy_ns + r->free_ns);
	}
}

/* Two steps of 100; launches in them; a kernel launched in step 1 that runs during step 2. */
static void make_gpu(struct profile *p, int64_t scale)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1), s7 = add_lane(c, "GPU 0", "stream 7", 0),
	         s20 = add_lane(c, "GPU 0", "stream 20", 0);

	add_step(c, 1, 0, 100 * scale);
	add_step(c, 2, 100 * scale, 100 * scale);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 10 * scale, 2 * scale, 1);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 99 * scale, 2 * scale, 2);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 100 * scale, 2 * scale, 3);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaMemcpyAsync", 130 * scale, 2 * scale, 4);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 250 * scale, 2 * scale, 5);
	add_event(c, s7, EVENT_KERNEL, "k1", 20 * scale, 20 * scale, 1); /* step 1: 20..40 */
	add_event(c, s20, EVENT_COMMUNICATION, "ncclAllReduce", 30 * scale, 90 * scale,
	          2);                                                                   /* step 1: 30..120 */
	add_event(c, s7, EVENT_KERNEL, "k2", 110 * scale, 30 * scale, 3);               /* step 2: 110..140 */
	add_event(c, s20, EVENT_MEMCPY, "Memcpy HtoD", 135 * scale, 15 * scale, 4);     /* step 2: 135..150 */
	add_event(c, s20, EVENT_MEMSET, "Memset (Device)", 160 * scale, 5 * scale, -1); /* no launch */
	add_event(c, s7, EVENT_KERNEL, "k3", 260 * scale, 10 * scale, 5); /* outside every step */
	add_event(c, s7, EVENT_DEVICE_WAIT, "Stream Sync", 300 * scale, 100 * scale, 1); /* no work */
	add_event(c, s7, EVENT_DEVICE_ANNOTATION, "ProfilerStep#1", 0, 500 * scale, -1); /* no work */
}

static void a_gpu_event_belongs_to_the_step_that_launched_it(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};

	(void)state;
	make_gpu(&p, 1);
	b = compute(&p);
	assert_int_equal(b.count, 3);
	gpu_identities_hold(&b);
	const struct breakdown_row *one = &b.rows[0], *two = &b.rows[1], *all = &b.rows[2];

	assert_true(one->step == 1 && one->device == 0 && one->rank == 0 && one->step_ns == 100);
	assert_true(one->span_ns == 100 && one->compute_ns == 20 && one->communication_ns == 90);
	assert_true(one->overlap_ns == 10 && one->exposed_ns == 80 && one->free_ns == 0);
	assert_true(one->copy_ns == 0 && one->copy_exposed_ns == 0);
	assert_true(one->bubble_ns == SB_NULL && one->preparing_ns == SB_NULL);
	assert_true(two->step == 2 && two->span_ns == 40 && two->compute_ns == 30);
	assert_true(two->copy_ns == 15 && two->copy_exposed_ns == 10 && two->free_ns == 0);
	assert_true(all->step == SB_NULL && all->step_ns == SB_NULL && all->span_ns == 250);
	/* compute 20 + 30 + 10; communication 30..120 under 30..40 and 110..120; copies 140..150, 160..165 */
	assert_true(all->compute_ns == 60 && all->communication_ns == 90 && all->overlap_ns == 20);
	assert_true(all->exposed_ns == 70 && all->copy_ns == 20 && all->copy_exposed_ns == 15);
	assert_true(all->busy_ns == 145 && all->free_ns == 105);
}

static void scaling_all_times_scales_the_rows(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};
	BREAKDOWN_AUTO b = {0};
	BREAKDOWN_AUTO d = {0};

	(void)state;
	make_gpu(&p, 1);
	make_gpu(&q, 1000);
	b = compute(&p);
	d = compute(&q);
	assert_int_equal(b.count, d.count);
	for (size_t i = 0; i < b.count; i++) {
		assert_true(d.rows[i].span_ns == 1000 * b.rows[i].span_ns);
		assert_true(d.rows[i].compute_ns == 1000 * b.rows[i].compute_ns);
		assert_true(d.rows[i].exposed_ns == 1000 * b.rows[i].exposed_ns);
		assert_true(d.rows[i].copy_exposed_ns == 1000 * b.rows[i].copy_exposed_ns);
		assert_true(d.rows[i].free_ns == 1000 * b.rows[i].free_ns);
	}
}

static void devices_and_repeated_steps_have_their_own_rows(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, SB_NULL);
	uint32_t host = add_lane(c, "python", "1", -1), g3 = add_lane(c, "GPU 3", "7", 3),
	         g1 = add_lane(c, "GPU 1", "7", 1), unknown = add_lane(c, "GPU", "7", -1);

	(void)state;
	add_step(c, 7, 0, 100);
	add_step(c, 7, 40, 20); /* the same number again, inside the first window: it owns 40..60 */
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 10, 1, 9);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 50, 1, 8);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 70, 1, 7);
	add_event(c, g3, EVENT_KERNEL, "k", 1000, 5, 9);
	add_event(c, g3, EVENT_KERNEL, "k", 1010, 7, 8);
	add_event(c, g1, EVENT_KERNEL, "k", 1010, 3, 7);
	add_event(c, unknown, EVENT_KERNEL, "k", 1020, 0, -1);
	b = compute(&p);
	gpu_identities_hold(&b);
	assert_int_equal(b.count, 9);
	assert_true(b.rows[0].device == 1 && b.rows[3].device == 3 && b.rows[6].device == SB_NULL);
	assert_true(b.rows[0].compute_ns == 3 && b.rows[1].compute_ns == 0 && b.rows[2].step == SB_NULL);
	assert_true(b.rows[3].compute_ns == 5 && b.rows[4].compute_ns == 7 && b.rows[5].compute_ns == 12);
	assert_true(b.rows[3].step == 7 && b.rows[4].step == 7 && b.rows[4].step_ns == 20);
	/* an event of length 0 has a place and no length */
	assert_true(b.rows[8].span_ns == 0 && b.rows[8].compute_ns == 0 && b.rows[8].rank == SB_NULL);
}

static void of_two_launches_with_one_correlation_the_later_counts_in_any_order(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1), gpu = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	add_step(c, 1, 0, 100);
	add_step(c, 2, 100, 100);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 150, 1, 5);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 20, 1, 4);
	add_event(c, host, EVENT_HOST_RUNTIME, "l", 10, 1, 5);
	add_event(c, gpu, EVENT_KERNEL, "k", 160, 7, 5);
	b = compute(&p);
	assert_true(b.rows[0].compute_ns == 0 && b.rows[1].compute_ns == 7);
}

static void without_a_device_the_quantities_are_null(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 34);
	uint32_t host = add_lane(c, "python", "1", -1);

	(void)state;
	add_step(c, 4, 0, 100);
	add_event(c, host, EVENT_HOST_OP, "aten::mm", 10, 5, -1);
	b = compute(&p);
	assert_int_equal(b.count, 2);
	assert_true(b.rows[0].step == 4 && b.rows[0].step_ns == 100 && b.rows[0].device == SB_NULL);
	for (size_t i = 0; i < 2; i++)
		assert_true(b.rows[i].span_ns == SB_NULL && b.rows[i].compute_ns == SB_NULL &&
		            b.rows[i].free_ns == SB_NULL && b.rows[i].busy_ns == SB_NULL);
}

static void without_any_launch_a_step_is_unknown_and_not_zero(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	add_step(c, 1, 0, 100);
	add_event(c, gpu, EVENT_KERNEL, "k", 10, 20, -1);
	b = compute(&p);
	assert_true(b.rows[0].step_ns == 100 && b.rows[0].compute_ns == SB_NULL);
	assert_true(b.rows[1].compute_ns == 20);
}

/* The lane of one step: compute 10..20 and 25..30, communication 15..28, free 30..32. */
static struct capture *make_lane(struct profile *p)
{
	struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, 1);
	uint32_t lane = add_lane(c, "Overlap Analysis", "", -1),
	         group = add_lane(c, "Communication", "Group 0", -1);

	add_step(c, 50, 0, 40);
	add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", 10, 10, -1);
	add_event(c, lane, EVENT_LANE_COMMUNICATION, "Communication", 15, 13, -1);
	add_event(c, lane, EVENT_LANE_EXPOSED, "Communication(Not Overlapped)", 20, 5, -1);
	add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", 25, 5, -1);
	add_event(c, lane, EVENT_LANE_FREE, "Free", 30, 2, -1);
	add_event(c, group, EVENT_COMMUNICATION, "hcom_receive__1_0_1", 15, 4, -1);
	add_event(c, group, EVENT_COMMUNICATION, "hcom_allReduce__1_0_1", 19, 9, -1);
	return c;
}

static void the_ascend_lane_gives_its_own_sums(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};

	(void)state;
	(void)make_lane(&p);
	b = compute(&p);
	assert_int_equal(b.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct breakdown_row *r = &b.rows[i];

		assert_true(r->compute_ns == 15 && r->communication_ns == 13 && r->exposed_ns == 5);
		assert_true(r->overlap_ns == 8 && r->free_ns == 2 && r->bubble_ns == 4);
		assert_true(r->span_ns == 18 && r->busy_ns == 20 && r->copy_ns == SB_NULL);
		assert_true(r->span_ns + r->bubble_ns == r->compute_ns + r->exposed_ns + r->free_ns);
	}
	assert_true(b.rows[0].step == 50 && b.rows[0].preparing_ns == 10 && b.rows[0].step_ns == 40);
	assert_true(b.rows[1].step == SB_NULL && b.rows[1].preparing_ns == SB_NULL);
}

static void a_lane_that_does_not_tile_is_answered_by_union(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_lane(&p);

	(void)state;
	/* the first Computing event a second time: a plain sum would count it twice */
	add_event(c, 0, EVENT_LANE_COMPUTE, "Computing", 10, 10, -1);
	b = compute(&p);
	assert_true(b.rows[0].compute_ns == 15 && b.rows[0].exposed_ns == 5 && b.rows[0].free_ns == 2);
	assert_true(b.rows[0].span_ns + b.rows[0].bubble_ns == 22);
}

static void without_a_lane_the_kernels_answer(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	add_step(c, 3, SB_NULL, SB_NULL);
	add_step(c, 4, SB_NULL, SB_NULL);
	add_kernel(c, "MatMul1", "MatMul", "AI_CORE", 100, 50)->step = 3;
	add_kernel(c, "Add1", "Add", "AI_VECTOR_CORE", 140, 20)->step = 3;
	add_kernel(c, "hcom_allReduce_", "hcom_allReduce_", "HCCL", 150, 30)->step = 3;
	c->kernels[2].communication = true;
	add_kernel(c, "Add1", "Add", "AI_VECTOR_CORE", 200, 20)->step = 4;
	b = compute(&p);
	assert_int_equal(b.count, 3);
	assert_true(b.rows[0].compute_ns == 60 && b.rows[0].communication_ns == 30);
	assert_true(b.rows[0].overlap_ns == 10 && b.rows[0].exposed_ns == 20 && b.rows[0].free_ns == 0);
	assert_true(b.rows[0].span_ns == 80 && b.rows[0].step_ns == SB_NULL &&
	            b.rows[0].preparing_ns == SB_NULL);
	assert_true(b.rows[1].span_ns == 20);
	assert_true(b.rows[2].span_ns == 120 && b.rows[2].free_ns == 20);
	assert_int_equal(p.warnings.count, 0);
}

static void the_csv_is_the_last_resort_and_says_so(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	add_step(c, 50, SB_NULL, SB_NULL);
	c->step_traces = grown(NULL, 0, sizeof(*c->step_traces));
	c->step_trace_count = 1;
	/* the level 1 sample's rank 0: Stage is rounded to 136581.0 us, its parts add up to 136581.009 us */
	c->step_traces[0] = (struct step_trace){.step = 50,
	                                        .computing = 8873756,
	                                        .exposed = 101963203,
	                                        .overlapped = 4028675,
	                                        .communication = 105991878,
	                                        .free = 25744050,
	                                        .stage = 136581000,
	                                        .bubble = 0,
	                                        .preparing = 17902500};
	b = compute(&p);
	assert_int_equal(b.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(b.rows[i].span_ns == 136581009 && b.rows[i].busy_ns == 110836959);
		assert_true(b.rows[i].compute_ns == 8873756 && b.rows[i].preparing_ns == 17902500);
	}
	assert_int_equal(p.warnings.count, 1);
	assert_string_equal(p.warnings.items[0].code, "rounded_source");
}

static void a_csv_that_does_not_add_up_is_reported(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);

	(void)state;
	c->step_traces = grown(NULL, 0, sizeof(*c->step_traces));
	c->step_trace_count = 1;
	c->step_traces[0] = (struct step_trace){SB_NULL, 100, 50, 10, 60, 30, 1000, SB_NULL, SB_NULL};
	b = compute(&p);
	assert_int_equal(b.count, 1);
	assert_true(b.rows[0].span_ns == 1000 && b.rows[0].step == SB_NULL);
	assert_int_equal(p.warnings.count, 2);
}

/* Many overlapping steps and many events: bounded work, or this test does not end. */
static void many_nested_steps_are_no_quadratic_scan(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1), gpu = add_lane(c, "GPU 0", "7", 0);
	const int64_t n = 100000;
	int64_t sum = 0;

	(void)state;
	c->steps = calloc((size_t)n, sizeof(*c->steps));
	assert_non_null(c->steps);
	for (int64_t i = 0; i < n; i++) {
		c->steps[c->step_count++] = (struct step){i, i, 2 * n};
		add_event(c, host, EVENT_HOST_RUNTIME, "l", n + i, 1, i);
		add_event(c, gpu, EVENT_KERNEL, "k", 4 * n + 10 * i, 3, i);
	}
	b = compute(&p);
	assert_int_equal(b.count, n + 1);
	for (int64_t i = 0; i < n; i++)
		sum += b.rows[i].compute_ns;
	/* every launch lies in the window that began last, that of step n - 1 */
	assert_true(b.rows[n - 1].compute_ns == 3 * n && sum == 3 * n);
	assert_true(b.rows[n].compute_ns == 3 * n && b.rows[n].free_ns == 7 * (n - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_gpu_event_belongs_to_the_step_that_launched_it),
	    cmocka_unit_test(scaling_all_times_scales_the_rows),
	    cmocka_unit_test(devices_and_repeated_steps_have_their_own_rows),
	    cmocka_unit_test(of_two_launches_with_one_correlation_the_later_counts_in_any_order),
	    cmocka_unit_test(without_a_device_the_quantities_are_null),
	    cmocka_unit_test(without_any_launch_a_step_is_unknown_and_not_zero),
	    cmocka_unit_test(the_ascend_lane_gives_its_own_sums),
	    cmocka_unit_test(a_lane_that_does_not_tile_is_answered_by_union),
	    cmocka_unit_test(without_a_lane_the_kernels_answer),
	    cmocka_unit_test(the_csv_is_the_last_resort_and_says_so),
	    cmocka_unit_test(a_csv_that_does_not_add_up_is_reported),
	    cmocka_unit_test(many_nested_steps_are_no_quadratic_scan),
	};

	return cmocka_run_group_tests_name("breakdown", tests, NULL, NULL);
}
