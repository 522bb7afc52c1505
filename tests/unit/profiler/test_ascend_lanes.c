/* What the research page ascend-formats (0 and 1.12) tells of trace_view.json, as far as the other tests do
 * not show it: forms of values, categories, data types, flows, and steps that work runs across. */
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#include "base/buf.h"
#include "profiler/read/ascend_kind.h"

#define TRACE "h_1_20250109084453123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define NAMED(what, pid, tid, name)                                                                          \
	"{\"ph\":\"M\",\"name\":\"" what "\",\"pid\":" pid ",\"tid\":" tid ",\"args\":{\"name\":\"" name     \
	"\"}},"
#define HARDWARE NAMED("process_name", "2", "0", "Ascend Hardware")
#define SPAN(name, pid, tid, ts, dur, more)                                                                  \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" ts                   \
	"\",\"dur\":" dur more "},"
#define TASK(type) ",\"args\":{\"Task Type\":\"" type "\"}"
#define END "{\"ph\":\"i\",\"name\":\"end\",\"pid\":2,\"tid\":0,\"ts\":\"1\"}]"

static void read_text(const char *text, size_t len, struct profile *p)
{
	const struct text_file f = {TRACE, text, len};
	struct sb_error err;

	if (read_texts(&f, 1, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(p->count, 1);
	assert_int_equal(p->captures[0].format, FORMAT_ASCEND_TEXT);
}

/* 0.10: any number may stand there as text, and text in any language as it is. */
static void numbers_may_be_texts(void **state)
{
	static const char *const quotes[] = {"", "\""};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *q = quotes[i];
		PROFILE_AUTO p = {0};
		SB_BUF_AUTO b = {0};
		const struct trace *t;

		sb_buf_init(&b, 1 << 16);
		sb_buf_addf(&b, "[%s%s%s", HARDWARE, NAMED("process_name", "\"3\"", "0", "Communication"),
		            NAMED("thread_name", "\"3\"", "\"0\"", "Group 0 Communication"));
		sb_buf_addf(&b,
		            "{\"ph\":\"X\",\"name\":\"\xE7\xAE\x97\xE5\xAD\x90\",\"pid\":%s2%s,\"tid\":%s7%s,"
		            "\"ts\":%s1736408883704643.212%s,\"dur\":%s81.441%s,\"args\":{\"Task "
		            "Type\":\"AI_CORE\",\"connection_id\":%s953%s}},",
		            q, q, q, q, q, q, q, q, q, q);
		sb_buf_addf(&b,
		            "{\"ph\":\"X\",\"name\":\"MEMCPY_ASYNC\",\"pid\":%s2%s,\"tid\":%s7%s,\"ts\":"
		            "%s1736408883704743%s,\"dur\":%s5%s,\"args\":{\"Task Type\":\"PCIE_DMA_SQE\","
		            "\"data size(Byte)\":%s19267584%s}},",
		            q, q, q, q, q, q, q, q, q, q);
		sb_buf_addf(&b,
		            "{\"ph\":\"X\",\"name\":\"hcom_allReduce__586_3_1\",\"pid\":%s3%s,\"tid\":%s0%s,"
		            "\"ts\":%s1736408883704843%s,\"dur\":%s5%s,\"args\":{\"count\":%s1000%s,"
		            "\"data_type\":\"FP16\"}},",
		            q, q, q, q, q, q, q, q, q, q);
		sb_buf_addf(&b,
		            "{\"ph\":\"C\",\"name\":\"AI Core Freq\",\"pid\":%s2%s,\"tid\":0,\"ts\":"
		            "%s1736408883704643%s,\"args\":{\"MHz\":%s1800%s}}]",
		            q, q, q, q, q, q);
		read_text(b.data, b.len, &p);
		t = &p.captures[0].trace;
		assert_int_equal(t->count, 3);
		assert_true(t->start_ns[0] == INT64_C(1736408883704643212) && t->dur_ns[0] == 81441 &&
		            t->link[0] == 953 && t->kind[0] == EVENT_KERNEL);
		assert_string_equal(trace_text(t, t->name[0], NULL), "\xE7\xAE\x97\xE5\xAD\x90");
		assert_true(trace_detail(t, 1)->bytes == 19267584);
		assert_true(trace_detail(t, 2)->bytes == 2000 && trace_detail(t, 2)->sequence == 3);
		assert_string_equal(trace_text(t, t->lanes[t->lane[2]].thread, NULL),
		                    "Group 0 Communication");
		assert_int_equal(p.captures[0].clock_count, 1);
		assert_int_equal(p.warnings.count, 0);
	}
}

/* 0.10: a capture that was killed leaves the list open, behind an event or behind its comma. */
static void a_list_that_is_not_closed(void **state)
{
	static const char *const ends[] = {"", ",", ",\n", ",{", ",{\"ph\":\"X\",\"na"};

	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++) {
		PROFILE_AUTO p = {0};
		char text[600];
		int n = snprintf(
		    text, sizeof(text), "[%s%s%s", HARDWARE,
		    SPAN(
		        "a", "2", "1", "10.000", "5",
		        TASK("AI_CORE")) "{\"ph\":\"X\",\"name\":\"b\",\"pid\":2,\"tid\":1,\"ts\":\"20.000\","
		                         "\"dur\":5,\"args\":{\"Task Type\":\"AI_CORE\"}}",
		    ends[i]);

		read_text(text, (size_t)n, &p);
		assert_int_equal(p.captures[0].trace.count, 2);
		assert_int_equal(p.captures[0].trace.kind[1], EVENT_KERNEL);
		assert_non_null(warning_of(&p, "truncated"));
		assert_true(p.captures[0].cut & CUT_TRACE);
	}
}

/* 0.5: 2^32 - 1 and 2^64 - 1 say that there is no rank, subtask, model or notification. */
static void values_that_are_none_in_a_trace(void **state)
{
	static const char text[] =
	    "[" HARDWARE NAMED("process_name", "3", "0", "HCCL") NAMED("thread_name", "3", "1", "Plane 0")
	        SPAN("Notify_Wait", "3", "1", "10.000", "5",
	             ",\"args\":{\"notify_id\":\"18446744073709551615\",\"dst rank\":4294967295,\"task "
	             "type\":\"Notify_Wait\",\"transport type\":\"LOCAL\",\"size(Byte)\":0}")
	            SPAN("Memcpy", "3", "1", "20.000", "5",
	                 ",\"args\":{\"notify_id\":\"18446744073709551615\",\"src rank\":4294967295,\"task "
	                 "type\":\"Memcpy\",\"transport type\":\"SDMA\",\"link "
	                 "type\":\"INVALID_TYPE\",\"size(Byte)\":4096}")
	                SPAN("a", "2", "1", "30.000", "5",
	                     ",\"args\":{\"Model Id\":4294967295,\"Subtask "
	                     "Id\":4294967295,\"connection_id\":0,\"Task Type\":\"AI_CORE\"}") END;
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_text(text, 0, &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 3);
	assert_int_equal(p.warnings.count, 0);
	assert_null(trace_detail(t, 0));
	/* without a link's kind the transport is told */
	assert_true(trace_detail(t, 1) && trace_detail(t, 1)->bytes == 4096);
	assert_string_equal(trace_text(t, trace_detail(t, 1)->type, NULL), "SDMA");
	assert_true(t->link[2] == -1);
}

/* 1.12: what the categories of the host are; the lane's name may be lost with the end of the file. */
static void categories_of_the_host(void **state)
{
	static const struct {
		const char *name, *cat;
		enum event_kind kind;
	} events[] = {
	    {"aten::mm", "cpu_op", EVENT_HOST_OP},
	    {"Enqueue@aclnnMm", "enqueue", EVENT_HOST_QUEUE},
	    {"Dequeue@aclnnMm", "dequeue", EVENT_HOST_QUEUE},
	    {"train.py(7): step", "python_function", EVENT_HOST_PYTHON},
	    {"Optimizer.step#SGD.step", "user_annotation", EVENT_HOST_ANNOTATION},
	    {"ProfilerStep#3", "user_annotation", EVENT_HOST_ANNOTATION},
	    {"ProfilerStep#4", "cpu_op", EVENT_HOST_ANNOTATION},
	};

	(void)state;
	for (size_t named = 0; named < 2; named++) {
		PROFILE_AUTO p = {0};
		SB_BUF_AUTO b = {0};

		sb_buf_init(&b, 1 << 16);
		sb_buf_adds(&b, "[" HARDWARE);
		for (size_t i = 0; i < COUNT(events); i++)
			sb_buf_addf(&b,
			            "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":"
			            "\"%zu0.000\",\"dur\":5},",
			            events[i].name, events[i].cat, i + 1);
		if (named)
			sb_buf_adds(&b, NAMED("process_name", "1", "0", "Python"));
		sb_buf_adds(&b, END);
		read_text(b.data, b.len, &p);
		assert_int_equal(p.captures[0].trace.count, COUNT(events));
		for (size_t i = 0; i < COUNT(events); i++)
			if (p.captures[0].trace.kind[i] != events[i].kind)
				fail_msg("%s: %d", events[i].name, p.captures[0].trace.kind[i]);
		assert_int_equal(p.captures[0].step_count, 2);
		assert_true(p.captures[0].steps[0].number == 3 && p.captures[0].steps[1].number == 4);
	}
}

/* 1.12: calls of CANN, by their lane, and by their names and args where the lane's name was cut off. */
static void calls_of_cann(void **state)
{
	static const char *const names[] = {"AscendCL@aclrtLaunchKernel",
	                                    "Node@launch",
	                                    "Runtime@KernelLaunch",
	                                    "HcclOpLaunch",
	                                    "Model@Execute",
	                                    "anything"};

	(void)state;
	for (size_t named = 0; named < 2; named++) {
		PROFILE_AUTO p = {0};
		SB_BUF_AUTO b = {0};

		sb_buf_init(&b, 1 << 16);
		sb_buf_adds(&b, "[" HARDWARE);
		for (size_t i = 0; i < COUNT(names); i++)
			sb_buf_addf(
			    &b,
			    "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":\"%zu0.000\",\"dur\":5,"
			    "\"args\":{%s\"connection_id\":%zu}},",
			    names[i], i + 1, i == 5 ? "\"level\":\"acl\"," : "", i + 1);
		if (named)
			sb_buf_adds(&b, NAMED("process_name", "1", "0", "CANN"));
		sb_buf_adds(&b, END);
		read_text(b.data, b.len, &p);
		for (size_t i = 0; i < COUNT(names); i++) {
			if (p.captures[0].trace.kind[i] != EVENT_HOST_RUNTIME)
				fail_msg("%s: %d", names[i], p.captures[0].trace.kind[i]);
			assert_true(p.captures[0].trace.link[i] == (int64_t)i + 1);
		}
	}
}

/* 1.12: the size of a collective is its count of elements of a type; of an unknown type it is unknown. */
static void sizes_of_data_types(void **state)
{
	static const struct {
		const char *type;
		int64_t bytes;
	} types[] = {{"INT8", 1},  {"UINT8", 1},  {"INT16", 2}, {"UINT16", 2}, {"FP16", 2},   {"BFP16", 2},
	             {"INT32", 4}, {"UINT32", 4}, {"FP32", 4},  {"INT64", 8},  {"UINT64", 8}, {"FP64", 8}};

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++)
		assert_true(ascend_data_bytes(1000, types[i].type) == 1000 * types[i].bytes);
	assert_true(ascend_data_bytes(0, "FP32") == 0);
	assert_true(ascend_data_bytes(1000, "INVALID_TYPE") == SB_NULL);
	assert_true(ascend_data_bytes(1000, "") == SB_NULL);
	assert_true(ascend_data_bytes(-1, "FP32") == SB_NULL);
	assert_true(ascend_data_bytes(INT64_MAX / 2, "FP32") == SB_NULL);
}

/* 1.12: flows and counters are no work, and an id may be an int or a text. */
static void flows_hold_no_time(void **state)
{
	static const char text[] = "[" HARDWARE NAMED("process_name", "1", "0", "CANN")
	    SPAN("Node@launch", "1", "1", "10.000", "5", ",\"args\":{\"connection_id\":936}")
	        SPAN("a", "2", "1", "30.000", "5",
	             ",\"args\":{\"connection_id\":936,\"Task "
	             "Type\":\"AI_CORE\"}") "{\"ph\":\"s\",\"bp\":\"e\","
	                                    "\"cat\":\"HostToDevice\","
	                                    "\"name\":\"HostToDevice936\","
	                                    "\"id\":"
	                                    "\"4024307023871\",\"pid\":1,"
	                                    "\"tid\":1,\"ts\":\"10.000\"},"
	                                    "{\"ph\":\"f\",\"bp\":\"e\","
	                                    "\"cat\":\"HostToDevice\","
	                                    "\"name\":\"HostToDevice936\","
	                                    "\"id\":"
	                                    "\"4024307023871\",\"pid\":2,"
	                                    "\"tid\":1,\"ts\":\"30.000\"},"
	                                    "{\"ph\":\"s\",\"bp\":\"e\","
	                                    "\"cat\":\"async_npu\",\"name\":"
	                                    "\"torch_to_npu\",\"id\":"
	                                    "1736408883704643212,\"pid\":1,"
	                                    "\"tid\":1,\"ts\":\"10.000\"},"
	                                    "{\"ph\":\"f\",\"bp\":\"e\","
	                                    "\"cat\":\"async_npu\",\"name\":"
	                                    "\"torch_to_npu\",\"id\":"
	                                    "1736408883704643212,\"pid\":2,"
	                                    "\"tid\":1,\"ts\":\"30.000\"},"
	                                    "{\"ph\":\"s\",\"cat\":"
	                                    "\"fwdbwd\",\"name\":\"fwdbwd\","
	                                    "\"id\":1,\"pid\":1,\"tid\":1,"
	                                    "\"ts\":\"10.000\"},"
	                                    "{\"ph\":\"C\",\"name\":\"HBM "
	                                    "0/"
	                                    "Read\",\"pid\":5,\"tid\":0,"
	                                    "\"ts\":\"9000.000\",\"args\":"
	                                    "{\"Read(MB/s)\":5.5}}]";
	JUDGED_AUTO j = {0};

	(void)state;
	read_text(text, 0, &j.p);
	assert_int_equal(j.p.captures[0].trace.count, 2);
	assert_int_equal(j.p.warnings.count, 0);
	/* two names, two spans, five flows, a counter */
	assert_int_equal(j.p.captures[0].event_count, 10);
	judge(&j);
	assert_true(j.b.rows[0].span_ns == 5000 && j.b.rows[0].compute_ns == 5000);
}

/* 1.12: the rows of the Overlap Analysis lane in the words of all versions, by the event or by its thread. */
static void rows_of_the_overlap_lane(void **state)
{
	static const struct {
		const char *name;
		enum event_kind kind;
	} rows[] = {
	    {"Computing", EVENT_LANE_COMPUTE},
	    {"Communication", EVENT_LANE_COMMUNICATION},
	    {"Communication(Not Overlapped)", EVENT_LANE_EXPOSED},
	    {"Communication(Not OverLapped)", EVENT_LANE_EXPOSED},
	    {"Not OverLapped", EVENT_LANE_EXPOSED},
	    {"Free", EVENT_LANE_FREE},
	    {"Something else", EVENT_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		PROFILE_AUTO p = {0};
		char text[600];
		int n = snprintf(text, sizeof(text),
		                 "[" HARDWARE NAMED("process_name", "4", "0", "Overlap Analysis")
		                     NAMED("thread_name", "4", "7",
		                           "%s") "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":4,"
		                                 "\"tid\":1,\"ts\":\"1.000\",\"dur\":5}," SPAN(
		                                     "x", "4", "7", "9.000", "5", "")
		                                     SPAN("a", "2", "1", "10.000", "5", TASK("AI_CORE")) END,
		                 rows[i].name, rows[i].name);

		read_text(text, (size_t)n, &p);
		if (p.captures[0].trace.kind[0] != rows[i].kind ||
		    p.captures[0].trace.kind[1] != rows[i].kind)
			fail_msg("%s: %d", rows[i].name, p.captures[0].trace.kind[0]);
	}
}

/* 1.1: an event of the Overlap Analysis lane belongs wholly to the step that its start lies in. Step 1 is 0
 * to 100 us, step 2 100 to 200 us. Step 1: 10 to 110, of which 10 + 20 compute; step 2: 110 to 170, of which
 * 10 free, 30 communication and 20 compute. Preparing ends with the first of the latter two. */
static void work_belongs_to_the_step_it_starts_in(void **state)
{
	static const char text[] = "[" NAMED("process_name", "4", "0", "Overlap Analysis")
	    NAMED("process_name", "1", "0", "Python") SPAN("ProfilerStep#1", "1", "1", "0.000", "100",
	                                                   ",\"cat\":\"cpu_op\"")
	        SPAN("ProfilerStep#2", "1", "1", "100.000", "100", ",\"cat\":\"cpu_op\"")
	            SPAN("Computing", "4", "0", "10.000", "10", "") SPAN("Free", "4", "3", "20.000", "70", "")
	                SPAN("Computing", "4", "0", "90.000", "20", "")
	                    SPAN("Free", "4", "3", "110.000", "10", "")
	                        SPAN("Communication", "4", "1", "120.000", "30", "")
	                            SPAN("Communication(Not Overlapped)", "4", "2", "120.000", "30", "")
	                                SPAN("Computing", "4", "0", "150.000", "20", "") END;
	JUDGED_AUTO j = {0};
	const struct breakdown_row *r;

	(void)state;
	read_text(text, 0, &j.p);
	judge(&j);
	r = j.b.rows;
	assert_int_equal(j.b.count, 3);
	assert_true(r[0].step == 1 && r[0].compute_ns == 30000 && r[0].free_ns == 70000 &&
	            r[0].span_ns == 100000 && r[0].communication_ns == 0 && r[0].preparing_ns == 10000);
	assert_true(r[1].step == 2 && r[1].compute_ns == 20000 && r[1].exposed_ns == 30000 &&
	            r[1].free_ns == 10000 && r[1].span_ns == 60000 && r[1].preparing_ns == 20000);
	assert_true(r[2].step == SB_NULL && r[2].compute_ns == 50000 && r[2].exposed_ns == 30000 &&
	            r[2].free_ns == 80000 && r[2].span_ns == 160000 && r[2].preparing_ns == SB_NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_may_be_texts),
	    cmocka_unit_test(a_list_that_is_not_closed),
	    cmocka_unit_test(values_that_are_none_in_a_trace),
	    cmocka_unit_test(categories_of_the_host),
	    cmocka_unit_test(calls_of_cann),
	    cmocka_unit_test(sizes_of_data_types),
	    cmocka_unit_test(flows_hold_no_time),
	    cmocka_unit_test(rows_of_the_overlap_lane),
	    cmocka_unit_test(work_belongs_to_the_step_it_starts_in),
	};

	return cmocka_run_group_tests_name("ascend lanes", tests, NULL, NULL);
}
