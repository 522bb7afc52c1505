#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/unit/profiler/made_profile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define NAMED(what, pid, tid, name)                                                                          \
	"{\"ph\": \"M\", \"name\": \"" what "\", \"pid\": " pid ", \"tid\": " tid                            \
	", \"args\": {\"name\": \"" name "\"}}, "
#define TS "17364088837000" /* and two digits: all lie in one capture */
#define SPAN(name, pid, tid, ts, dur, args) SPAN_AT(name, pid, tid, TS ts, dur, args)
#define SPAN_AT(name, pid, tid, ts, dur, args)                                                               \
	"{\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":\"" ts "\",\"dur\":" dur args         \
	",\"ph\":\"X\"}, "

/* clang-format off */
/* Names of processes come after the events that use them, as in real files. */
static const char TRACE[] =
    "[{\"ph\": \"X\", \"name\": \"aten::add\", \"pid\": 100, \"tid\": 7, \"ts\": \"1736408883688177.930\", "
    "\"dur\": 145.57, \"cat\": \"cpu_op\", \"args\": {\"Call stack\": \"a;\\r\\nb\"}}, "
    "{\"ph\": \"X\", \"name\": \"ProfilerStep#50\", \"pid\": 100, \"tid\": 7, \"ts\": \"1736408883686740.710\", "
    "\"dur\": 155985.8, \"cat\": \"cpu_op\", \"args\": {}}, "
    "{\"ph\": \"X\", \"name\": \"Enqueue\", \"pid\": 100, \"tid\": 7, \"ts\": \"" TS "05\", \"dur\": 1, \"cat\": "
    "\"enqueue\", \"args\": {\"correlation_id\": 3}}, "
    "{\"ph\": \"X\", \"name\": \"f.py(1): g\", \"pid\": 100, \"tid\": 7, \"ts\": \"" TS "06\", \"dur\": 1, \"cat\": "
    "\"python_function\", \"args\": {}}, " SPAN("AscendCL@aclrtMemcpyAsync", "200", "8", "10.5", "31.84",
    ", \"args\": {\"level\": \"acl\", \"connection_id\": 936}")
    SPAN_AT("trans_0", "3170820512", "2", "1736408883704643.212", "53.7410625",
    ", \"args\": {\"Task Type\": \"AI_CORE\", \"connection_id\": 953}")
    SPAN("old", "3170820512", "2", "20", "1", ", \"args\": {\"Task Type\": \"Other\"}")
    SPAN("MEMCPY_ASYNC", "3170820512", "2", "30", "828.33653125",
    ", \"args\": {\"Task Type\": \"PCIE_DMA_SQE\", \"connection_id\": 4294967295, \"data "
    "size(Byte)\": 19267584, \"memcpy direction\": \"host to device\"}")
    SPAN("EVENT_WAIT", "3170820512", "2", "40", "9", ", \"args\": {\"Task Type\": \"EVENT_WAIT_SQE\"}")
    SPAN("Notify Wait", "3170820512", "4", "41", "9", ", \"args\": {\"Task Type\": \"Notify Wait\"}")
    SPAN("EVENT_RECORD", "3170820512", "4", "42", "0",
    ", \"args\": {\"Task Type\": \"EVENT_RECORD_SQE\"}")
    SPAN("SDMA", "3170820512", "4", "43", "1", ", \"args\": {\"Task Type\": \"SDMA\"}")
    SPAN("hcom_allReduce__586_3_1", "300", "0", "50", "79089.52021875",
    ", \"args\": {\"connection_id\": 1175, \"data_type\": \"FP32\", \"count\": "
    "4097000}")
    SPAN("Memcpy", "300", "1", "51", "101.862",
    ", \"args\": {\"task type\": \"Memcpy\", \"transport type\": "
    "\"SDMA\", \"size(Byte)\": 1937312, \"link type\": \"HCCS\"}")
    SPAN("Notify_Wait", "300", "1", "52", "0.02",
    ", \"args\": {\"task type\": \"Notify_Wait\", \"size(Byte)\": 0}")
    /* a row whose name says nothing: its lane decides */
    SPAN("broadcast_odd", "300", "0", "53", "1", "") SPAN("Computing", "400", "0", "60", "53.742", "") SPAN(
    "Communication", "400", "1", "61", "2", "") SPAN("Communication(Not Overlapped)", "400", "2", "62", "3", "")
    SPAN("Free", "400", "3", "63", "4", "") SPAN("a kernel called Free", "3170820512", "2", "64", "4", "")
    SPAN("stray", "500", "0", "65", "4",
    "") "{\"name\": \"HBM 0/Read\", \"ts\": \"70\", \"pid\": 500, \"tid\": 0, \"args\": {\"Read(MB/s)\": "
    "0.0}, \"ph\": \"C\"}, "
    "{\"name\": \"HostToDevice936\", \"ph\": \"s\", \"cat\": \"HostToDevice\", \"id\": \"936\", "
    "\"pid\": 200, \"tid\": 8, \"ts\": \"10.5\"}, " NAMED("process_name", "100", "0", "Python")
    NAMED("process_name", "200", "0", "CANN")
    NAMED("process_name", "3170820512", "0", "Ascend Hardware")
    NAMED("thread_name", "3170820512", "2", "Stream 2") NAMED("process_name", "300", "0", "HCCL")
    NAMED("thread_name", "300", "0", "Group 0 Communication")
    NAMED("thread_name", "300", "1", "Plane 0")
    NAMED("process_name", "400", "0", "Overlap Analysis")
    NAMED("process_name", "500", "0", "HBM")
    "{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": 3170820512, \"tid\": 0, \"args\": {\"labels\": \"NPU "
    "5\"}}]";
/* clang-format on */

static const enum event_kind KINDS[] = {EVENT_HOST_OP,
                                        EVENT_HOST_ANNOTATION,
                                        EVENT_HOST_QUEUE,
                                        EVENT_HOST_PYTHON,
                                        EVENT_HOST_RUNTIME,
                                        EVENT_KERNEL,
                                        EVENT_KERNEL,
                                        EVENT_MEMCPY,
                                        EVENT_DEVICE_WAIT,
                                        EVENT_DEVICE_WAIT,
                                        EVENT_DEVICE_OTHER,
                                        EVENT_DEVICE_OTHER,
                                        EVENT_COMMUNICATION,
                                        EVENT_COMMUNICATION_TASK,
                                        EVENT_COMMUNICATION_TASK,
                                        EVENT_COMMUNICATION,
                                        EVENT_LANE_COMPUTE,
                                        EVENT_LANE_COMMUNICATION,
                                        EVENT_LANE_EXPOSED,
                                        EVENT_LANE_FREE,
                                        EVENT_KERNEL,
                                        EVENT_OTHER};

static void read_trace(const char *path, const char *text, struct profile *p)
{
	const struct text_file f = {path, text, 0};
	struct sb_error err;

	assert_int_equal(read_texts(&f, 1, p, &err), SB_OK);
	assert_int_equal(p->count, 1);
	assert_int_equal(p->captures[0].format, FORMAT_ASCEND_TEXT);
}

static void lanes_decide_what_events_are(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_trace("x/trace_view.json", TRACE, &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, COUNT(KINDS));
	for (size_t i = 0; i < t->count; i++)
		assert_int_equal(t->kind[i], KINDS[i]);
	assert_int_equal(p.warnings.count, 0);
	assert_true(p.captures[0].rank == SB_NULL);
	assert_string_equal(p.captures[0].source, "x");
}

static void times_links_and_lanes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;
	const struct lane *l;

	(void)state;
	read_trace("trace_view.json", TRACE, &p);
	t = &p.captures[0].trace;
	/* 53.7410625 us: rounded half to even at the nanosecond */
	assert_true(t->start_ns[5] == INT64_C(1736408883704643212) && t->dur_ns[5] == 53741);
	assert_true(t->link[4] == 936 && t->link[5] == 953 && t->link[12] == 1175);
	/* 2^32 - 1 stands for no connection */
	assert_true(t->link[7] == -1 && t->link[0] == -1);
	l = &t->lanes[t->lane[5]];
	assert_string_equal(trace_text(t, l->process, NULL), "Ascend Hardware");
	assert_string_equal(trace_text(t, l->thread, NULL), "Stream 2");
	assert_int_equal(l->device, 5);
	assert_int_equal(t->lanes[t->lane[0]].device, -1);
	assert_string_equal(trace_text(t, t->lanes[t->lane[0]].thread, NULL), "7");
}

static void details_of_device_work(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;
	const struct event_detail *d;

	(void)state;
	read_trace("trace_view.json", TRACE, &p);
	t = &p.captures[0].trace;
	assert_string_equal(trace_text(t, trace_detail(t, 5)->type, NULL), "AI_CORE");
	d = trace_detail(t, 7);
	assert_true(d && d->bytes == 19267584);
	assert_string_equal(trace_text(t, d->type, NULL), "host to device");
	d = trace_detail(t, 12);
	/* 4097000 elements of 4 bytes; third of its group */
	assert_true(d && d->bytes == 16388000 && d->sequence == 3);
	assert_string_equal(trace_text(t, d->type, NULL), "allReduce");
	assert_string_equal(trace_text(t, d->group, NULL), "586");
	d = trace_detail(t, 13);
	assert_true(d && d->bytes == 1937312);
	assert_string_equal(trace_text(t, d->type, NULL), "HCCS");
	/* a wait moves nothing */
	assert_null(trace_detail(t, 14));
}

static void steps_are_found(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_trace("trace_view.json", TRACE, &p);
	assert_int_equal(p.captures[0].step_count, 1);
	assert_true(p.captures[0].steps[0].number == 50);
	assert_true(p.captures[0].steps[0].start_ns == INT64_C(1736408883686740710));
	assert_true(p.captures[0].steps[0].dur_ns == 155985800);
}

static void an_object_and_another_name_do_as_well(void **state)
{
	static const char head[] = "{\"traceEvents\": ";
	char text[sizeof(TRACE) + 40];
	PROFILE_AUTO p = {0}, q = {0};

	(void)state;
	read_trace("rank 0.json", TRACE, &p);
	assert_string_equal(p.captures[0].source, "rank 0.json");
	snprintf(text, sizeof(text), "%s%s}", head, TRACE);
	read_trace("trace_view.json", text, &q);
	assert_int_equal(q.captures[0].trace.count, COUNT(KINDS));
}

static void a_cut_trace_keeps_its_events(void **state)
{
	char text[sizeof(TRACE)];
	PROFILE_AUTO p = {0};
	const char *cut = strstr(TRACE, "EVENT_RECORD");
	size_t len = (size_t)(cut - TRACE);
	const struct warning *w;

	(void)state;
	memcpy(text, TRACE, len);
	text[len] = '\0';
	read_trace("trace_view.json", text, &p);
	/* everything before the tenth hardware row; the names of the lanes are lost, kinds come from the
	 * events */
	assert_int_equal(p.captures[0].trace.count, 10);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(p.captures[0].trace.kind[i], KINDS[i]);
	w = warning_of(&p, "truncated");
	assert_non_null(w);
	assert_true(w->offset > 0 && w->offset <= (int64_t)len);
}

static void hostile_values_cost_only_their_event(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_trace("trace_view.json",
	           "[" SPAN("hcom_", "1", "1", "01", "1", "") SPAN("hcom_x__", "1", "1", "02", "1", "")
	               SPAN("hcom_x__9", "1", "1", "03", "1", "") SPAN("hcom_x__9_99999999999999999999", "1",
	                                                               "1", "04", "1", "")
	                   SPAN("neg", "1", "1", "05", "-1", "") SPAN("bad", "1", "1", "100a", "1", "")
	                       SPAN("ProfilerStep#-1", "1", "1", "06", "1", "")
	                           SPAN("ProfilerStep#x", "\"a\"", "{}", "07", "1", ", \"args\": 3") "{}, 5]",
	           &p);
	assert_int_equal(p.captures[0].trace.count, 6);
	assert_int_equal(p.captures[0].step_count, 0);
	assert_non_null(warning_of(&p, "negative_duration"));
	assert_non_null(warning_of(&p, "bad_value"));
}

/* Threads tell groups from planes, whatever the rows are called; a task without its link has its way of
 * transport. */
static void threads_tell_groups_from_planes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;
	const struct event_detail *d;

	(void)state;
	read_trace(
	    "trace_view.json",
	    "[" NAMED("process_name", "3", "0", "Communication") NAMED("thread_name", "3", "1", "Group 12")
	        NAMED("thread_name", "3", "2", "Plane 7") SPAN("odd", "3", "1", "10", "9", "")
	            SPAN("hcom_allReduce__1_0_1", "3", "2", "11", "2", "")
	                SPAN("Memcpy", "3", "2", "13", "2",
	                     ", \"args\": {\"transport type\": \"RDMA\", \"size(Byte)\": 512, \"link "
	                     "type\": \"INVALID_TYPE\"}") "{}]",
	    &p);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 3);
	assert_int_equal(t->kind[0], EVENT_COMMUNICATION);
	assert_int_equal(t->kind[1], EVENT_COMMUNICATION_TASK);
	d = trace_detail(t, 2);
	assert_true(d && d->bytes == 512);
	assert_string_equal(trace_text(t, d->type, NULL), "RDMA");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lanes_decide_what_events_are),
	    cmocka_unit_test(times_links_and_lanes),
	    cmocka_unit_test(details_of_device_work),
	    cmocka_unit_test(threads_tell_groups_from_planes),
	    cmocka_unit_test(steps_are_found),
	    cmocka_unit_test(an_object_and_another_name_do_as_well),
	    cmocka_unit_test(a_cut_trace_keeps_its_events),
	    cmocka_unit_test(hostile_values_cost_only_their_event),
	};

	return cmocka_run_group_tests_name("ascend trace", tests, NULL, NULL);
}
