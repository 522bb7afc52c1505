/* Traces that PyTorch did not write: JAX and TensorFlow, MTIA, HTA's overlay; begin and end events. Written
 * by hand after the research page trace-formats, sections 1, 2 and 5. */
#include "tests/unit/profiler/asked.h"

#define PROCESS(pid, name)                                                                                   \
	"{\"ph\":\"M\",\"pid\":" pid ",\"name\":\"process_name\",\"args\":{\"name\":\"" name "\"}}"
#define THREAD(pid, tid, text)                                                                               \
	"{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid ",\"name\":\"thread_name\",\"args\":{\"name\":\"" text  \
	"\"}}"
#define PLAIN(pid, tid, name, ts, dur, args)                                                                 \
	"{\"ph\":\"X\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur ",\"name\":\"" name       \
	"\",\"args\":{" args "}}"
#define BEGIN(pid, tid, name, ts)                                                                            \
	"{\"ph\":\"B\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"name\":\"" name "\"}"
#define END(pid, tid, ts) "{\"ph\":\"E\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts "}"

static const struct breakdown_row *of_device(const struct asked *a, int64_t device, int64_t step)
{
	for (size_t i = 0; i < a->b.count; i++)
		if (a->b.rows[i].device == device && a->b.rows[i].step == step)
			return &a->b.rows[i];
	fail_msg("device %lld has no such row", (long long)device);
	return NULL;
}

/* Streams are the work; the lines derived from them are the same time once more. */
static void jax_on_gpus(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("perfetto_trace.json.gz",
	    "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\"traceEvents\":[" PROCESS("1",
	                                                                                                  "/d"
	                                                                                                  "ev"
	                                                                                                  "ic"
	                                                                                                  "e:"
	                                                                                                  "GP"
	                                                                                                  "U:"
	                                                                                                  "0") "," PROCESS("2",
	                                                                                                                   "/device:GPU:1") "," PROCESS("701", "/host:CPU") "," THREAD("1",
	                                                                                                                                                                               "13",
	                                                                                                                                                                               "Stream #13(Compute,MemcpyD2H)") "," THREAD("1", "14", "Stream #14(Communication)") "," THREAD("1", "3", "XLA Modules") "," THREAD("1",
	                                                                                                                                                                                                                                                                                                                  "2",
	                                                                                                                                                                                                                                                                                                                  "XLA Ops") "," THREAD("2",
	                                                                                                                                                                                                                                                                                                                                        "13", "Stream #13(Compute)") "," PLAIN("701",
	                                                                                                                                                                                                                                                                                                                                                                               "5",
	                                                                                                                                                                                                                                                                                                                                                                               "train", "0", "100", "\"step_num\":\"4\"") "," PLAIN("701",
	                                                                                                                                                                                                                                                                                                                                                                                                                                    "5",
	                                                                                                                                                                                                                                                                                                                                                                                                                                    "cuLaunchKernel",
	                                                                                                                                                                                                                                                                                                                                                                                                                                    "5",
	                                                                                                                                                                                                                                                                                                                                                                                                                                    "1",
	                                                                                                                                                                                                                                                                                                                                                                                                                                    "\"correlation_id\":\"11\"") "," PLAIN("701",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "5",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "PjitFunction(f)",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "2",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                           "90", "") "," PLAIN("1", "13", "fusion.3", "10", "20.5", "\"correlation_id\":\"11\",\"hlo_op\":\"fusion.3\"") "," PLAIN("1",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "13",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "MemcpyD2H",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "40",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "5",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   "\"memcpy_details\":\"size:4\"") "," PLAIN("1",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "14",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "ncclDevKernel_AllReduce",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "25",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "10", "") "," PLAIN("1",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "3",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "jit_f",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "10",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "500",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                  "") "," PLAIN("1", "2", "fusion.3", "10", "400", "") "," PLAIN("2",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "13",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "all-reduce.1",
	                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "10", "7", "") ",{}]}",
	    &a);
	assert_int_equal(of_device(&a, 0, SB_NULL)->span_ns, 35000);
	assert_int_equal(of_device(&a, 0, SB_NULL)->compute_ns, 20500);
	assert_int_equal(of_device(&a, 0, SB_NULL)->communication_ns, 10000);
	assert_int_equal(of_device(&a, 0, SB_NULL)->exposed_ns, 4500);
	assert_int_equal(of_device(&a, 0, SB_NULL)->copy_ns, 5000);
	assert_int_equal(of_device(&a, 0, SB_NULL)->free_ns, 5000);
	assert_int_equal(of_device(&a, 1, SB_NULL)->communication_ns, 7000);
	assert_int_equal(of_device(&a, 0, 4)->compute_ns, 20500);
	assert_int_equal(of_device(&a, 0, 4)->step_ns, 100000);
	assert_int_equal(a.p.warnings.count, 0);
	/* the empty event at the end is none */
	assert_int_equal(a.p.captures[0].event_count, 17);
}

/* On a TPU there are no streams: "XLA Ops" is the work, and its operations nest. Names come at the end. */
static void jax_on_tpus(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    "{\"traceEvents\":[" PLAIN("3", "1", "7", "0", "100", "") "," PLAIN("3", "2", "jit_step", "0", "90", "") "," PLAIN(
	        "3", "3", "while.1", "10", "30",
	        "") "," PLAIN("3", "3", "fusion.2", "12", "8",
	                      "") "," PLAIN("3", "3", "all-gather.5", "50", "10",
	                                    "") "," PLAIN("3", "4", "copy-start.1", "10", "80",
	                                                  "") "," PLAIN("9", "1", "TfOp", "0", "5",
	                                                                "") "," PROCESS("3",
	                                                                                "/device:TPU:2") "," PROCESS("9",
	                                                                                                             "/host"
	                                                                                                             ":CPU") "," THREAD("3",
	                                                                                                                                "1",
	                                                                                                                                "Steps") "," THREAD("3",
	                                                                                                                                                    "2",
	                                                                                                                                                    "XLA Modules") "," THREAD("3",
	                                                                                                                                                                              "3",
	                                                                                                                                                                              "XLA Ops") "," THREAD("3",
	                                                                                                                                                                                                    "4",
	                                                                                                                                                                                                    "Async XLA Ops") ",{}]}",
	    &a);
	assert_int_equal(of_device(&a, 2, SB_NULL)->compute_ns, 30000);
	assert_int_equal(of_device(&a, 2, SB_NULL)->communication_ns, 10000);
	assert_int_equal(of_device(&a, 2, SB_NULL)->span_ns, 50000);
	assert_int_equal(of_device(&a, 2, SB_NULL)->free_ns, 10000);
}

/* TensorFlow's session timelines: "stream:all" sums the streams beside it. */
static void tensorflow_timelines(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("timeline.json",
	    "{\"traceEvents\":[" PROCESS("1", "/job:localhost/replica:0/task:0/device:GPU:0 Compute") "," PROCESS("2", "/device:GPU:0/stream:all Compute") "," PROCESS(
	        "3",
	        "/device:GPU:0/stream:13 Compute") "," PROCESS("4",
	                                                       "/job:localhost/replica:0/task:0/device:CPU:0 "
	                                                       "Compute") "," EVENT("Op", "MatMul", "2", "0",
	                                                                            "5", "9",
	                                                                            "") "," EVENT("Op",
	                                                                                          "MatMul",
	                                                                                          "3", "0",
	                                                                                          "5", "9",
	                                                                                          "") "," EVENT("Op",
	                                                                                                        "Const",
	                                                                                                        "4",
	                                                                                                        "0",
	                                                                                                        "1",
	                                                                                                        "1",
	                                                                                                        "") "]}",
	    &a);
	assert_int_equal(a.o.count, 1);
	assert_int_equal(a.o.rows[0].count, 1);
	assert_int_equal(whole(&a)->compute_ns, 9000);
}

/* Begin and end events nest by pid and tid; a name on the end does not matter. */
static void begins_meet_their_ends(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("t.json",
	    "[" PROCESS("1", "/device:GPU:0") "," PROCESS("2", "/host:CPU") "," BEGIN("1", "7", "outer", "10") "," BEGIN("1", "8", "other", "11") "," BEGIN(
	        "1", "7", "inner",
	        "12.5") "," END("1", "7",
	                        "20") "," BEGIN("1", "7", "zero",
	                                        "20") "," END("1", "7",
	                                                      "20") "," END("1", "7",
	                                                                    "30") "," END("1", "8",
	                                                                                  "41") "," BEGIN("1",
	                                                                                                  "7",
	                                                                                                  "ne"
	                                                                                                  "x"
	                                                                                                  "t",
	                                                                                                  "3"
	                                                                                                  "0") "," END("1",
	                                                                                                               "7",
	                                                                                                               "35") ","
	                                                                                                                     "{\"ph\":\"B\",\"pid\":2,\"tid\":1,\"ts\":5,\"name\":\"ProfilerStep#3\",\"cat\":\"user_annotation\"}," END(
	                                                                                                                         "2",
	                                                                                                                         "1",
	                                                                                                                         "60") ",{}]",
	    &a);
	t = &a.p.captures[0].trace;
	static const int64_t LENGTHS[] = {20000, 30000, 7500, 0, 5000, 55000};

	assert_int_equal(t->count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(t->dur_ns[i], LENGTHS[i]);
	assert_int_equal(a.p.captures[0].step_count, 1);
	assert_int_equal(a.p.captures[0].steps[0].dur_ns, 55000);
	assert_int_equal(of_device(&a, 0, SB_NULL)->busy_ns, 31000);
	assert_int_equal(a.p.warnings.count, 0);
}

/* Out of order, by time: an end closes what began before it. */
static void begins_and_ends_in_any_order(void **state)
{
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("t.json",
	    "[" PROCESS("1", "/device:GPU:0") "," END("1", "7", "10") "," BEGIN("1", "7", "b", "10") "," END(
	        "1", "7", "15") "," BEGIN("1", "7", "zero", "20") "," BEGIN("1", "7", "a",
	                                                                    "5") "," END("1", "7", "20") "]",
	    &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(t->count, 3);
	assert_int_equal(t->dur_ns[0], 5000);
	assert_int_equal(t->dur_ns[1], 0);
	assert_int_equal(t->dur_ns[2], 5000);
	assert_int_equal(a.p.warnings.count, 0);
}

static void what_is_not_closed_lasts_to_the_end(void **state)
{
	static const char TEXT[] =
	    "{\"traceEvents\":[" PROCESS("1", "/device:GPU:0") "," END("1", "7", "1") "," BEGIN(
	        "1", "7", "open",
	        "10") "," BEGIN("1", "8", "closed",
	                        "12") "," END("1", "8",
	                                      "50") ","
	                                            "{\"ph\":\"E\",\"pid\":1,\"tid\":8,\"ts\":\"no\"}]}";
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json", TEXT, &a);
	assert_int_equal(a.p.captures[0].trace.dur_ns[0], 40000);
	assert_int_equal(whole(&a)->span_ns, 40000);
	assert_int_equal(warning_of(&a.p, "unclosed_span")->offset, strstr(TEXT, "{\"ph\":\"B\"") - TEXT);
	assert_int_equal(warning_of(&a.p, "unmatched_end")->offset, strstr(TEXT, "{\"ph\":\"E\"") - TEXT);
	assert_int_equal(warning_of(&a.p, "bad_timestamp")->count, 1);
}

static void mtia_rows_are_kernels_and_copies(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    TRACE(EVENT("mtia_runtime", "runFunction", "9", "9", "1", "1", CORRELATION("3")) "," EVENT(
	        "mtia_ccp_events", "fc_kernel", "0", "5", "3", "4",
	        "\"device\":0," CORRELATION("3")) "," EVENT("mtia_ccp_events", "dma_in", "0", "6", "2", "3",
	                                                    "\"device\":0," CORRELATION(
	                                                        "3")) "," EVENT("mtia_counters", "x", "0",
	                                                                        "6", "2", "90", "")),
	    &a);
	assert_int_equal(whole(&a)->compute_ns, 4000);
	assert_int_equal(whole(&a)->copy_exposed_ns, 1000);
	assert_int_equal(whole(&a)->span_ns, 5000);
}

/* HTA draws the critical path into a copy of the trace: flows, counters and a category of its own. */
static void an_overlay_is_not_counted_twice(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("overlaid_critical_path_t.json",
	    TRACE(KERNEL(
	        "k", "1", "4",
	        "1") ",{\"ph\":\"s\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":1,\"cat\":\"critical_path\","
	             "\"name\":\"critical_path_operator\",\"args\":{\"weight\":4}},"
	             "{\"ph\":\"f\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":5,\"cat\":\"critical_path\",\"name\":"
	             "\"x\",\"bp\":\"e\"},"
	             "{\"ph\":\"C\",\"name\":\"Queue Length\",\"pid\":0,\"ts\":1,\"args\":{\"7\":1}}," EVENT(
	                 "critical_path", "k", "0", "7", "1", "40", "\"critical\":1")),
	    &a);
	assert_int_equal(whole(&a)->span_ns, 4000);
	assert_int_equal(whole(&a)->busy_ns, 4000);
	assert_int_equal(a.o.count, 1);
	assert_int_equal(a.p.warnings.count, 0);
}

static void other_kinds_of_events_are_passed_over_and_told(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    TRACE(KERNEL("k", "1", "4",
	                 "1") ",{\"ph\":\"b\",\"id\":1,\"ts\":1},{\"ph\":\"N\",\"id\":\"0x1\"},{\"pid\":1},"
	                      "{\"ph\":\"I\",\"s\":\"g\",\"pid\":\"\",\"tid\":\"\",\"ts\":99999999999999,"
	                      "\"name\":\"Record Window End\"}"),
	    &a);
	assert_int_equal(warning_of(&a.p, "skipped_event")->count, 3);
	assert_int_equal(whole(&a)->span_ns, 4000);
	assert_int_equal(a.p.warnings.count, 1);
}

/* A backend's own collectives count on a device only. */
static void collectives_of_backends(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("t.json",
	    TRACE(EVENT("collective_comm", "xccl_allreduce", "9", "9", "1", "50", "") "," EVENT(
	        "collective_comm", "allreduce", "0", "5", "3", "4",
	        "\"device\":0,\"stream\":5") "," EVENT("hpu_op", "synLaunch", "9", "9", "1", "50", "")),
	    &a);
	assert_int_equal(whole(&a)->communication_ns, 4000);
	assert_int_equal(whole(&a)->span_ns, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(jax_on_gpus),
	    cmocka_unit_test(jax_on_tpus),
	    cmocka_unit_test(tensorflow_timelines),
	    cmocka_unit_test(begins_meet_their_ends),
	    cmocka_unit_test(begins_and_ends_in_any_order),
	    cmocka_unit_test(what_is_not_closed_lasts_to_the_end),
	    cmocka_unit_test(mtia_rows_are_kernels_and_copies),
	    cmocka_unit_test(an_overlay_is_not_counted_twice),
	    cmocka_unit_test(other_kinds_of_events_are_passed_over_and_told),
	    cmocka_unit_test(collectives_of_backends),
	};

	return cmocka_run_group_tests_name("kineto dialects", tests, NULL, NULL);
}
