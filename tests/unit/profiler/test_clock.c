/* Jumps of a clock in every format: the span that lies days away is left out and told with its place, and the
 * spans of the rest are what they are without it (trace-formats 2.2; "warnings with positions"). The sums are
 * made by hand. */
#include "tests/unit/profiler/asked.h"

#include "base/buf.h"
#include "tests/unit/profiler/made_database.h"

#define PLACE_OF(text, mark) ((int64_t)(strstr(text, mark) - (text)))

static const struct warning *the_jump(const struct profile *p, uint64_t count)
{
	const struct warning *w = warning_of(p, "clock_jump");

	assert_non_null(w);
	assert_int_equal(w->count, count);
	return w;
}

static void ask_database(const char *path, const char *sql, struct asked *out)
{
	MADE_AUTO db = made_database(sql);
	const struct text_file file = {path, db.data, db.len};

	ask_files(&file, 1, out);
}

/* 20 kernels of 10 us, 20 us apart; the overlap lane as the exporter computes it from them, with the absurd
 * kernel: 2 us of compute two days later, and the free time up to it. */
static void write_ascend(struct sb_buf *b, bool jump)
{
	static const char SPAN[] =
	    "{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":\"%lld.000\",\"dur\":%lld%s},";
	const char *core = ",\"args\":{\"Task Type\":\"AI_CORE\"}";
	long long at = 1736408883704000, days = at + 172800000000;
	char text[300];

#define ADD(...)                                                                                             \
	do {                                                                                                 \
		snprintf(text, sizeof(text), __VA_ARGS__);                                                   \
		sb_buf_adds(b, text);                                                                        \
	} while (0)
	sb_buf_adds(b, "[");
	ADD(SPAN, "ProfilerStep#5", 1, 1, at, 500LL, ",\"cat\":\"cpu_op\"");
	for (int i = 0; i < 20; i++) {
		ADD(SPAN, "k", 2, 1, at + 30 * i, 10LL, core);
		ADD(SPAN, "Computing", 3, 0, at + 30 * i, 10LL, "");
		if (i < 19)
			ADD(SPAN, "Free", 3, 3, at + 30 * i + 10, 20LL, "");
	}
	if (jump) {
		ADD(SPAN, "Free", 3, 3, at + 580, days - at - 580, "");
		ADD(SPAN, "absurd", 2, 1, days, 2LL, core);
		ADD(SPAN, "Computing", 3, 0, days, 2LL, "");
	}
	for (int i = 1; i <= 3; i++) {
		static const char *const names[] = {"", "Python", "Ascend Hardware", "Overlap Analysis"};

		ADD("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"%s\"}}"
		    "%s",
		    i, names[i], i < 3 ? "," : "]");
	}
#undef ADD
}

static void trace_view(void **state)
{
	SB_BUF_AUTO text;
	ASKED_AUTO a = {0};
	const struct warning *w;

	(void)state;
	sb_buf_init(&text, 1 << 20);
	write_ascend(&text, true);
	ask("x/trace_view.json", text.data, &a);
	w = the_jump(&a.p, 3);
	assert_int_equal(w->offset, PLACE_OF(text.data, "{\"ph\":\"X\",\"name\":\"absurd\""));
	assert_string_equal(w->file, "x/trace_view.json");
	assert_int_equal(whole(&a)->span_ns, 580000);
	assert_int_equal(whole(&a)->compute_ns, 200000);
	assert_int_equal(whole(&a)->free_ns, 380000);
	assert_int_equal(a.p.captures[0].step_count, 1);
	assert_int_equal(a.p.captures[0].trace.count, 60);
	assert_int_equal(a.p.captures[0].event_count, 66);
}

static void a_trace_without_a_jump(void **state)
{
	SB_BUF_AUTO text;
	ASKED_AUTO a = {0};

	(void)state;
	sb_buf_init(&text, 1 << 20);
	write_ascend(&text, false);
	ask("x/trace_view.json", text.data, &a);
	assert_null(warning_of(&a.p, "clock_jump"));
	assert_int_equal(whole(&a)->span_ns, 580000);
}

#define HEAD "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
#define DAYS "1736508883704000" /* 10^11 us later, a day and 4 h */

static void kernel_details(void **state)
{
	static const char text[] = HEAD "3,a,Add,AI_CORE,1736408883704000.100\t,5\n"
	                                "3,b,Add,AI_CORE," DAYS ".100\t,2\n"
	                                "3,c,Add,AI_CORE,1736408883704008.100\t,1\n";
	ASKED_AUTO a = {0};
	ASKED_AUTO two = {0};

	(void)state;
	ask("x/kernel_details.csv", text, &a);
	assert_int_equal(the_jump(&a.p, 1)->line, 3);
	assert_int_equal(a.p.captures[0].kernel_count, 2);
	assert_int_equal(whole(&a)->span_ns, 9000);
	assert_int_equal(whole(&a)->compute_ns, 6000);
	/* of two that lie apart nobody knows which is right */
	ask("x/kernel_details.csv",
	    HEAD "3,a,Add,AI_CORE,1736408883704000.100\t,5\n3,b,Add,AI_CORE," DAYS ".100\t,2\n", &two);
	assert_int_equal(the_jump(&two.p, 1)->line, 3);
	assert_non_null(strstr(the_jump(&two.p, 1)->detail, "check the clocks"));
	assert_int_equal(whole(&two)->compute_ns, 7000);
}

/* A file for itself each: what is told of one is not told again for the capture. */
static void both_files_of_a_capture(void **state)
{
	SB_BUF_AUTO text;
	const struct text_file files[] = {
	    {"x/kernel_details.csv",
	     HEAD "3,a,Add,AI_CORE,1736408883704000.100\t,5\n3,b,Add,AI_CORE," DAYS ".100\t,2\n", 0},
	    {"x/trace_view.json", NULL, 0}};
	struct text_file both[2] = {files[0], files[1]};
	ASKED_AUTO a = {0};
	size_t jumps = 0;

	(void)state;
	sb_buf_init(&text, 1 << 20);
	write_ascend(&text, true);
	both[1].text = text.data;
	ask_files(both, 2, &a);
	for (size_t i = 0; i < a.p.warnings.count; i++)
		jumps += strcmp(a.p.warnings.items[i].code, "clock_jump") == 0;
	assert_int_equal(jumps, 2);
}

#define OUT "PROF_000001_20250109084453123_ABCDEFGH/mindstudio_profiler_output/"

static void tables_of_msprof(void **state)
{
	static const struct text_file files[] = {
	    {OUT "op_summary_20250109084453.csv",
	     "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
	     "0,a,Add,AI_CORE,1000.000\t,5\n0,b,Add,AI_CORE,1010.000\t,5\n0,c,Add,AI_CORE,200000001000\t,5\n",
	     0},
	    {OUT "task_time_20250109084453.csv",
	     "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)"
	     "\n"
	     "0,a,AI_CORE,1,1,5,1000.000\t,1005.000\t\n0,b,AI_CORE,1,2,5,200000001000\t,200000001005\t\n"
	     "0,c,AI_CORE,1,3,5,1010.000\t,1015.000\t\n",
	     0}};
	static const int64_t lines[] = {4, 3};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ASKED_AUTO a = {0};

		ask_files(&files[i], 1, &a);
		assert_int_equal(the_jump(&a.p, 1)->line, lines[i]);
		assert_int_equal(whole(&a)->span_ns, 15000);
		assert_int_equal(whole(&a)->compute_ns, 10000);
	}
}

/* The windows of steps, and what happened in them. */
static void steps_of_msprof(void **state)
{
	static const char text[] =
	    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP "
	    "Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce "
	    "Duration(us)\n"
	    "0,1,1000,1050,1100,100,50,1,N/A,1,1060,10\n"
	    "0,2,1110,1150,200000001200,100,50,1,1,1,200000001160,10\n"
	    "0,3,1210,1250,1300,100,50,1,1,1,1260,10\n";
	ASKED_AUTO a = {0};
	const struct capture *c;

	(void)state;
	ask(OUT "step_trace_20250109084453.csv", text, &a);
	c = &a.p.captures[0];
	assert_int_equal(the_jump(&a.p, 1)->line, 3);
	assert_int_equal(c->step_count, 2);
	assert_true(c->steps[0].number == 1 && c->steps[1].number == 3);
	assert_int_equal(c->kernel_count, 2);
	assert_int_equal(whole(&a)->communication_ns, 20000);
}

#define TICKS_HEAD "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail"

static void steps_of_mindinsight(void **state)
{
	/* 10^13 ticks are 10^14 ns, more than a day */
	static const char text[] = TICKS_HEAD ",stream_5_start_point,stream_5_end_point,stream_5\n"
	                                      "1,1000,1600,600,1050,1500,50,450,100,1100,1300,200\n"
	                                      "2,1600,2200,600,1650,2100,50,450,100,1700,1900,200\n"
	                                      "3,2200,10000000002800,1,2,3,50,450,100,2300,2500,200\n"
	                                      "-,1,2,3,4,5,6,7,8,1,2,3\n";
	ASKED_AUTO a = {0};

	(void)state;
	ask("run/profiler/step_trace_raw_3_detail_time.csv", text, &a);
	assert_int_equal(the_jump(&a.p, 1)->line, 4);
	assert_int_equal(a.p.captures[0].iteration_count, 2);
	assert_int_equal(a.p.captures[0].step_count, 2);
	for (size_t i = 0; i < a.b.count; i++)
		if (a.b.rows[i].step != SB_NULL)
			assert_int_equal(a.b.rows[i].step_ns, 6000);
}

#define DISPLAY(ts, name)                                                                                    \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":3,\"tid\":\"1\",\"ts\":" ts                             \
	",\"dur\":2,\"args\":{\"fullname\":\"x\"}}"

static void timeline_of_mindinsight(void **state)
{
	static const char text[] =
	    "[" DISPLAY("0", "a") "," DISPLAY("5", "b") "," DISPLAY("200000000000", "absurd") "]";
	ASKED_AUTO a = {0};

	(void)state;
	ask("run/profiler/ascend_timeline_display_3.json", text, &a);
	/* 0 is where this timeline begins */
	assert_int_equal(the_jump(&a.p, 1)->offset, PLACE_OF(text, "{\"ph\":\"X\",\"name\":\"absurd\""));
	assert_int_equal(a.p.captures[0].trace.count, 2);
}

#define OURS(name, start)                                                                                    \
	"{\"lane\":1,\"kind\":\"kernel\",\"name\":\"" name "\",\"start_ns\":" start                          \
	",\"duration_ns\":2000,\"bytes\":7}"

static void profiles_of_signalbox(void **state)
{
	static const char text[] =
	    "{\"signalbox_profile\":1,\"origin_ns\":1736408883704000000,\"lanes\":[{\"id\":1,\"device\":0}],"
	    "\"steps\":[{\"number\":1,\"start_ns\":0,\"duration_ns\":9000},{\"number\":2,\"start_ns\":"
	    "-172800000000000,\"duration_ns\":9000}],\"events\":[" OURS(
	        "absurd", "-172800000000000") "," OURS("a", "0") "," OURS("b", "80000000000") "]}";
	ASKED_AUTO a = {0};
	const struct trace *t;

	(void)state;
	ask("a.json", text, &a);
	t = &a.p.captures[0].trace;
	assert_int_equal(the_jump(&a.p, 1)->offset, PLACE_OF(text, "{\"lane\":1,\"kind\":\"kernel\""));
	assert_int_equal(t->count, 2);
	assert_int_equal(t->start_ns[0], INT64_C(1736408883704000000));
	assert_int_equal(t->detail_count, 2);
	assert_int_equal(t->details[1].event, 1);
	assert_int_equal(whole(&a)->span_ns, 80000002000);
	assert_int_equal(a.p.captures[0].step_count, 1);
}

static void databases_of_ascend(void **state)
{
	static const char sql[] =
	    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"
	    "INSERT INTO STRING_IDS VALUES (1,'a'),(2,'KERNEL_AICORE'),(3,'AI_CORE');"
	    "CREATE TABLE TASK (startNs,endNs,deviceId,connectionId,globalTaskId,taskType,streamId);"
	    "INSERT INTO TASK VALUES (1000,1600,3,900,11,2,2),(200000000001000,200000000001700,3,901,12,2,2),"
	    "(2000,2100,3,902,13,2,2);"
	    "CREATE TABLE COMPUTE_TASK_INFO (name,globalTaskId,taskType,opType);"
	    "INSERT INTO COMPUTE_TASK_INFO VALUES (1,11,3,1),(1,12,3,1),(1,13,3,1);";
	ASKED_AUTO a = {0};

	(void)state;
	ask_database("x_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db", sql, &a);
	assert_non_null(strstr(the_jump(&a.p, 1)->detail, "in row 2 of table TASK."));
	assert_int_equal(a.p.captures[0].trace.count, 2);
	assert_int_equal(a.p.captures[0].kernel_count, 2);
	assert_int_equal(whole(&a)->span_ns, 1100);
	assert_int_equal(whole(&a)->compute_ns, 700);
}

static void exports_of_nsys(void **state)
{
	static const char sql[] =
	    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
	    "INSERT INTO StringIds VALUES (1, 'k');"
	    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2 (start INTEGER, end INTEGER, deviceId INTEGER, "
	    "streamId INTEGER, globalPid INTEGER, demangledName INTEGER);"
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES (100, 140, 0, 7, 1, 1), (200, 250, 0, 7, 1, 1),"
	    "(-172800000000000, -172799999999000, 0, 7, 1, 1);"
	    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid "
	    "INTEGER, textId INTEGER);"
	    "INSERT INTO NVTX_EVENTS VALUES (50, 150, 59, 'step 1', 1, NULL), "
	    "(0, 172800000000000, 59, 'step 2', 1, NULL), (160, NULL, 59, 'step 3', 1, NULL);";
	ASKED_AUTO a = {0};
	const struct capture *c;

	(void)state;
	ask_database("r.sqlite", sql, &a);
	c = &a.p.captures[0];
	/* seen from the median start of 50 ns it lies 100 ns farther than the end of step 2 */
	assert_non_null(strstr(the_jump(&a.p, 2)->detail, "in row 3 of table CUPTI_ACTIVITY_KIND_KERNEL."));
	assert_int_equal(whole(&a)->span_ns, 150);
	assert_int_equal(whole(&a)->compute_ns, 90);
	assert_int_equal(c->step_count, 2);
	assert_true(c->steps[0].number == 1 && c->steps[0].dur_ns == 100);
	/* an open range lasts as long as what is left */
	assert_true(c->steps[1].number == 3 && c->steps[1].dur_ns == 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trace_view),
	    cmocka_unit_test(a_trace_without_a_jump),
	    cmocka_unit_test(kernel_details),
	    cmocka_unit_test(both_files_of_a_capture),
	    cmocka_unit_test(tables_of_msprof),
	    cmocka_unit_test(steps_of_msprof),
	    cmocka_unit_test(steps_of_mindinsight),
	    cmocka_unit_test(timeline_of_mindinsight),
	    cmocka_unit_test(profiles_of_signalbox),
	    cmocka_unit_test(databases_of_ascend),
	    cmocka_unit_test(exports_of_nsys),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
