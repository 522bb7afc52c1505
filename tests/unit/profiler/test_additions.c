#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/profiler/ascend_sql.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* What stands between the spans or beside the tables, and must change nothing: flows, counters, instants, and
 * what a viewer adds (research pages ascend-formats 1.12 and 1.13, trace-formats 2.1 and 2.4). */

static void read_one(const char *path, const char *data, size_t len, struct profile *out)
{
	const struct text_file file = {path, data, len};
	struct sb_error err;

	if (read_texts(&file, 1, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(out->count, 1);
}

#define FLOW(ph, cat, name, id, ts)                                                                          \
	"{\"ph\":\"" ph "\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"id\":" id                            \
	",\"pid\":1,\"tid\":2,\"ts\":" ts "},"

/* torch_to_npu has the start in ns as its id, which no double holds; finishes outnumber starts. */
static void flows_of_ascend_hold_no_time(void **state)
{
	static const char TEXT[] =
	    "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"Ascend Hardware\"}},"
	    "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":1,\"args\":{\"labels\":\"NPU 0\"}}," FLOW(
	        "s", "async_npu", "torch_to_npu", "1736408883704643212", "\"1736408883704643.212\"")
	        FLOW("f", "async_npu", "torch_to_npu", "1736408883704643212",
	             "\"1736408883704643.212\"") FLOW("f", "async_npu", "torch_to_npu", "1736408883704643213",
	                                              "\"1736408883704643.213\"")
	            FLOW("s", "fwdbwd", "fwdbwd", "7",
	                 "\"1736408883704643.212\"") FLOW("s", "HostToDevice", "HostToDevice4101842894847",
	                                                  "\"4101842894847\"", "\"1736408883704643.212\"")
	                FLOW("f", "async_task_queue", "enqueue", "3",
	                     "\"1736408883704643.212\"") "{\"name\":\"AI Core "
	                                                 "Freq\",\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":"
	                                                 "\"1736408883704643.000\","
	                                                 "\"args\":{\"MHz\":1650}},{\"name\":\"Acc "
	                                                 "PMU\",\"ph\":\"C\",\"pid\":1,\"tid\":0,"
	                                                 "\"ts\":\"1736408883704643.000\",\"args\":{\"\":0}},"
	                                                 "{\"name\":\"MatMul\",\"ph\":\"X\",\"pid\":1,"
	                                                 "\"tid\":2,\"ts\":\"1736408883704643.212\","
	                                                 "\"dur\":5.5,\"args\":{\"Task "
	                                                 "Type\":\"AI_CORE\",\"connection_id\":955}}]";
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_one("trace_view.json", TEXT, sizeof(TEXT) - 1, &p);
	c = &p.captures[0];
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(c->event_count, 11);
	assert_int_equal(c->trace.count, 1);
	assert_true(c->trace.start_ns[0] == INT64_C(1736408883704643212) && c->trace.dur_ns[0] == 5500);
	assert_int_equal(c->trace.link[0], 955);
}

/* 2021: "[memory]" is an instant without category, forward and backward are joined by flows, and a call that
 * launched nothing has an end of a flow without its beginning. */
static void instants_and_flows_of_2021_hold_no_time(void **state)
{
	static const char TEXT[] = "{\"traceEvents\":[" FLOW("s", "forward_backward", "fwd", "1", "10") FLOW(
	    "f", "async", "launch", "99",
	    "10") "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":\"25738\",\"ts\":11,"
	          "\"args\":"
	          "{\"Device Type\":1,\"Device Id\":0,\"Bytes\":512}},"
	          "{\"ph\":\"i\",\"name\":\"Iteration Start: PyTorch "
	          "Profiler\",\"s\":\"g\",\"pid\":\"Traces\","
	          "\"tid\":\"Trace PyTorch Profiler\",\"ts\":9},"
	          "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":12,"
	          "\"dur\":3,\"args\":{\"device\":0,\"stream\":7,\"correlation\":5,\"external id\":2}}]}";
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_one("worker0.pt.trace.json", TEXT, sizeof(TEXT) - 1, &p);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_KINETO);
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(c->event_count, 5);
	assert_int_equal(c->trace.count, 1);
	assert_true(c->trace.kind[0] == EVENT_KERNEL && c->trace.start_ns[0] == 12000 &&
	            c->trace.dur_ns[0] == 3000);
}

/* MindStudio Insight writes into the databases that it opens. */
static void what_a_viewer_added_is_not_read(void **state)
{
	MADE_AUTO db =
	    made_database(NAMES TASK COMPUTE COLLECTIVE TWO_KERNELS ONE_COLLECTIVE
	                  "ALTER TABLE TASK ADD COLUMN depth INTEGER; UPDATE TASK SET depth = 3;"
	                  "ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN waitNs INTEGER;"
	                  "CREATE TABLE OVERLAP_ANALYSIS (id,deviceId,startNs,endNs,type);"
	                  "INSERT INTO OVERLAP_ANALYSIS VALUES (1,3,0,999999,0),(2,3,0,999999,1);"
	                  "CREATE TABLE status_info (id,value); INSERT INTO status_info VALUES (1,'half');"
	                  "CREATE TABLE _TASK_old_1 (startNs,endNs); INSERT INTO _TASK_old_1 VALUES (5,6);"
	                  "CREATE TABLE AICORE_FREQ (deviceId,timestampNs,freq);"
	                  "INSERT INTO AICORE_FREQ VALUES (3,2000,1650),(3,1000,800);");
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_one("ascend_pytorch_profiler_0.db", db.data, db.len, &p);
	c = &p.captures[0];
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(c->kernel_count, 3);
	for (size_t i = 0; i < c->trace.count; i++) {
		assert_true(c->trace.kind[i] != EVENT_LANE_COMPUTE);
		assert_true(c->trace.start_ns[i] >= 1000 && c->trace.dur_ns[i] <= 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(flows_of_ascend_hold_no_time),
	    cmocka_unit_test(instants_and_flows_of_2021_hold_no_time),
	    cmocka_unit_test(what_a_viewer_added_is_not_read),
	};

	return cmocka_run_group_tests_name("additions", tests, NULL, NULL);
}
