#include "tests/unit/profiler/judged.h"

#include "profiler/findings/sequences.h"
#include "profiler/monitor.h"

/* Dispatch, collections, contention, environment, and the monitor of steps. All by hand. */

#define US 1000
#define MS INT64_C(1000000)

static void a_sequence_is_found_once_and_not_its_turns(void **state)
{
	/* a b c, each 2 us, one every 10 us: 8 times in a row, then 5 times d e */
	struct sequence_op ops[34] = {0};
	const struct sequence_rule rule = {
	    .occurrences = 5, .wall_ns = 1, .host_ratio = 0.4, .memory_ratio = 0.8, .small_ns = 10 * US};
	struct sequence out[SEQUENCES_MAX];
	uint8_t marks[34];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 34; i++)
		ops[i] = (struct sequence_op){.name = i < 24 ? 1 + i % 3 : 4 + i % 2,
		                              .index = (uint32_t)i,
		                              .start_ns = (int64_t)i * 10 * US,
		                              .dur_ns = 2 * US,
		                              .breaks = i == 0 || i == 24};
	assert_int_equal(sequences_find(ops, 34, &rule, out, &count, marks), SB_OK);
	/* the runs of three have most time: 8 times 22 us, of which 6 are work */
	assert_int_equal(count, 1);
	assert_true(out[0].length == 3 && out[0].occurrences == 8 && out[0].first == 0 && out[0].host);
	assert_true(out[0].wall_ns == 8 * 22 * US && out[0].work_ns == 8 * 6 * US);
	for (size_t i = 0; i < 34; i++)
		assert_int_equal(marks[i], i >= 24 ? SEQUENCE_NONE : i % 3 == 0 ? SEQUENCE_FIRST : 0);
	/* large operators are not what dispatch is slow with */
	for (size_t i = 0; i < 34; i++)
		ops[i].start_ns *= 100, ops[i].dur_ns *= 100;
	assert_int_equal(sequences_find(ops, 34, &rule, out, &count, marks), SB_OK);
	assert_int_equal(count, 0);
}

/* 100 kernels of 4 us, each launched 30 us after the one before. */
static void small_kernels_launched_too_late_are_dispatch(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);
	const struct finding *f;

	(void)state;
	for (int64_t i = 0; i < 100; i++) {
		char name[16];

		/* no two alike: nothing to fuse */
		snprintf(name, sizeof(name), "k%d", (int)i);
		add_event(c, gpu, EVENT_KERNEL, name, i * 30 * US, 4 * US, i + 1);
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", i * 30 * US - 5 * US, 3 * US,
		          i + 1);
	}
	judge(&j);
	f = found(&j, "cpu.dispatch");
	/* 99 gaps of 26 us in 99 * 30 + 4 */
	is_near(evidence_of(f, "starved_share"), 2574.0 / 2974);
	is_near(evidence_of(f, "mean_kernel_us"), 4);
	assert_null(found(&j, "cpu.host_bound"));
	assert_string_equal(j.a.cause, "dispatch");
}

/* A kernel of 2 ms that the host waits for, then 30 times a, b, c of 2 us, launched each 20 us. */
static void sequences_have_what_is_idle_between_their_operators(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);

	(void)state;
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", -5 * US, 3 * US, 1000);
	add_event(c, gpu, EVENT_KERNEL, "gemm", 0, 2000 * US, 1000);
	add_event(c, host, EVENT_HOST_RUNTIME, "cudaDeviceSynchronize", 10 * US, 1990 * US, -1);
	for (int64_t i = 0; i < 90; i++) {
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", (2010 + 20 * i) * US, 3 * US,
		          i + 1);
		add_event(c, gpu, EVENT_KERNEL, names[i % 3], (2015 + 20 * i) * US, 2 * US, i + 1);
	}
	judge(&j);
	/* 30 times two gaps of 18 us; the wait has the 29 between them, and the first, of 15 us; the whole
	 * ends with the last kernel, at 2015 + 89 * 20 + 2 */
	is_near(found(&j, "cpu.dispatch")->share_of_step, 1080.0 / 3797);
	is_near(found(&j, "cpu.synchronization")->share_of_step, (29 * 18 + 15) / 3797.0);
	/* b and c gone with 20 us each, only the 30 of a stay, in 2015 + 29 * 20 + 2; the host's last moment
	 * is the launch of the last a */
	assert_in_range(found(&j, "cpu.dispatch")->gain_ns, 1199 * US, 1201 * US);
}

/* Two operators bound by transfers, eight times; beside them a product that is not. */
static void only_what_is_bound_by_memory_is_fused_for_it(void **state)
{
	(void)state;
	for (int product = 0; product < 2; product++) {
		struct sequence_op ops[16] = {0};
		const struct sequence_rule rule = {.occurrences = 5,
		                                   .wall_ns = 1,
		                                   .host_ratio = 0.4,
		                                   .memory_ratio = 0.8,
		                                   .small_ns = 10 * US};
		struct sequence out[SEQUENCES_MAX];
		uint8_t marks[16];
		size_t count = 0;

		for (size_t i = 0; i < 16; i++) {
			bool other = product && i % 2 == 0;

			/* the product takes 5 us of 50, so the sum alone would pass */
			ops[i] = (struct sequence_op){.name = 1 + i % 2,
			                              .index = (uint32_t)i,
			                              .start_ns = (int64_t)i * 50 * US,
			                              .dur_ns = (other ? 5 : 45) * US,
			                              .memory_ns = other ? 0 : 43 * US,
			                              .breaks = i == 0};
		}
		assert_int_equal(sequences_find(ops, 16, &rule, out, &count, marks), SB_OK);
		assert_int_equal(count, product ? 0 : 1);
	}
}

/* Two idle times of 300 ms; in the second the host makes calls. */
static void silence_is_a_collection_maybe(void **state)
{
	(void)state;
	for (int times = 1; times <= 2; times++) {
		JUDGED_AUTO j = {0};
		struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
		uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);
		const struct finding *f;

		for (int64_t i = 0; i < 3; i++)
			add_event(c, gpu, EVENT_KERNEL, "k", i * 1300 * MS, 1000 * MS, -1);
		add_event(c, host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", 0, 5 * US, 1);
		for (int64_t i = 0; i < 40 && times == 1; i++)
			add_event(c, host, EVENT_HOST_RUNTIME, "cudaMemGetInfo", 2310 * MS + i * 5 * MS, US,
			          2);
		judge(&j);
		f = found(&j, "cpu.garbage_collection");
		assert_non_null(f);
		assert_int_equal(f->confidence, CONFIDENCE_LOW);
		is_near(evidence_of(f, "conjectured_collections"), times);
		/* one may be anything: then the host has the idle time */
		assert_int_equal(f->severity > SEVERITY_INFO, times == 2);
		assert_int_equal(found(&j, "cpu.host_bound") != NULL, times == 1);
	}
}

/* The host of rank `slow` takes three times as long for each of its six calls. */
static void make_hosts(struct profile *p, int64_t slow, bool slow_device)
{
	static const char *const names[] = {"aten::a", "aten::b", "aten::c", "aten::d", "aten::e", "aten::f"};

	for (int64_t r = 0; r < 4; r++) {
		struct capture *c = make_capture(p, FORMAT_KINETO, r);
		uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);
		int64_t factor = r == slow ? 3 : 1, work = slow_device && r == slow ? 90 : 45;

		for (int64_t i = 0; i < 60; i++) {
			int64_t at = i * 50 * factor * US;

			add_event(c, host, EVENT_HOST_OP, names[i % 6], at, 40 * factor * US, -1);
			add_event(c, gpu, EVENT_KERNEL, names[i % 6] + 6, at + 40 * factor * US, work * US,
			          -1);
		}
	}
}

static void one_slow_host_of_four_is_contention(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO equal = {0};
	JUDGED_AUTO device = {0};
	const struct finding *f;

	(void)state;
	make_hosts(&j.p, 3, false);
	judge(&j);
	f = found(&j, "cpu.contention");
	assert_non_null(f);
	assert_true(f->rank == 3);
	is_near(evidence_of(f, "host_over_other_ranks"), 3);
	is_near(evidence_of(f, "kernels_over_the_same"), 1);
	make_hosts(&equal.p, -1, false);
	judge(&equal);
	assert_null(found(&equal, "cpu.contention"));
	/* a rank whose device is slow, too, does more work */
	make_hosts(&device.p, 3, true);
	judge(&device);
	assert_null(found(&device, "cpu.contention"));
}

static void variables_are_told_without_a_cost(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 3, 950, 700, 960);
	static const char *const set[][2] = {{"ASCEND_GLOBAL_LOG_LEVEL", "1"},
	                                     {"ACLNN_CACHE_LIMIT", "100000"},
	                                     {"ASCEND_LAUNCH_BLOCKING", ""}};
	const struct finding *f;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		c->environment = grown(c->environment, c->environment_count, sizeof(*c->environment));
		c->environment[c->environment_count++] =
		    (struct environment){text_id(c, set[i][0]), *set[i][1] ? text_id(c, set[i][1]) : 0};
	}
	judge(&j);
	f = found(&j, "cpu.environment");
	assert_non_null(f);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->operator_count, 1);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL),
	                    "ASCEND_GLOBAL_LOG_LEVEL = 1; advised: 3: log errors only");
	assert_null(j.a.component);
}

/* ascend-formats 1.11: "" is a variable that is not set. That matters where the default is not what is
 * advised.
 */
static void variables_that_are_not_set(void **state)
{
	static const char *const names[] = {"ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC",
	                                    "ASCEND_LAUNCH_BLOCKING", "HOST_CACHE_CAPACITY"};
	JUDGED_AUTO j = {0};
	struct capture *c = make_rank(&j.p, 0, 3, 950, 700, 960);
	const struct finding *f;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		c->environment = grown(c->environment, c->environment_count, sizeof(*c->environment));
		c->environment[c->environment_count++] = (struct environment){.name = text_id(c, names[i])};
	}
	judge(&j);
	f = found(&j, "cpu.environment");
	assert_non_null(f);
	assert_int_equal(f->operator_count, 1);
	assert_non_null(
	    strstr(sb_strings_get(j.a.strings, f->operators[0], NULL), "HOST_CACHE_CAPACITY is not set"));
}

static void the_monitor_marks_what_is_a_tenth_above_the_median(void **state)
{
	/* the first is warm-up; 110 is not above 1.1 times 100, 111 is; a checkpoint is not judged */
	static const int64_t dur[] = {900, 100, 100, 100, 110, 111, 100, 500, 100};
	static const bool checkpoint[] = {false, false, false, false, false, false, false, true, false};
	static const bool want[] = {false, false, false, false, false, true, false, false, false};
	bool slow[9];

	(void)state;
	assert_int_equal(monitor_steps(&MONITOR_DEFAULT, dur, checkpoint, 9, slow), 1);
	assert_memory_equal(slow, want, sizeof(want));
	assert_int_equal(monitor_steps(&MONITOR_DEFAULT, dur, NULL, 9, slow), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sequence_is_found_once_and_not_its_turns),
	    cmocka_unit_test(small_kernels_launched_too_late_are_dispatch),
	    cmocka_unit_test(sequences_have_what_is_idle_between_their_operators),
	    cmocka_unit_test(only_what_is_bound_by_memory_is_fused_for_it),
	    cmocka_unit_test(silence_is_a_collection_maybe),
	    cmocka_unit_test(one_slow_host_of_four_is_contention),
	    cmocka_unit_test(variables_are_told_without_a_cost),
	    cmocka_unit_test(variables_that_are_not_set),
	    cmocka_unit_test(the_monitor_marks_what_is_a_tenth_above_the_median),
	};

	return cmocka_run_group_tests_name("host findings", tests, NULL, NULL);
}
