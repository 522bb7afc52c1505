#include "tests/unit/profiler/judged.h"

#include "profiler/findings/idle.h"

/* The gaps of a device and whose doing they are. All times by hand. */

/* The example of research page capabilities, 8.4: kernels 0-5 6-10 14-20 29-35 35-50, busy 36, idle 14. The
 * launches are ours: at -1, 2, 11, 15 and 30, so the gaps 10-14 and 20-29 are the host's and the device's. */
static void gaps_add_up_to_the_idle_time_and_have_a_cause(void **state)
{
	static const int64_t at[][3] = {{0, 5, -1}, {6, 10, 2}, {14, 20, 11}, {29, 35, 15}, {35, 50, 30}};
	struct profile p = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);
	INTERVALS_AUTO idle = {0};
	LAUNCHES_AUTO launches = {0};
	GAPS_AUTO gaps = {0};
	struct idle_sum sum = {0};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		add_event(c, gpu, EVENT_KERNEL, "k", at[i][0], at[i][1] - at[i][0], (int64_t)i + 1);
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at[i][2], 1, (int64_t)i + 1);
	}
	/* 100 ns of tolerance would make one of these gaps: the same in us */
	for (size_t i = 0; i < c->trace.count; i++) {
		c->trace.start_ns[i] *= 1000;
		c->trace.dur_ns[i] *= 1000;
	}
	assert_int_equal(intervals_add(&idle, 5000, 6000), SB_OK);
	assert_int_equal(intervals_add(&idle, 10000, 14000), SB_OK);
	assert_int_equal(intervals_add(&idle, 20000, 29000), SB_OK);
	assert_int_equal(launches_build(&c->trace, &launches), SB_OK);
	assert_int_equal(gaps_from(&idle, &gaps), SB_OK);
	for (size_t i = 0; i < c->trace.count; i++)
		if (c->trace.kind[i] == EVENT_KERNEL)
			gaps_meet(&gaps, &c->trace, &launches, i);
	assert_int_equal(gaps_sum(&gaps, &idle, 4500, &c->trace, &sum), SB_OK);
	assert_true(sum.total_ns == 14000 && sum.gaps == 3);
	assert_true(sum.host_ns == 4000 && sum.queued_ns == 10000);
	assert_true(sum.longest_count == 3 && sum.listed_ns == 14000);
	assert_true(sum.longest[0].start == 20000 && sum.longest[2].start == 5000);
	/* the host's gap of 4 us is short, and a kernel of 6 us ended it */
	assert_true(sum.starved_ns == 4000 && sum.starved == 1 && sum.starved_work_ns == 6000);
	assert_int_equal(sum.starved_gaps[0].start, 10000);
	free(sum.starved_gaps);
	profile_free(&p);
}

/* The longest are listed; with the smaller ones they are all of it. */
static void listed_gaps_and_smaller_ones_are_the_idle_time(void **state)
{
	struct idle_sum sum = {0};
	INTERVALS_AUTO idle = {0};
	GAPS_AUTO gaps = {0};
	struct trace t = {0};

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(intervals_add(&idle, i * 1000, i * 1000 + 1 + i), SB_OK);
	assert_int_equal(gaps_from(&idle, &gaps), SB_OK);
	assert_int_equal(gaps_sum(&gaps, &idle, 0, &t, &sum), SB_OK);
	/* 1 + … + 100, and 91 + … + 100 */
	assert_true(sum.total_ns == 5050 && sum.listed_ns == 955 && sum.longest_count == GAPS_LISTED);
	assert_true(sum.longest[0].end - sum.longest[0].start == 100);
	assert_true(sum.longest[9].end - sum.longest[9].start == 91);
	assert_true(sum.host_ns == 0 && sum.queued_ns == 0);
}

/* Kernels 0..20 and 60..100 ms: the gap of 40 ms ends with work that was launched at `launched`. */
static struct capture *make_launched_gap(struct profile *p, int64_t launched, uint32_t *out_host)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0);

	*out_host = add_lane(c, "python", "1", -1);
	add_event(c, gpu, EVENT_KERNEL, "a", 0, 20000000, -1);
	add_event(c, gpu, EVENT_KERNEL, "b", 60000000, 40000000, 5);
	add_event(c, *out_host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", launched, 5000, 5);
	return c;
}

static void what_was_in_the_queue_is_not_the_hosts_doing(void **state)
{
	JUDGED_AUTO queued = {0};
	JUDGED_AUTO late = {0};
	uint32_t host;
	struct capture *c = make_launched_gap(&queued.p, 1000000, &host);

	(void)state;
	/* a wait inside the gap stopped nobody */
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", 25000000, 30000000, 7);
	judge(&queued);
	assert_null(found(&queued, "cpu.host_bound"));
	assert_null(found(&queued, "cpu.synchronization"));
	/* nobody's doing that is known, and told: report 34 of research page user-pain */
	is_near(evidence_of(found(&queued, "unexplained"), "idle_with_work_in_the_queue_share"), 0.40);
	assert_int_equal(found(&queued, "unexplained")->severity, SEVERITY_INFO);
	assert_null(queued.a.component);
	make_launched_gap(&late.p, 59990000, &host);
	judge(&late);
	is_near(found(&late, "cpu.host_bound")->share_of_step, 0.40);
}

/* Two streams: while one is busy the device is not idle, however long the other waits. */
static void idle_is_the_devices_not_the_streams(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t one = add_lane(c, "GPU 0", "7", 0), two = add_lane(c, "GPU 0", "8", 0);

	(void)state;
	for (int64_t i = 0; i < 10; i++)
		add_event(c, i % 2 ? one : two, EVENT_KERNEL, "k", i * 1000000, 1000000, -1);
	judge(&j);
	assert_int_equal(j.b.rows[0].free_ns, 0);
	assert_int_equal(j.a.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gaps_add_up_to_the_idle_time_and_have_a_cause),
	    cmocka_unit_test(listed_gaps_and_smaller_ones_are_the_idle_time),
	    cmocka_unit_test(what_was_in_the_queue_is_not_the_hosts_doing),
	    cmocka_unit_test(idle_is_the_devices_not_the_streams),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
