/* What the research page trace-formats (1, 2 and its list of what breaks parsers) tells of Chrome and Kineto
 * traces, as far as the tests of the reader and of the users' reports do not show it already. */
#include "tests/unit/profiler/asked.h"

#include <stdio.h>

#define AT(ph, more) "{\"ph\":\"" ph "\",\"pid\":9,\"tid\":9,\"ts\":2" more "}"

/* 1: only ph decides; what holds no time changes nothing, and what is not read is counted. */
static void every_ph_has_its_place(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    "[" KERNEL("k", "1", "4", "1") "," AT("R", ",\"name\":\"mark\"") "," AT(
	        "i", ",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"args\":{\"Bytes\":-5}") ","
	    /* the key of a counter may be empty */
	    AT("C", ",\"name\":\"c\",\"args\":{\"\":3}") "," AT("t", ",\"id\":\"x\",\"cat\":\"ac2g\"") "," AT(
	        "n",
	        "") "," AT("e",
	                   "") "," AT("S",
	                              "") "," AT("T",
	                                         "") "," AT("F",
	                                                    "") "," AT("O",
	                                                               "") "," AT("D",
	                                                                          "") "," AT("v",
	                                                                                     "") "," AT("c",
	                                                                                                "") "," AT("P",
	                                                                                                           "") ",{}]",
	    &a);
	assert_int_equal(a.p.captures[0].trace.count, 1);
	assert_int_equal(a.p.captures[0].event_count, 15);
	assert_int_equal(warning_of(&a.p, "skipped_event")->count, 10);
	assert_int_equal(a.p.warnings.count, 1);
	assert_int_equal(whole(&a)->span_ns, 4000);
}

/* 2.7: spans of one track overlap in part (graphs, MTIA), or end a microsecond after their parent. */
static void spans_of_one_stream_may_overlap(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    TRACE(KERNEL("a", "10", "10", "1") "," KERNEL("b", "15", "10", "1") "," KERNEL(
	        "c", "12", "2", "1") "," KERNEL("zero", "30", "0", "1") "," HOST("parent", "1",
	                                                                         "5") "," HOST("child", "2",
	                                                                                       "5")),
	    &a);
	assert_int_equal(whole(&a)->busy_ns, 15000);
	assert_int_equal(whole(&a)->span_ns, 20000);
	assert_int_equal(a.p.captures[0].trace.count, 6);
	assert_int_equal(a.p.warnings.count, 0);
}

/* 2.1, 2.6: the mark of a step as an operator of 2022; numbers that come again once per cycle of the
 * profiler; one step that two threads marked. */
static void steps_come_in_every_form(void **state)
{
	ASKED_AUTO early = {0};
	ASKED_AUTO cycles = {0};
	ASKED_AUTO threads = {0};
	int64_t sum = 0;

	(void)state;
	ask("t.json",
	    TRACE(EVENT("cpu_op", "ProfilerStep#4", "9", "9", "0", "10",
	                "\"External id\":3") "," LAUNCH("l", "1", "1", "1") "," KERNEL("k", "2", "4", "1")),
	    &early);
	assert_int_equal(early.p.captures[0].step_count, 1);
	assert_true(early.b.rows[0].step == 4 && early.b.rows[0].compute_ns == 4000);
	/* no operator either */
	for (size_t i = 0; i < early.o.count; i++)
		assert_string_not_equal(sb_strings_get(early.o.strings, early.o.rows[i].name, NULL),
		                        "ProfilerStep#4");
	ask("t.json",
	    TRACE(STEP("2", "0", "10") "," STEP("2", "100", "10") "," LAUNCH("l", "1", "1", "1") "," KERNEL(
	        "k", "2", "4", "1") "," LAUNCH("l", "101", "1", "2") "," KERNEL("k", "102", "6", "2")),
	    &cycles);
	for (size_t i = 0; i < cycles.b.count; i++)
		if (cycles.b.rows[i].step == 2)
			sum += cycles.b.rows[i].compute_ns;
	assert_int_equal(cycles.p.captures[0].step_count, 2);
	assert_int_equal(sum, 10000);
	assert_int_equal(whole(&cycles)->compute_ns, 10000);
	ask("t.json",
	    TRACE(STEP("2", "0", "10") "," EVENT("user_annotation", "ProfilerStep#2", "9", "10", "1", "8",
	                                         "") "," LAUNCH("l", "2", "1", "1") "," KERNEL("k", "3", "4",
	                                                                                       "1")),
	    &threads);
	sum = 0;
	for (size_t i = 0; i < threads.b.count; i++)
		if (threads.b.rows[i].step == 2 && threads.b.rows[i].compute_ns != SB_NULL)
			sum += threads.b.rows[i].compute_ns;
	assert_int_equal(sum, 4000);
}

/* 2.2.6, 2.4: each rank has a base of its own, and correlations that another rank has, too. */
static void ranks_have_bases_and_correlations_of_their_own(void **state)
{
#define RANK(n, base, more)                                                                                  \
	"{\"baseTimeNanoseconds\":" base ",\"distributedInfo\":{\"rank\":" n ",\"world_size\":2},"           \
	"\"traceEvents\":[" more "]}"
	static const struct text_file FILES[] = {
	    {"a.json",
	     RANK("0", "1712195495000000000",
	          STEP("1", "0", "10") "," LAUNCH("l", "1", "1", "7") "," KERNEL("k", "5", "2", "7")),
	     0},
	    {"b.json",
	     RANK("1", "1712195490000000000",
	          STEP("1", "5000000", "10") "," KERNEL("k", "5000005", "3", "7") "," LAUNCH("l", "5000020",
	                                                                                     "1", "7")),
	     0}};
	ASKED_AUTO a = {0};
	int64_t starts[2];

	(void)state;
	ask_files(FILES, 2, &a);
	assert_int_equal(a.p.count, 2);
	for (size_t i = 0; i < 2; i++)
		starts[i] = a.p.captures[i].steps[0].start_ns;
	assert_true(starts[0] == INT64_C(1712195495000000000) && starts[1] == starts[0]);
	/* the launch of rank 1's kernel lies behind its step, that of rank 0 does not matter */
	for (size_t i = 0; i < a.b.count; i++)
		if (a.b.rows[i].step == 1)
			assert_int_equal(a.b.rows[i].compute_ns == SB_NULL ? 0 : a.b.rows[i].compute_ns,
			                 a.b.rows[i].rank == 0 ? 2000 : 0);
}

/* 2.3, 2.7: pid 0 is GPU 0 and the frames of Python alike; the category tells them apart. */
static void the_pid_tells_nothing(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("t.json",
	    TRACE(
	        EVENT("python_function", "train.py(1): step", "0", "0", "0", "90", "\"Python id\":1,\"Python parent id\":null") "," EVENT(
	            "kernel", "k", "0", "0", "5", "2",
	            "\"device\":0,\"stream\":0") "," EVENT("overhead", "CUPTI", "-1", "0", "1", "50",
	                                                   "") "," EVENT("Trace", "PyTorch Profiler (0)",
	                                                                 "\"Spans\"", "\"PyTorch Profiler\"",
	                                                                 "0", "99", "")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(t->lanes[t->lane[0]].device, -1);
	assert_int_equal(t->lanes[t->lane[1]].device, 0);
	assert_int_not_equal(t->lane[0], t->lane[1]);
	assert_int_equal(whole(&a)->span_ns, 2000);
	assert_int_equal(whole(&a)->device, 0);
}

/* 2.3: rows on the device that are no work: a twin of the step that covers the idle time between its kernels,
 * waits (the newest have a stream of 1,000,000 more), events. */
static void waits_and_twins_are_no_work(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	/* clang-format off */
	ask("t.json",
	    TRACE(KERNEL("k", "10", "2", "1") "," KERNEL("k", "20", "2", "2") ","
	          EVENT("gpu_user_annotation", "ProfilerStep#1", "0", "7", "9.999", "12.002", "") ","
	          EVENT("cuda_sync", "Stream Sync", "0", "1000007", "9", "40", "\"wait_on_stream\":7") ","
	          EVENT("cuda_sync", "Context Sync", "0", "-1", "9", "40", "\"stream\":-1") ","
	          EVENT("cuda_event", "cudaEventRecord", "0", "7", "9", "40", "\"stream\":7")),
	    &a);
	/* clang-format on */
	assert_int_equal(whole(&a)->busy_ns, 4000);
	assert_int_equal(whole(&a)->span_ns, 12000);
	assert_int_equal(whole(&a)->free_ns, 8000);
	assert_int_equal(a.p.captures[0].step_count, 0);
}

/* 2.3: absurd values beside the times: the event stays, the value is unknown or passed over. */
static void odd_args_cost_nothing(void **state)
{
#define ODD(cat, ts, dur, args) EVENT(cat, "x", "0", "7", ts, dur, "\"device\":0,\"stream\":7," args)
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	/* clang-format off */
	ask("t.json",
	    TRACE(ODD("gpu_memcpy", "1", "0", "\"bytes\":4096,\"memory bandwidth (GB/s)\":Infinity") ","
	          ODD("gpu_memcpy", "2", "1", "\"bytes\":8,\"memory bandwidth (GB/s)\":-1073741.8") ","
	          ODD("kernel", "4", "1", "\"blocks per SM\":0.5,\"est. achieved occupancy %\":0") ","
	          ODD("kernel", "5", "1", "\"blocks per SM\":1,\"grid\":[1,2,3],\"queued\":0") ","
	          ODD("kernel", "6", "1", "\"correlation\":N/A")),
	    &a);
	/* clang-format on */
	t = &a.p.captures[0].trace;
	assert_int_equal(t->count, 5);
	assert_int_equal(trace_detail(t, 0)->bytes, 4096);
	assert_int_equal(trace_detail(t, 1)->bytes, 8);
	assert_int_equal(whole(&a)->compute_ns, 3000);
	assert_int_equal(whole(&a)->copy_ns, 1000);
	assert_int_equal(t->link[4], -1);
	assert_int_equal(warning_of(&a.p, "bad_value")->count, 2);
	assert_int_equal(a.p.warnings.count, 1);
}

/* 2.3: ranks of large groups are cut, point-to-point rows are called SendRecv, whatever they do. */
static void collectives_have_odd_args(void **state)
{
#define NCCL(name, ts, args) EVENT("kernel", name, "0", "7", ts, "1", "\"device\":0,\"stream\":7," args)
	static const char *const TYPES[] = {"allreduce", "send", "recv", "batch_isend_irecv"};
	static const int64_t BYTES[] = {40, 8, 16, SB_NULL};
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	/* clang-format off */
	ask("t.json",
	    TRACE(NCCL("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "1",
	               "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"In msg nelems\":10,"
	               "\"Out msg nelems\":10,\"Group size\":512,\"Process Group Ranks\":\"[0, 1, 2, ...]\","
	               "\"In split size\":\"[]\",\"Comms Id\":18446744073709551615") ","
	          NCCL("ncclDevKernel_SendRecv", "3",
	               "\"Collective name\":\"send\",\"dtype\":\"Long\",\"In msg nelems\":1,"
	               "\"Out msg nelems\":1,\"Src Rank\":0,\"Dst Rank\":1") ","
	          NCCL("ncclDevKernel_SendRecv", "5",
	               "\"Collective name\":\"recv\",\"dtype\":\"Long\",\"In msg nelems\":0,"
	               "\"Out msg nelems\":2") ","
	          NCCL("ncclDevKernel_SendRecv", "7", "\"Collective name\":\"batch_isend_irecv\"")),
	    &a);
	/* clang-format on */
	t = &a.p.captures[0].trace;
	for (size_t i = 0; i < 4; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		assert_int_equal(t->kind[i], EVENT_COMMUNICATION);
		assert_non_null(d);
		assert_string_equal(trace_text(t, d->type, NULL), TYPES[i]);
		assert_true(d->bytes == BYTES[i]);
	}
	assert_string_equal(trace_text(t, trace_detail(t, 0)->ranks, NULL), "[0, 1, 2, ...]");
	/* without a name of its group a collective has the communicator's number, all its digits */
	assert_string_equal(trace_text(t, trace_detail(t, 0)->group, NULL), "18446744073709551615");
	assert_int_equal(whole(&a)->communication_ns, 4000);
}

/* 2.5: the list of devices may be empty, or hold all of a machine of which one was used. */
static void the_list_of_devices_says_little(void **state)
{
	static const struct {
		const char *list, *chip;
	} CASES[] = {
	    {"[]", ""},
	    {"[{\"id\":0,\"name\":\"NVIDIA H100\"},{\"id\":1,\"name\":\"NVIDIA H100\"}]", "NVIDIA H100"},
	    {"null", ""}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ASKED_AUTO a = {0};
		char text[600];

		snprintf(
		    text, sizeof(text),
		    "{\"schemaVersion\":1,\"deviceProperties\":%s,\"metadata\":{\"a\":[{}]},\"WARNING\":["
		    "\"x\"],\"host_name\":\"h\",\"traceEvents\":[%s],\"tw_steps\":{}}",
		    CASES[i].list, KERNEL("k", "1", "2", "1"));
		ask("t.json", text, &a);
		assert_string_equal(a.p.captures[0].chip, CASES[i].chip);
		assert_int_equal(a.b.count, 1);
		assert_int_equal(a.p.warnings.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_ph_has_its_place),
	    cmocka_unit_test(spans_of_one_stream_may_overlap),
	    cmocka_unit_test(steps_come_in_every_form),
	    cmocka_unit_test(ranks_have_bases_and_correlations_of_their_own),
	    cmocka_unit_test(the_pid_tells_nothing),
	    cmocka_unit_test(waits_and_twins_are_no_work),
	    cmocka_unit_test(odd_args_cost_nothing),
	    cmocka_unit_test(collectives_have_odd_args),
	    cmocka_unit_test(the_list_of_devices_says_little),
	};

	return cmocka_run_group_tests_name("kineto quirks", tests, NULL, NULL);
}
