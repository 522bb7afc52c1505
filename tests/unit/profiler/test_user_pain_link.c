/* Reports of users about launches and identity (research page user-pain, section C), by their numbers. Where
 * a report names a sample that is not at hand, the case is rebuilt here. */
#include "tests/unit/profiler/asked.h"

#include <stdio.h>

static size_t linked(const struct asked *a)
{
	const struct trace *t = &a->p.captures[0].trace;
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (!event_is_device_work(t->kind[i]))
			continue;
		for (size_t k = 0; k < t->count; k++)
			if (t->kind[k] == EVENT_HOST_RUNTIME && t->link[i] >= 0 && t->link[k] == t->link[i]) {
				n++;
				break;
			}
	}
	return n;
}

static const struct breakdown_row *row_of(const struct asked *a, int64_t step)
{
	for (size_t i = 0; i < a->b.count; i++)
		if (a->b.rows[i].step == step)
			return &a->b.rows[i];
	fail_msg("step %lld has no row", (long long)step);
	return NULL;
}

/* HTA#107, #17, #254 (rank_key_missing): the object is there, the rank is not; two such files stay two */
static void c17_an_unknown_rank_is_unknown(void **state)
{
#define ANONYMOUS(info, kernel) "{\"distributedInfo\":" info ",\"traceEvents\":[" kernel "]}"
	static const struct text_file FILES[] = {
	    {"host1_144.1623143089861.pt.trace.json",
	     ANONYMOUS("{\"backend\":\"nccl\",\"world_size\":8}", KERNEL("k", "1", "2", "1")), 0},
	    {"host2_144.1623143089861.pt.trace.json", ANONYMOUS("{}", KERNEL("k", "1", "5", "1")), 0},
	    {"host3_144.1623143089861.pt.trace.json", ANONYMOUS("null", KERNEL("k", "1", "6", "1")), 0},
	    {"host4_144.1623143089861.pt.trace.json", "[" KERNEL("k", "1", "7", "1") "]", 0}};
	static const int64_t BUSY[] = {2000, 5000, 6000, 7000};
	ASKED_AUTO a = {0};

	(void)state;
	ask_files(FILES, 4, &a);
	assert_int_equal(a.p.count, 4);
	assert_int_equal(a.b.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(a.b.rows[i].rank == SB_NULL && a.p.captures[i].rank == SB_NULL);
		assert_int_equal(a.b.rows[i].busy_ns, BUSY[i]);
	}
	assert_int_equal(a.p.captures[0].world_size, 8);
	assert_null(warning_of(&a.p, "rank_conflict"));
}

/* The object in all its forms (page trace-formats 2.5): behind the events, as a text, with texts inside. */
static void c17_the_rank_is_found_in_every_form(void **state)
{
#define K KERNEL("k", "1", "2", "1")
	static const char *const FORMS[] = {
	    "{\"distributedInfo\":{\"rank\":5,\"world_size\":16},\"traceEvents\":[" K "]}",
	    "{\"traceEvents\":[" K
	    "],\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":5,\"world_size\":16}}",
	    "{\"traceEvents\":[" K
	    "],\"distributedInfo\":{\"pg_config\":[{\"pg_name\":\"0\",\"ranks\":\"[0, 1, "
	    "...]\"}],\"rank\":\"5\",\"world_size\":\"16\",\"nccl_version\":\"unknown\"}}",
	    "{\"distributedInfo\":\"{\\\"backend\\\": \\\"nccl\\\", \\\"rank\\\": 5, \\\"world_size\\\": "
	    "16}\",\"traceEvents\":[" K "]}",
	    "{\"traceEvents\":[" K "],\"distributedInfo\":{\"rank\":2,\"rank\":5,\"world_size\":16}}"};

	(void)state;
	for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
		ASKED_AUTO a = {0};

		ask("a.json", FORMS[i], &a);
		assert_int_equal(a.p.captures[0].rank, 5);
		assert_int_equal(a.p.captures[0].world_size, 16);
	}
}

/* HTA#238, chakra#162 (b200_eager): no step marks */
static void c18_without_steps_there_is_the_whole(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json", TRACE(LAUNCH("cudaLaunchKernel", "1", "1", "1") "," KERNEL("k", "3", "2", "1")), &a);
	assert_int_equal(a.p.captures[0].step_count, 0);
	assert_int_equal(a.b.count, 1);
	assert_int_equal(whole(&a)->compute_ns, 2000);
	assert_true(a.o.rows[0].step == SB_NULL);
}

/* HTA#76, #79: every step is there, the last one too, and what no step launched is in the whole */
static void c19_counts_add_up(void **state)
{
	ASKED_AUTO a = {0};
	int64_t in_steps = 0, outside = 0, all = 0;

	(void)state;
	ask("a.json",
	    TRACE(STEP("7", "0", "10") "," STEP("9", "10", "10") "," STEP("10", "20", "10") "," LAUNCH(
	        "cudaLaunchKernel", "1", "1",
	        "1") "," LAUNCH("cudaLaunchKernel", "11", "1",
	                        "2") "," LAUNCH("cudaLaunchKernel", "21", "1",
	                                        "3") "," LAUNCH("cudaLaunchKernel", "40", "1",
	                                                        "4") "," KERNEL("k", "2", "10",
	                                                                        "1") "," KERNEL("k", "13",
	                                                                                        "10",
	                                                                                        "2") "," KERNEL("k",
	                                                                                                        "23",
	                                                                                                        "10",
	                                                                                                        "3") "," KERNEL("k",
	                                                                                                                        "45",
	                                                                                                                        "10",
	                                                                                                                        "4") "," KERNEL("k",
	                                                                                                                                        "60",
	                                                                                                                                        "10",
	                                                                                                                                        "99")),
	    &a);
	assert_int_equal(row_of(&a, 7)->compute_ns, 10000);
	assert_int_equal(row_of(&a, 9)->compute_ns, 10000);
	assert_int_equal(row_of(&a, 10)->compute_ns, 10000);
	assert_int_equal(whole(&a)->compute_ns, 50000);
	for (size_t i = 0; i < a.o.count; i++) {
		all += a.o.rows[i].count;
		*(a.o.rows[i].step == SB_NULL ? &outside : &in_steps) += a.o.rows[i].count;
	}
	assert_true(in_steps == 3 && outside == 2 && all == 5);
}

/* chakra#116, #194, HTA#271, kineto#788: whatever the call is named */
static void c20_every_call_launches(void **state)
{
	static const char *const CALLS[][2] = {
	    {"cuda_driver", "cuLaunchKernel"},        {"cuda_driver", "cuLaunchKernelEx"},
	    {"cuda_runtime", "cudaLaunchKernelExC"},  {"cuda_runtime", "hipExtModuleLaunchKernel"},
	    {"hip_runtime", "hipLaunchKernel"},       {"Runtime", "cudaLaunchCooperativeKernel"},
	    {"xpu_runtime", "urEnqueueKernelLaunch"}, {"mtia_runtime", "runFunction"},
	    {"privateuse1_runtime", "launch"},        {"PRIVATEUSE1_DRIVER", "launch"}};

	(void)state;
	for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
		ASKED_AUTO a = {0};
		char text[1024];

		snprintf(
		    text, sizeof(text),
		    "[{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":1,"
		    "\"args\":{\"correlation\":4}},%s,%s]",
		    CALLS[i][0], CALLS[i][1], KERNEL("k", "3", "1", "4"), STEP("1", "0", "9"));
		ask("a.json", text, &a);
		assert_int_equal(linked(&a), 1);
		assert_int_equal(row_of(&a, 1)->compute_ns, 1000);
	}
}

/* chakra#128, HTA#219, #225 (amd_mi250): correlation -1, 0 or none links nothing, to one another least */
static void c21_amd_rows_without_a_launch_stay_alone(void **state)
{
#define HIP(name, ts, n)                                                                                     \
	EVENT("cuda_runtime", name, "9", "9", ts, "1",                                                       \
	      "\"stream\":\"0x0\",\"kernel\":\"k\",\"ptr\":\"0x7f\","                                        \
	      "\"correlation\":" n)
#define COPY(name, ts, n)                                                                                    \
	EVENT("gpu_memcpy", name, "2", "0", ts, "1",                                                         \
	      "\"device\":2,\"stream\":0,\"bytes\":64,\"correlation\":" n)
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json",
	    TRACE(
	        STEP("1", "0", "20") "," HIP("hipMemcpyAsync", "1", "7") "," HIP("hipGetDevice", "2", "-1") "," HIP(
	            "hipGetLastError", "3",
	            "0") "," COPY("CopyHostToDevice", "10",
	                          "7") "," COPY("CopyDeviceToHost", "12",
	                                        "-1") "," COPY("CopyDeviceToDevice", "14",
	                                                       "0") "," COPY("CopyDeviceToHost", "16",
	                                                                     "4294967295") "," EVENT("kernel",
	                                                                                             "Cijk_"
	                                                                                             "gemm",
	                                                                                             "2", "0",
	                                                                                             "18",
	                                                                                             "1",
	                                                                                             "\"devic"
	                                                                                             "e\":2,"
	                                                                                             "\"strea"
	                                                                                             "m\":"
	                                                                                             "0")),
	    &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(linked(&a), 1);
	assert_int_equal(row_of(&a, 1)->copy_ns, 1000);
	assert_int_equal(row_of(&a, 1)->compute_ns, 0);
	assert_int_equal(whole(&a)->copy_ns, 4000);
	assert_int_equal(whole(&a)->compute_ns, 1000);
	assert_int_equal(whole(&a)->device, 2);
	/* a text stream on the host is no device row, and stream 0 is a stream */
	assert_int_equal(t->kind[1], EVENT_HOST_RUNTIME);
	assert_string_equal(trace_text(t, trace_detail(t, 4)->type, NULL), "HtoD");
	assert_string_equal(trace_text(t, trace_detail(t, 5)->type, NULL), "DtoH");
	assert_string_equal(trace_text(t, trace_detail(t, 6)->type, NULL), "DtoD");
}

/* TraceLens#827, kineto#1567 (sglang): one replay, many kernels */
static void c23_a_graph_replay_shows_its_kernels(void **state)
{
	ASKED_AUTO a = {0};
	struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .by_name = true};
	struct operator_line *lines = NULL;
	struct operator_graphs g;
	size_t n = 0;

	(void)state;
	ask("a.json",
	    TRACE(LAUNCH("hipGraphLaunch", "1", "9", "5") "," KERNEL("gemm", "3", "6", "5") "," KERNEL(
	        "norm", "10", "2",
	        "5") "," KERNEL("gemm", "13", "7",
	                        "5") "," LAUNCH("hipLaunchKernel", "20", "1",
	                                        "6") "," KERNEL("gemm", "23", "5",
	                                                        "6") "," KERNEL("norm", "30", "5", "77")),
	    &a);
	g = operators_graphs(&a.o, &q);
	assert_true(g.count == 3 && g.total_ns == 15000);
	assert_float_equal(g.share, 0.6, 1e-12);
	assert_int_equal(operators_select(&a.o, &q, &lines, &n), SB_OK);
	assert_int_equal(n, 2);
	assert_string_equal(sb_strings_get(a.o.strings, lines[0].row.name, NULL), "gemm");
	assert_true(lines[0].row.count == 3 && lines[0].row.graph_count == 2 &&
	            lines[0].row.graph_ns == 13000);
	assert_true(lines[1].row.count == 2 && lines[1].row.graph_count == 1);
	free(lines);
}

/* chakra#83, kineto#846, #1001: nothing here goes by External id */
static void c26_external_ids_are_not_needed(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json",
	    TRACE(STEP("1", "0", "9") "," HOST("aten::mm", "1", "5") "," LAUNCH(
	        "cudaLaunchKernel", "2", "1", "1") "," KERNEL("k", "4", "1", "1")),
	    &a);
	assert_int_equal(linked(&a), 1);
	assert_int_equal(row_of(&a, 1)->compute_ns, 1000);
}

/* HTA#170, #268 (triton_example): a stream does not make a device row; 1.76 us of the device are busy */
static void c27_the_category_makes_the_device_row(void **state)
{
	ASKED_AUTO a = {0};

	(void)state;
	ask("a.json",
	    TRACE(EVENT("cpu_op", "triton_poi_fused_0", "9", "9", "1", "94.5",
	                "\"stream\":0,\"grid\":\"grid(1,)\"") "," EVENT("cuda_driver", "cuLaunchKernel", "9",
	                                                                "9", "2", "3",
	                                                                "\"stream\":\"7\","
	                                                                "\"correlation\":"
	                                                                "1") "," EVENT("ke"
	                                                                               "rn"
	                                                                               "e"
	                                                                               "l",
	                                                                               "tr"
	                                                                               "it"
	                                                                               "on"
	                                                                               "_p"
	                                                                               "oi"
	                                                                               "_f"
	                                                                               "us"
	                                                                               "ed"
	                                                                               "_"
	                                                                               "0",
	                                                                               "0", "7", "9",
	                                                                               "1."
	                                                                               "7"
	                                                                               "6",
	                                                                               "\""
	                                                                               "st"
	                                                                               "re"
	                                                                               "am"
	                                                                               "\""
	                                                                               ":"
	                                                                               "\""
	                                                                               "7"
	                                                                               "\""
	                                                                               ","
	                                                                               "\""
	                                                                               "co"
	                                                                               "rr"
	                                                                               "el"
	                                                                               "at"
	                                                                               "io"
	                                                                               "n"
	                                                                               "\""
	                                                                               ":"
	                                                                               "1")),
	    &a);
	assert_int_equal(whole(&a)->busy_ns, 1760);
	assert_int_equal(whole(&a)->span_ns, 1760);
	assert_int_equal(linked(&a), 1);
	assert_int_equal(whole(&a)->device, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(c17_an_unknown_rank_is_unknown),
	    cmocka_unit_test(c17_the_rank_is_found_in_every_form),
	    cmocka_unit_test(c18_without_steps_there_is_the_whole),
	    cmocka_unit_test(c19_counts_add_up),
	    cmocka_unit_test(c20_every_call_launches),
	    cmocka_unit_test(c21_amd_rows_without_a_launch_stay_alone),
	    cmocka_unit_test(c23_a_graph_replay_shows_its_kernels),
	    cmocka_unit_test(c26_external_ids_are_not_needed),
	    cmocka_unit_test(c27_the_category_makes_the_device_row),
	};

	return cmocka_run_group_tests_name("user pain: launches and ranks", tests, NULL, NULL);
}
