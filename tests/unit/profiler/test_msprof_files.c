#include "profiler/breakdown.h"
#include "profiler/read/msprof.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/msprof_text.h"

static void host_rows_and_whole_ratios(void **state)
{
	const struct text_file files[] = {
	    {OUT "api_statistic_20250109084453.csv",
	     "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
	     "host,node,launch,12.5,2,6.25,6,6.5,0.06\n",
	     0},
	    {OUT "op_statistic_20250109084453.csv",
	     "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max "
	     "Time(us),Ratio(%)\n"
	     "0,Add,AI_CORE,1,10.5,10.5,10.5,10.5,100\n",
	     0},
	    {OUT "communication_statistic_20250109084453.csv",
	     "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
	     "0,hcom_allReduce_,2,30,10,15,20,100\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_all(files, 3, &p);
	c = &p.captures[0];
	assert_int_equal(p.count, 1);
	assert_int_equal(c->format, FORMAT_MSPROF_TEXT);
	assert_int_equal(c->api_count, 1);
	assert_true(c->apis[0].time_ns == 12500 && c->apis[0].count == 2);
	assert_string_equal(text_of(c, c->apis[0].level), "node");
	assert_int_equal(c->op_statistic_count, 2);
	for (size_t i = 0; i < 2; i++) {
		bool reduce = strcmp(text_of(c, c->op_statistics[i].type), "hcom_allReduce_") == 0;

		assert_true(c->op_statistics[i].total_ns == (reduce ? 30000 : 10500));
		assert_string_equal(text_of(c, c->op_statistics[i].core),
		                    reduce ? "COMMUNICATION" : "AI_CORE");
	}
}

#define OLD_JSON                                                                                             \
	"[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"Step "            \
	"Trace\"}},{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"tid\":0,\"args\":{\"name\":"          \
	"\"Overlap Analysis\"}},"                                                                            \
	"{\"name\":\"Iteration 1\",\"cat\":\"Iteration "                                                     \
	"Time\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":56600000000.5,\"dur\":1000,\"args\":{\"Iteration "   \
	"ID\":1,\"FP Start\":56600000000,\"Iteration Time(ns)\":1000000}},"                                  \
	"{\"name\":\"FP_BP Time 1\",\"cat\":\"FP_BP "                                                        \
	"Time\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":56600000000.5,\"dur\":800,\"args\":{\"Iteration "    \
	"ID\":1}},"                                                                                          \
	"{\"name\":\"Data_aug Bound 1\",\"cat\":\"Data_aug "                                                 \
	"Bound\",\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":56600001000.5,\"id\":\"Data_aug Bound 1\"},"        \
	"{\"name\":\"Computing\",\"ph\":\"X\",\"pid\":2,\"tid\":0,\"ts\":56600000000.5,\"dur\":600.25},"     \
	"{\"name\":\"Communication\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":56600000500.5,\"dur\":300.25}," \
	"{\"name\":\"Not OverLapped\",\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":56600000600.75,\"dur\":200}]"

static void old_timelines_count_uptime(void **state)
{
	const struct text_file files[] = {{PROF "device_0/timeline/msprof_0_1_1.json", OLD_JSON, 0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;
	struct sb_error err = {0};
	struct warnings w = {0};
	struct breakdown b = {0};

	(void)state;
	read_all(files, 1, &p);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_MSPROF_TEXT);
	assert_int_equal(c->step_count, 1);
	assert_true(c->steps[0].number == 1 && c->steps[0].start_ns == INT64_C(56600000000500));
	assert_int_equal(breakdown_compute(&p, &w, &b, &err), SB_OK);
	/* 600.25 computing, then 200 exposed, no gap */
	assert_true(b.rows[0].step == 1 && b.rows[0].compute_ns == 600250 && b.rows[0].exposed_ns == 200000);
	assert_true(b.rows[0].communication_ns == 300250 && b.rows[0].span_ns == 800250);
	assert_true(b.rows[0].free_ns == 0);
	breakdown_free(&b);
	free(w.items);
}

static void info_names_the_chip(void **state)
{
	const struct text_file today[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"), 0},
	    {PROF "device_0/info.json.0",
	     "{\"platform_version\":\"5\",\"DeviceInfo\":[{\"id\":0,\"ai_core_num\":24,\"aic_frequency\":"
	     "\"1650\"}]}",
	     0}};
	const struct text_file before[] = {
	    {PROF "device_0/summary/op_summary_0_1_1.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"),
	     0},
	    {PROF "device_0/info.json.0", "{\"DeviceInfo\":[{\"id\":0}],\"platform_version\":1}", 0}};
	PROFILE_AUTO p = {0};
	PROFILE_AUTO old = {0};

	(void)state;
	read_all(today, 2, &p);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.captures[0].chip, "Ascend910B");
	read_all(before, 2, &old);
	assert_int_equal(old.count, 1);
	assert_string_equal(old.captures[0].chip, "Ascend910A");
}

static void raw_data_stays_out(void **state)
{
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"), 0},
	    {PROF "device_0/data/hwts.data.0.slice_0", "\x01\x02", 2}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.left_out_count, 1);
	assert_non_null(strstr(p.left_out[0].reason, "raw data"));
	assert_true(ascend_raw_path("h_ascend_pt/PROF_1/host/data/x"));
	assert_true(ascend_raw_path("h_ascend_pt/FRAMEWORK/x"));
	assert_false(
	    ascend_raw_path("h_ascend_pt/PROF_1/mindstudio_profiler_output/msprof_20250109084453.json"));
	assert_false(ascend_raw_path("h_ascend_pt/PROF_1/msprof_20250109084453.db"));
}

static void get_next_sees_the_queue_of_the_device(void **state)
{
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"), 0},
	    {OUT "aicpu_mi_20250109084453.csv",
	     "Device_id,Node Name,Start Time(us),End Time(us),Queue Size\n"
	     "0,GetNext_dequeue_wait,100.5,101.25,3\n0,Other,1,2,9\n0,GetNext_dequeue_wait,200,200.5,0\n"
	     "0,GetNext_dequeue_wait,300,200.5,0\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct queue *q;

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.captures[0].queue_count, 1);
	q = &p.captures[0].queues[0];
	assert_int_equal(q->kind, QUEUE_DEVICE);
	assert_int_equal(q->sample_count, 2);
	assert_true(q->samples[0].size == 3 && q->samples[0].get_ns == 750);
	assert_true(q->samples[1].size == 0 && q->samples[1].get_ns == 500);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->line == 5);
}

/* msprof was asked to export twice: the second export lies beside the first. */
static void two_exports_count_once(void **state)
{
#define LANES                                                                                                \
	"[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"tid\":0,\"args\":{\"name\":\"Overlap "         \
	"Analysis\"}},{\"name\":\"Computing\",\"ph\":\"X\",\"pid\":2,\"tid\":0,\"ts\":\"100.000\",\"dur\":"  \
	"10},"                                                                                               \
	"{\"name\":\"Free\",\"ph\":\"X\",\"pid\":2,\"tid\":3,\"ts\":\"110.000\",\"dur\":5}]"
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "100", "10"), 0},
	    {OUT "op_summary_20250110084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "100", "10"), 0},
	    {OUT "msprof_20250109084453.json", LANES, 0},
	    {OUT "msprof_20250110084453.json", LANES, 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 4, &p);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_int_equal(p.captures[0].trace.count, 2);
	assert_true(warning_of(&p, "duplicate_event") && warning_of(&p, "duplicate_event")->count == 3);
}

/* A reduce that was not recorded has N/A, 0 or a counter at its end; a start that only begins with the digits
 * of such a counter is one. */
static void reduces_that_were_not_recorded(void **state)
{
	const struct text_file files[] = {
	    {OUT "step_trace_20250109084453.csv",
	     "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP "
	     "Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce "
	     "Duration(us),Reduce Start(us),Reduce Duration(us),Reduce Start(us),Reduce Duration(us),Reduce "
	     "Start(us),Reduce Duration(us),Reduce Start(us),Reduce Duration(us)\n"
	     "0,1,42949672950,42949672960,42949672990,50,10,20,N/A,1,0,5,18446744073709551615,5,"
	     "18446744073709551.615,5,4294967295,5,42949672955.5\t,1.25\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_all(files, 1, &p);
	c = &p.captures[0];
	assert_int_equal(c->kernel_count, 1);
	assert_true(c->kernels[0].start_ns == INT64_C(42949672955500) && c->kernels[0].dur_ns == 1250);
	assert_int_equal(p.warnings.count, 0);
}

/* step_trace and the timeline tell of the same iteration. */
static void an_iteration_told_twice_is_one_step(void **state)
{
	const struct text_file files[] = {
	    {PROF "device_0/timeline/msprof_0_1_1.json", OLD_JSON, 0},
	    {PROF "device_0/summary/step_trace_0_1_1.csv",
	     "Iteration ID,FP Start,BP End,Iteration End,Iteration Time(us),FP to BP Time(us),Iteration "
	     "Refresh(us),Data Aug Bound(us)\n"
	     "1,56600000000.5,56600000800.5,56600001000.5,1000,800,200,N/A\n"
	     "2,56600001000.5,56600001800.5,56600002000.5,1000,800,200,0\n",
	     0}};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_all(files, 2, &p);
	assert_int_equal(p.count, 1);
	c = &p.captures[0];
	assert_int_equal(c->step_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(c->steps[i].number == (int64_t)i + 1 && c->steps[i].dur_ns == 1000000);
}

#define NAMED(what, pid, tid, name)                                                                          \
	"{\"name\":\"" what "\",\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid ",\"args\":{\"name\":\"" name     \
	"\"}},"
#define ON_STREAM(name, ts, dur)                                                                             \
	"{\"name\":\"" name "\",\"ph\":\"X\",\"pid\":5,\"tid\":2,\"ts\":\"" ts "\",\"dur\":" dur             \
	",\"args\":{\"Task Type\":\"AI_CORE\"}}"

/* A long timeline is cut into slices, each with the names of its own lanes. Beside its siblings a slice of
 * any name that msprof gives is one of them. */
static void slices_of_a_timeline_are_one(void **state)
{
#define HEAD "[" NAMED("process_name", "5", "0", "Ascend Hardware") NAMED("thread_name", "5", "2", "Stream 2")
	static const char *const folders[] = {OUT, "loose/"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char names[2][100];
		PROFILE_AUTO p = {0};
		const struct trace *t;

		(void)snprintf(names[0], sizeof(names[0]), "%smsprof_slice_0_20250109084453.json",
		               folders[i]);
		(void)snprintf(names[1], sizeof(names[1]), "%smsprof_slice_1_20250109084453.json",
		               folders[i]);
		const struct text_file files[] = {
		    {names[1], HEAD ON_STREAM("b", "30.000", "4") "]", 0},
		    {names[0], HEAD ON_STREAM("a", "10.000", "5") "," ON_STREAM("a", "20.000", "5") "]", 0}};

		read_all(files, 2, &p);
		assert_int_equal(p.count, 1);
		assert_string_equal(p.captures[0].source,
		                    i == 0 ? "PROF_000001_20250109084453123_ABCDEFGH" : "loose");
		t = &p.captures[0].trace;
		assert_int_equal(t->count, 3);
		for (size_t k = 0; k < 3; k++) {
			assert_int_equal(t->kind[k], EVENT_KERNEL);
			assert_string_equal(trace_text(t, t->lanes[t->lane[k]].thread, NULL), "Stream 2");
		}
		assert_true(t->start_ns[2] == 30000 && t->dur_ns[2] == 4000);
		assert_int_equal(p.warnings.count, 0);
	}
}

/* A name of the chip is better than the number of its family; start_info knows no chip, and needs none. */
static void info_may_name_the_chip_itself(void **state)
{
	static const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"), 0},
	    {PROF "device_0/info.json.0",
	     "{\"platform_version\":\"5\",\"chip_name\":\"Ascend910B3\",\"DeviceInfo\":[{\"id\":0}]}", 0},
	    {PROF "device_0/start_info.0",
	     "{\"collectionTimeBegin\":\"1736413971558972\",\"clockMonotonicRaw\":\"5660000000\"}", 0}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 3, &p);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.captures[0].chip, "Ascend910B3");
	assert_int_equal(p.warnings.count, 0);
	assert_int_equal(p.left_out_count, 0);
}

/* msprof keeps its own databases below each device: they are none of the export. */
static void databases_of_the_tool_stay_out(void **state)
{
	MADE_AUTO db =
	    made_database("CREATE TABLE TaskTime (a); CREATE TABLE TASK (startNs,endNs,globalTaskId);");
	const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv", OP_HEADER OP_ROW("a", "Add", "AI_CORE", "1", "1"), 0},
	    {PROF "device_0/sqlite/ascend_task.db", db.data, db.len},
	    {PROF "host/sqlite/api_event.db", db.data, db.len}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_all(files, 3, &p);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_int_equal(p.left_out_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(p.left_out[i].reason, "raw data"));
	assert_int_equal(p.warnings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(host_rows_and_whole_ratios),
	    cmocka_unit_test(old_timelines_count_uptime),
	    cmocka_unit_test(reduces_that_were_not_recorded),
	    cmocka_unit_test(an_iteration_told_twice_is_one_step),
	    cmocka_unit_test(slices_of_a_timeline_are_one),
	    cmocka_unit_test(info_may_name_the_chip_itself),
	    cmocka_unit_test(databases_of_the_tool_stay_out),
	    cmocka_unit_test(info_names_the_chip),
	    cmocka_unit_test(raw_data_stays_out),
	    cmocka_unit_test(get_next_sees_the_queue_of_the_device),
	    cmocka_unit_test(two_exports_count_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
