#include "tests/unit/profiler/judged.h"

#include "profiler/findings/idle.h"
#include "profiler/findings/sequences.h"
#include "profiler/monitor.h"

/* Section D of research page user-pain: reports of wrong numbers in summaries, by their numbers there. 30, 36
 * and 37 have their tests with breakdown, timeline and operators; 39 with the critical path. */

#define US 1000

/* 28: communication by the library's mark in any case of letters; none is 0 and never NaN. */
static void d28_no_communication_is_zero(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	add_event(c, gpu, EVENT_KERNEL, "gemm", 0, 100 * US, -1);
	judge(&j);
	assert_true(j.b.rows[0].communication_ns == 0 && j.b.rows[0].exposed_ns == 0);
	assert_null(found(&j, "parallel.poor_overlap"));
	assert_false(left_open(&j, "parallel.poor_overlap"));
}

/* Compute 0..600, a collective from `from` to `to` us beside it, compute again to 1000: exposed is what no
 * compute covers. */
static void make_exposed(struct profile *p, int64_t from, int64_t to)
{
	struct capture *c = make_capture(p, FORMAT_KINETO, 0);
	uint32_t one = add_lane(c, "GPU 0", "7", 0), two = add_lane(c, "GPU 0", "8", 0);

	add_event(c, one, EVENT_KERNEL, "gemm", 0, 600 * US, -1);
	add_event(c, two, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce", from * US, (to - from) * US, -1);
	add_event(c, one, EVENT_KERNEL, "gemm", to * US, (1000 - to) * US, -1);
}

/* 29 and 34: exposed communication is told beside all of it; under 2 % of the span it is nothing, between the
 * thresholds an info, and only little overlap makes it a bottleneck. */
static void d29_d34_moderate_communication_is_told_as_info(void **state)
{
	static const struct {
		int64_t from, to; /* exposed: to - 600 of 1000 us */
		int severity;     /* -1 = no finding */
	} cases[] = {{560, 619, -1},
	             {560, 620, SEVERITY_INFO},
	             {560, 645, SEVERITY_INFO},
	             {400, 700, SEVERITY_INFO},
	             {560, 700, SEVERITY_WARNING}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		JUDGED_AUTO j = {0};
		const struct finding *f;

		make_exposed(&j.p, cases[i].from, cases[i].to);
		judge(&j);
		f = found(&j, "parallel.poor_overlap");
		assert_int_equal(f != NULL, cases[i].severity >= 0);
		if (!f)
			continue;
		is_near(evidence_of(f, "exposed_us"), (double)(cases[i].to - 600));
		is_near(evidence_of(f, "step_us"), 1000);
		if (cases[i].severity == SEVERITY_INFO)
			assert_int_equal(f->severity, SEVERITY_INFO);
		else
			assert_true(f->severity >= SEVERITY_WARNING);
	}
}

/* 32 and 33: one currency, the device's wall time; what is listed and the smaller gaps are all of it. */
static void d32_d33_gaps_and_their_sum_are_of_one_population(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t one = add_lane(c, "GPU 0", "7", 0), two = add_lane(c, "GPU 0", "8", 0);
	const struct finding *f;

	(void)state;
	/* 20 kernels of 100 us, gaps of 1 to 19 us in rising length, and a stream beside them that would have
	 * its own, longer ones */
	for (int64_t i = 0, at = 0; i < 20; i++) {
		add_event(c, i % 2 ? one : two, EVENT_KERNEL, "k", at * US, 100 * US, -1);
		at += 100 + 20 * (i + 1);
	}
	judge(&j);
	f = found(&j, "cpu.host_bound");
	/* 20 * (1 + … + 19) = 3800; the longest ten 20 * (10 + … + 19) = 2900 */
	is_near(evidence_of(f, "free_us"), 3800);
	is_near(evidence_of(f, "longest_gaps_us"), 2900);
	is_near(evidence_of(f, "smaller_gaps_us"), 900);
}

/* 40: frames and annotations may overlap operators partly; who holds a call is told by containment. */
static void d40_a_partly_overlapping_frame_is_no_caller(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_KINETO, 0);
	uint32_t gpu = add_lane(c, "GPU 0", "7", 0), host = add_lane(c, "python", "1", -1);

	(void)state;
	add_event(c, gpu, EVENT_KERNEL, "k", 0, 100 * US, -1);
	add_event(c, gpu, EVENT_KERNEL, "k", 200 * US, 800 * US, -1);
	add_event(c, host, EVENT_HOST_PYTHON, "train.py(1): main", 0, 1000 * US, -1);
	add_event(c, host, EVENT_HOST_PYTHON, "train.py(9): late", 60 * US, 500 * US, -1);
	add_event(c, host, EVENT_HOST_OP, "aten::item", 50 * US, 140 * US, -1);
	judge(&j);
	assert_string_equal(sb_strings_get(j.a.strings, found(&j, "cpu.synchronization")->operators[0], NULL),
	                    "aten::item < train.py(1): main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(d28_no_communication_is_zero),
	    cmocka_unit_test(d29_d34_moderate_communication_is_told_as_info),
	    cmocka_unit_test(d32_d33_gaps_and_their_sum_are_of_one_population),
	    cmocka_unit_test(d40_a_partly_overlapping_frame_is_no_caller),
	};

	return cmocka_run_group_tests_name("user pain, summaries", tests, NULL, NULL);
}
