#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profiler/ascend_sql.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* The host's tables in Ascend's databases (research page ascend-formats 1.13, trace-formats 3.3). */

#define HOST_NAMES                                                                                           \
	"CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"                                       \
	"INSERT INTO STRING_IDS VALUES (1,'launch'),(2,'aten::add'),(3,'Enqueue'),(4,'f.py(1): g'),"         \
	"(5,'ProfilerStep#7'),(6,'load data'),(7,'a mark');"
#define CANN "CREATE TABLE CANN_API (startNs,endNs,type,globalTid,connectionId,name);"
#define FRAMEWORK "(startNs TEXT,endNs TEXT,globalTid,connectionId,name,type);"
#define PID(n) "(" #n " << 32)"

struct seen {
	const char *name, *process, *thread;
	enum event_kind kind;
	int64_t link;
};

static void expect_events(const struct capture *c, const struct seen *want, size_t count)
{
	const struct trace *t = &c->trace;

	assert_int_equal(t->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct lane *l = &t->lanes[t->lane[i]];

		assert_string_equal(text_of(c, t->name[i]), want[i].name);
		assert_string_equal(text_of(c, l->process), want[i].process);
		assert_string_equal(text_of(c, l->thread), want[i].thread);
		assert_int_equal(t->kind[i], want[i].kind);
		assert_int_equal(t->link[i], want[i].link);
		assert_int_equal(l->device, -1);
	}
}

/* globalTid is pid << 32 | tid; a call is named by its level, as in trace_view.json. A level that the enum
 * does not name is written as it is. */
static void calls_of_cann_have_threads_and_levels(void **state)
{
	static const struct seen want[] = {
	    {"AscendCL@launch", "CANN", "Thread 9", EVENT_HOST_RUNTIME, 936},
	    {"Node@launch", "CANN", "Thread 9", EVENT_HOST_RUNTIME, -1},
	    {"Runtime@launch", "CANN", "Thread 8", EVENT_HOST_RUNTIME, -1},
	    {"Hccl@launch", "CANN", "Thread 9", EVENT_HOST_RUNTIME, 937},
	    {"Communication@launch", "CANN", "Thread 9", EVENT_HOST_RUNTIME, -1},
	    {"odd@launch", "CANN", "Thread 9", EVENT_HOST_RUNTIME, -1},
	};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	/* 0 and 2^32 - 1 are no connections */
	read_good("ascend_pytorch_profiler_0.db",
	          HOST_NAMES CANN
	          "CREATE TABLE ENUM_API_TYPE (id,name);"
	          "INSERT INTO ENUM_API_TYPE VALUES (20000,'acl'),(10000,'node'),(5000,'runtime'),"
	          "(5500,'hccl'),(5600,'communication'),(1,'odd');"
	          "INSERT INTO CANN_API VALUES (10,12,20000," PID(
	              7) "|9,936,1),"
	                 "(20,22,10000," PID(7) "|9,0,1),(30,32,5000," PID(
	                     7) "|8,4294967295,1),"
	                        "(40,42,5500," PID(6) "|9,937,1),(50,52,5600," PID(
	                            7) "|9,NULL,1),(60,63,1," PID(7) "|9,NULL,1);",
	          &p);
	c = &p.captures[0];
	expect_events(c, want, 6);
	/* one tid in two processes is two threads */
	assert_int_equal(c->trace.lane_count, 3);
	assert_int_not_equal(c->trace.lane[0], c->trace.lane[3]);
	assert_int_equal(c->trace.lane[0], c->trace.lane[1]);
	assert_int_equal(c->api_count, 6);
	assert_string_equal(text_of(c, c->apis[0].level), "acl");
	assert_true(c->apis[5].time_ns == 3 && c->apis[5].count == 1);
	assert_int_equal(p.warnings.count, 0);
}

/* PYTORCH_API: times are texts; its types stand in the enum of some exporters only. */
static void calls_of_pytorch_have_kinds(void **state)
{
	static const char some[] =
	    "CREATE TABLE ENUM_API_TYPE (id,name); INSERT INTO ENUM_API_TYPE VALUES (5000,'runtime');";
	static const char all[] = "CREATE TABLE ENUM_API_TYPE (id,name); INSERT INTO ENUM_API_TYPE VALUES "
	                          "(50001,'mstx'),(50002,'trace'),(50003,'queue'),(50004,'op');";
	const char *const enums[] = {"", some, all};
	static const enum event_kind by_number[] = {EVENT_HOST_OP, EVENT_HOST_QUEUE, EVENT_HOST_PYTHON,
	                                            EVENT_HOST_ANNOTATION};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char sql[2000];
		PROFILE_AUTO p = {0};
		const struct capture *c;

		(void)snprintf(sql, sizeof(sql), "%s%s",
		               HOST_NAMES "CREATE TABLE PYTORCH_API " FRAMEWORK
		                          "INSERT INTO PYTORCH_API VALUES "
		                          "('1736410576395167660','1736410576395182660',9,1,2,50001),"
		                          "('1736410576395167661','1736410576395182660',9,1,3,50002),"
		                          "('1736410576395167662','1736410576395182660',9,1,4,50003),"
		                          "('1736410576395167663','1736410576395182660',9,1,6,50004);",
		               enums[i]);
		read_good("ascend_pytorch_profiler_0.db", sql, &p);
		c = &p.captures[0];
		assert_int_equal(c->trace.count, 4);
		for (size_t k = 0; k < 4; k++) {
			assert_int_equal(c->trace.kind[k], by_number[i == 2 ? 3 - k : k]);
			assert_true(c->trace.start_ns[k] == INT64_C(1736410576395167660) + (int64_t)k);
		}
		assert_string_equal(text_of(c, c->trace.lanes[0].process), "Python");
		assert_string_equal(text_of(c, c->trace.lanes[0].thread), "Thread 9");
	}
}

/* MindSpore's database has the same tables under names of its own (2.1). */
static void mindspore_has_its_own_table(void **state)
{
	static const struct seen want[] = {{"aten::add", "MindSpore", "Thread 9", EVENT_HOST_OP, -1}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_good("ascend_mindspore_profiler_0.db",
	          HOST_NAMES CANN "CREATE TABLE MINDSPORE_API " FRAMEWORK
	                          "INSERT INTO MINDSPORE_API VALUES ('5','8',9,NULL,2,50001);",
	          &p);
	assert_int_equal(p.captures[0].format, FORMAT_MINDSPORE_DB);
	expect_events(&p.captures[0], want, 1);
}

/* STEP_TIME is the framework's step: the range of the same name begins elsewhere and would make it two. */
static void step_time_wins_over_the_range(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          HOST_NAMES "CREATE TABLE PYTORCH_API " FRAMEWORK
	                     "INSERT INTO PYTORCH_API VALUES ('50','3000',9,NULL,5,50001);"
	                     "CREATE TABLE STEP_TIME (id,startNs,endNs);"
	                     "INSERT INTO STEP_TIME VALUES (7,40,3100),(8,3100,5000);",
	          &p);
	c = &p.captures[0];
	assert_int_equal(c->step_count, 2);
	assert_true(c->steps[0].number == 7 && c->steps[0].start_ns == 40 && c->steps[0].dur_ns == 3060);
	assert_true(c->steps[1].number == 8);
	assert_int_equal(c->trace.kind[0], EVENT_HOST_ANNOTATION);
}

/* A mark of the user's has no end, or ends where it begins. */
static void collections_and_marks_are_annotations(void **state)
{
	static const struct seen want[] = {
	    {"aten::add", "Python", "Thread 9", EVENT_HOST_OP, -1},
	    {"GC", "Python GC", "Thread 9", EVENT_HOST_ANNOTATION, -1},
	    {"load data", "MSTX", "Thread 8", EVENT_HOST_ANNOTATION, -1},
	    {"a mark", "MSTX", "Thread 8", EVENT_HOST_ANNOTATION, -1},
	    {"a mark", "MSTX", "Thread 8", EVENT_HOST_ANNOTATION, -1},
	};
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          HOST_NAMES
	          "CREATE TABLE PYTORCH_API " FRAMEWORK "INSERT INTO PYTORCH_API VALUES ('5','8'," PID(
	              7) "|9,NULL,2,50001);"
	                 "CREATE TABLE GC_RECORD (startNs,endNs,globalTid);"
	                 "INSERT INTO GC_RECORD VALUES (100,400," PID(
	                     7) "|9);"
	                        "CREATE TABLE MSTX_EVENTS "
	                        "(startNs,endNs,eventType,rangeId,category,message,globalTid);"
	                        "INSERT INTO MSTX_EVENTS VALUES (500,700,2,1,0,6," PID(
	                            7) "|8),"
	                               "(800,NULL,0,2,0,7," PID(7) "|8),(900,900,0,3,0,7," PID(7) "|8);",
	          &p);
	expect_events(&p.captures[0], want, 5);
	t = &p.captures[0].trace;
	assert_true(t->start_ns[1] == 100 && t->dur_ns[1] == 300);
	assert_true(t->dur_ns[2] == 200 && t->start_ns[3] == 800 && t->dur_ns[3] == 0 && t->dur_ns[4] == 0);
	assert_int_equal(p.warnings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_of_cann_have_threads_and_levels),
	    cmocka_unit_test(calls_of_pytorch_have_kinds),
	    cmocka_unit_test(mindspore_has_its_own_table),
	    cmocka_unit_test(step_time_wins_over_the_range),
	    cmocka_unit_test(collections_and_marks_are_annotations),
	};

	return cmocka_run_group_tests_name("hosts in ascend databases", tests, NULL, NULL);
}
