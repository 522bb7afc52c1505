/* Sides of the reports of users (research page user-pain) and of the page on formats (trace-formats 1, 2 and
 * 5) that the other tests leave out, by their numbers. */
#include "tests/unit/profiler/asked.h"

#include "profiler/collectives.h"

/* Report 8, where parts were joined with Ascend's dialect: what is whole is used, and the place is told. */
static void a8_joined_lists_of_ascend(void **state)
{
#define NPU(name, ts)                                                                                        \
	"{\"name\":\"" name "\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":\"" ts                               \
	"\",\"dur\":2,\"args\":{\"Task Type\":\"AI_CORE\"}}"
	static const char TEXT[] =
	    "[" NPU("a", "1736408883688177.930") "][" NPU("b", "1736408883688199.930") "]";
	ASKED_AUTO a = {0};
	const struct warning *w;

	(void)state;
	ask("x_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", TEXT, &a);
	assert_int_equal(whole(&a)->compute_ns, 2000);
	w = warning_of(&a.p, "broken_metadata");
	assert_non_null(w);
	assert_int_equal(w->offset, strstr(TEXT, "][") + 1 - TEXT);
}

/* Report 21: -1 written as an unsigned number, on both sides. */
static void c21_no_launch_as_an_unsigned_number_links_nothing(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json",
	    TRACE(STEP("1", "0", "9") "," LAUNCH("hipGetDevice", "1", "1",
	                                         "4294967295") "," KERNEL("k", "3", "2", "4294967295")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_true(t->link[1] == -1 && t->link[2] == -1);
	/* so no step launched it */
	for (size_t i = 0; i < a.b.count; i++)
		assert_true(a.b.rows[i].step == SB_NULL || a.b.rows[i].compute_ns <= 0);
	assert_int_equal(whole(&a)->compute_ns, 2000);
}

/* Report 28: the library's mark in any case of letters; annotations of the host are no kernels. */
static void d28_collectives_in_any_case_of_letters(void **state)
{
#define TWO(name)                                                                                            \
	TRACE(KERNEL("gemm", "0", "10", "1") "," KERNEL(name, "5", "20", "2") "," EVENT(                     \
	    "user_annotation", "nccl:all_reduce", "9", "9", "1", "90", ""))
	static const char *const TEXTS[] = {
	    TWO("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), TWO("nccldevkernel_allreduce_sum_f32_ring_ll"),
	    TWO("NCCLKERNEL_ALLREDUCE"), TWO("ncclKernel_AllReduce_RING_LL_Sum_float")};
	ASKED_AUTO alone = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
		ASKED_AUTO a = {0};

		ask("a.json", TEXTS[i], &a);
		assert_int_equal(whole(&a)->communication_ns, 20000);
		assert_int_equal(whole(&a)->exposed_ns, 15000);
		assert_int_equal(whole(&a)->compute_ns, 10000);
	}
	ask("a.json", TWO("memory_bound_kernel"), &alone);
	assert_int_equal(whole(&alone)->communication_ns, 0);
	assert_int_equal(whole(&alone)->exposed_ns, 0);
	assert_int_equal(alone.c.row_count, 0);
}

/* 1: several processes may have one name, and threads of one number. */
static void processes_of_one_name_stay_apart(void **state)
{
#define NAME(what, pid, tid, text)                                                                           \
	"{\"ph\":\"M\",\"name\":\"" what "\",\"pid\":" pid ",\"tid\":" tid ",\"args\":{\"name\":\"" text     \
	"\"}}"
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json",
	    TRACE(EVENT("cpu_op", "a", "8", "1", "1", "1", "") "," EVENT(
	        "cpu_op", "b", "9", "1", "1", "1",
	        "") "," NAME("process_name", "8", "0",
	                     "python") "," NAME("process_name", "9", "0",
	                                        "python") "," NAME("thread_name", "9", "1", "main")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(t->lane_count, 2);
	assert_int_not_equal(t->lane[0], t->lane[1]);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(trace_text(t, t->lanes[t->lane[i]].process, NULL), "python");
	assert_string_equal(trace_text(t, t->lanes[t->lane[0]].thread, NULL), "1");
	assert_string_equal(trace_text(t, t->lanes[t->lane[1]].thread, NULL), "main");
}

/* 2.3: the twin of an annotation has no stream: its row is its tid, that of the kernels it spans. */
static void a_twin_stands_on_its_stream(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json",
	    TRACE(KERNEL("k", "10", "2", "1") "," EVENT("gpu_user_annotation", "fwd", "0", "7", "9.999",
	                                                "2.003",
	                                                "\"External id\":3") "," KERNEL("k", "20", "2", "2")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(t->lane_count, 1);
	assert_int_equal(t->lane[1], t->lane[0]);
	assert_int_equal(whole(&a)->busy_ns, 4000);
	assert_int_equal(whole(&a)->span_ns, 12000);
}

/* 5: Dynolog names its files by process: no rank. Several of one host stay several. */
static void a_process_in_the_name_is_no_rank(void **state)
{
	static const struct text_file FILES[] = {
	    {"libkineto_activities_4711.json", TRACE(KERNEL("k", "1", "2", "1")), 0},
	    {"libkineto_activities_4712.json", TRACE(KERNEL("k", "1", "3", "1")), 0}};
	ASKED_AUTO a = {0};

	(void)state;
	ask_files(FILES, 2, &a);
	assert_int_equal(a.p.count, 2);
	assert_true(a.p.captures[0].rank == SB_NULL && a.p.captures[1].rank == SB_NULL);
	assert_int_equal(a.b.rows[0].busy_ns + a.b.rows[1].busy_ns, 5000);
}

/* 2.7: several devices of one process: each has a row of its own. */
static void devices_of_one_process_have_rows_of_their_own(void **state)
{
#define ON(device, ts, dur) EVENT("kernel", "k", device, "7", ts, dur, "\"device\":" device ",\"stream\":7")
	static const int64_t SPANS[] = {9000, 3000};
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json", TRACE(ON("0", "0", "1") "," ON("1", "4", "3") "," ON("0", "8", "1")), &a);
	assert_int_equal(a.b.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(a.b.rows[i].device, i);
		assert_int_equal(a.b.rows[i].span_ns, SPANS[i]);
		assert_int_equal(a.b.rows[i].free_ns, i == 0 ? 7000 : 0);
	}
}

/* 2.1: what a backend says of its collectives on the host is a call, though it has no device to be told by.
 */
static void collectives_of_the_host_are_no_device(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json",
	    TRACE(EVENT("collective_comm", "xccl_allreduce", "9", "9", "1", "50", "") "," EVENT(
	        "collective_comm", "allreduce", "0", "5", "3", "4", "\"device\":0,\"stream\":5")),
	    &a);
	assert_int_equal(a.b.count, 1);
	assert_true(a.b.rows[0].device == 0 && a.b.rows[0].communication_ns == 4000);
}

/* 2.2: what began before the base was clamped to 0 by older profilers, also in traces of less than a day. */
static void a_clamped_time_is_left_out(void **state)
{
	ASKED_AUTO a = {0};
	const struct warning *w;

	(void)state;
	ask("a.json",
	    TRACE(KERNEL("early", "0", "5", "1") "," KERNEL("k", "3600000000", "2",
	                                                    "2") "," KERNEL("k", "3600000010", "2", "3")),
	    &a);
	w = warning_of(&a.p, "clock_jump");
	assert_non_null(w);
	assert_int_equal(w->count, 1);
	assert_int_equal(whole(&a)->span_ns, 12000);
}

/* 1: of two keys in the args of an event the last counts, as Python has it, and it is told. */
static void the_last_of_two_args_counts(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json",
	    TRACE(EVENT("kernel", "k", "0", "7", "1", "2", "\"device\":0,\"correlation\":4,\"device\":3")),
	    &a);
	assert_int_equal(whole(&a)->device, 3);
	assert_int_equal(a.p.captures[0].trace.link[0], 4);
	assert_int_equal(warning_of(&a.p, "duplicate_key")->count, 1);
}

/* 2.3: the list of a large group is cut with "...": how many ranks it has is then not known. */
static void a_cut_list_of_ranks_counts_none(void **state)
{
#define GROUP(ts, name, ranks)                                                                               \
	EVENT("kernel", "ncclA", "0", "7", ts, "1",                                                          \
	      "\"device\":0,\"Collective name\":\"allreduce\",\"Process Group Name\":\"" name                \
	      "\",\"Process Group Ranks\":\"" ranks "\"")
	COLLECTIVES_AUTO m = {0};
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json", TRACE(GROUP("1", "a", "[0, 1, 2]") "," GROUP("5", "b", "[0, 1, 2, ...]")), &a);
	assert_int_equal(collectives_match(&a.p, &m), SB_OK);
	assert_int_equal(m.domain_count, 2);
	assert_int_equal(m.domains[0].listed, 3);
	assert_true(m.domains[1].listed == SB_NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a8_joined_lists_of_ascend),
	    cmocka_unit_test(c21_no_launch_as_an_unsigned_number_links_nothing),
	    cmocka_unit_test(d28_collectives_in_any_case_of_letters),
	    cmocka_unit_test(processes_of_one_name_stay_apart),
	    cmocka_unit_test(collectives_of_the_host_are_no_device),
	    cmocka_unit_test(a_clamped_time_is_left_out),
	    cmocka_unit_test(the_last_of_two_args_counts),
	    cmocka_unit_test(a_cut_list_of_ranks_counts_none),
	    cmocka_unit_test(a_twin_stands_on_its_stream),
	    cmocka_unit_test(a_process_in_the_name_is_no_rank),
	    cmocka_unit_test(devices_of_one_process_have_rows_of_their_own),
	};

	return cmocka_run_group_tests_name("user pain, the rest", tests, NULL, NULL);
}
