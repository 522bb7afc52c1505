#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/unit/profiler/ascend_sql.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

static void packets_come_together(void **state)
{
	PROFILE_AUTO p = {0};
	const struct communication_op *op;

	(void)state;
	read_good(
	    "analysis.db",
	    STEPS TIMES LINKS
	    "INSERT INTO StepTraceTime VALUES "
	    "('50',8843.91,85881.122,3999.454,89880.576,25900.158,120625.19,0,1,2),"
	    "(NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),('51',-1,0,0,0,0,0,0,0,0),('x',1,0,0,0,0,0,0,0,"
	    "0);"
	    "INSERT INTO CommAnalyzerTime VALUES ('a','g',1,1.5,0.25,0.5,0.125,0.75,'step50','collective'),"
	    "('Total Op Info','g',0,9,9,9,9,9,'step50',''),('hcom_send__1','h',1,-1,0.25,0,0,0,'step','p2p');"
	    /* two rows of one link, another operator's between them */
	    "INSERT INTO CommAnalyzerBandwidth VALUES "
	    "('a','g','HCCS',3,0.2,15,0,1,2,0.15,'step50','collective'),"
	    "('a','h','RDMA',0.5,0.1,5,1,0.5,1,0.1,'step50','collective'),"
	    "('a','g','HCCS',3,0.2,15,0,1.000001,1,0.05,'step50','collective'),"
	    "('a','g','SDMA',3,0.2,15,0,0,0,0,'step50','collective'),"
	    "('a','g','PIGEON',3,0.2,15,0,0,0,0,'step50','collective'),"
	    "('a','g','PCIE',NULL,0.2,15,0,0,0,0,'step50','collective'),"
	    "('a','g','SDMA',3,0.2,15,0,-1,3,'x','step50','collective');",
	    &p);
	assert_int_equal(p.captures[0].step_trace_count, 2);
	assert_true(p.captures[0].step_traces[0].step == 50 &&
	            p.captures[0].step_traces[0].computing == 8843910);
	assert_true(p.captures[0].step_traces[0].stage == 120625190 &&
	            p.captures[0].step_traces[0].bubble == 0);
	assert_true(p.captures[0].step_traces[1].step == SB_NULL &&
	            p.captures[0].step_traces[1].free == SB_NULL);
	assert_int_equal(p.captures[0].communication_count, 3);
	op = p.captures[0].communications;
	assert_true(op[0].step == 50 && op[0].elapse_us == 1500 && op[0].transit_us == 250 &&
	            op[0].idle_us == 750);
	assert_int_equal(op[0].link_count, 2);
	assert_string_equal(op[0].links[0].name, "HCCS");
	assert_true(op[0].links[0].bytes == 3000000 && fabs(op[0].links[0].transit_us - 200) < 1e-9);
	assert_int_equal(op[0].links[0].packet_count, 2);
	assert_true(op[0].links[0].packets[0].bytes == 1000001 && op[0].links[0].packets[0].count == 1);
	assert_int_equal(op[0].links[1].packet_count, 0);
	assert_true(op[2].step == SB_NULL && op[2].point_to_point && isnan(op[2].elapse_us));
	/* an operator that only the bandwidths know */
	assert_true(isnan(op[1].elapse_us) && op[1].links[0].bytes == 500000);
	/* step -1 and x; the time below zero; two links and one packet */
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 6);
}

/* 1.1: as in step_trace_time.csv, a difference of doubles may be a little below 0, and Stage is what receives
 * that wait side by side leave of a step. */
static void steps_of_doubles(void **state)
{
	PROFILE_AUTO p = {0};
	const struct step_trace *t;

	(void)state;
	read_good("analysis.db",
	          STEPS TIMES "INSERT INTO CommAnalyzerTime VALUES "
	                      "('a','g',1,1.75,1.5,0.25,0,-4.4e-17,'step1','collective');"
	                      "INSERT INTO StepTraceTime VALUES "
	                      "('1',30.000000000000004,60,-2.9103830456733704e-11,60,10,100,0,60,-1e-9),"
	                      "('2',30,60,0,60,10,-20,120,0,1),('3',30,60,0,60,10,-20,10,0,1);",
	          &p);
	t = p.captures[0].step_traces;
	assert_int_equal(p.captures[0].step_trace_count, 2);
	assert_true(t[0].step == 1 && t[0].computing == 30000 && t[0].overlapped == 0 && t[0].preparing == 0);
	assert_true(t[1].step == 2 && t[1].stage == -20000 && t[1].bubble == 120000);
	assert_true(p.captures[0].communications[0].idle_us == 0);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 1);
}

static void both_databases_are_one_capture(void **state)
{
	MADE_AUTO events = made_database(NAMES TASK COMPUTE TWO_KERNELS);
	MADE_AUTO sums = made_database(TIMES "INSERT INTO CommAnalyzerTime VALUES "
	                                     "('a','g',1,1.5,0.25,0.5,0.125,0.75,'step50','collective');");
	const struct text_file files[] = {
	    {"x_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_2.db", events.data, events.len},
	    {"x_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db", sums.data, sums.len},
	    {"y/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db", events.data, events.len},
	    {"y/ASCEND_PROFILER_OUTPUT/analysis.db", sums.data, sums.len},
	    {"z_ascend_ms/ASCEND_PROFILER_OUTPUT/ascend_mindspore_profiler_4.db", events.data, events.len},
	    {"z_ascend_ms/ASCEND_PROFILER_OUTPUT/communication_analyzer.db", sums.data, sums.len},
	};
	static const char *const sources[] = {"x_ascend_pt", "y", "z_ascend_ms"};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 6, &p, &err), SB_OK);
	assert_int_equal(p.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(p.captures[i].source, sources[i]);
		assert_true(p.captures[i].rank == (int64_t)i + 2);
		assert_true(p.captures[i].kernel_count == 2 && p.captures[i].communication_count == 1);
		assert_true(p.captures[i].format == (i < 2 ? FORMAT_ASCEND_DB : FORMAT_MINDSPORE_DB));
	}
}

/* In a plain folder one database belongs to the files beside it; those of several ranks do not. */
static void a_plain_folder(void **state)
{
	MADE_AUTO events = made_database(NAMES TASK COMPUTE TWO_KERNELS);
	MADE_AUTO sums = made_database(TIMES "INSERT INTO CommAnalyzerTime VALUES "
	                                     "('a','g',1,1.5,0.25,0.5,0.125,0.75,'step50','collective');");
	const struct text_file one[] = {{"d/analysis.db", sums.data, sums.len},
	                                {"d/ascend_pytorch_profiler_2.db", events.data, events.len}};
	const struct text_file two[] = {{"ascend_pytorch_profiler_2.db", events.data, events.len},
	                                {"ascend_pytorch_profiler_3.db", events.data, events.len}};
	PROFILE_AUTO p = {0}, q = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(one, 2, &p, &err), SB_OK);
	assert_int_equal(p.count, 1);
	assert_string_equal(p.captures[0].source, "d");
	assert_true(p.captures[0].rank == 2 && p.captures[0].kernel_count == 2);
	assert_true(p.captures[0].communication_count == 1);
	assert_int_equal(read_texts(two, 2, &q, &err), SB_OK);
	assert_int_equal(q.count, 2);
	assert_true(q.captures[0].rank == 2 && q.captures[1].rank == 3);
}

/* 1.13: -1 is "not set"; the name of the file tells then. */
static void a_rank_of_minus_one_is_none(void **state)
{
	static const char sql[] = NAMES TASK COMPUTE TWO_KERNELS
	    "CREATE TABLE RANK_DEVICE_MAP (rankId,deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (-1,3);";
	PROFILE_AUTO p = {0}, q = {0};

	(void)state;
	read_good("ascend_pytorch_profiler.db", sql, &p);
	assert_true(p.captures[0].rank == SB_NULL);
	read_good("ascend_pytorch_profiler_6.db", sql, &q);
	assert_true(q.captures[0].rank == 6 && q.captures[0].rank_from == RANK_NAME);
	assert_null(warning_of(&q, "rank_conflict"));
}

/* A row a frame, in any order, the innermost at depth 0 (as the sample of 2025 has it). Kept as
 * trace_view.json writes them, and for operators that wait for the device only. Frames without a text or with
 * an impossible depth are left out. */
static void stacks_of_operators_that_wait_are_kept(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_good(
	    "ascend_pytorch_profiler_0.db",
	    "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"
	    "INSERT INTO STRING_IDS VALUES (1,'aten::item'),(2,'aten::add'),(3,'a.py(1): f'),(4,'b.py(2): "
	    "g'),"
	    "(5,'c.py(3): h'),(6,'MatMul');" TASK COMPUTE
	    "INSERT INTO TASK VALUES (1000,1600,3,900,11,1,6,0,2,1,0);"
	    "INSERT INTO COMPUTE_TASK_INFO VALUES (6,11,24,0,6,6,6,6,6,6,6,6,6);"
	    "CREATE TABLE PYTORCH_API (startNs TEXT,endNs TEXT,globalTid,connectionId,name,sequenceNumber,"
	    "fwdThreadId,inputDtypes,inputShapes,callchainId,type);"
	    "INSERT INTO PYTORCH_API VALUES ('10','20',1,NULL,2,0,0,0,0,7,50001),"
	    "('30','40',1,NULL,1,0,0,0,0,8,50001),('50','60',1,NULL,1,0,0,0,0,NULL,50001),"
	    "('70','80',1,NULL,1,0,0,0,0,9,50001),('90','95',1,NULL,1,0,0,0,0,8,50001);"
	    "CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER,stack INTEGER,stackDepth INTEGER);"
	    "INSERT INTO PYTORCH_CALLCHAINS VALUES (8,4,1),(7,3,0),(8,5,2),(8,3,0),(8,99,3),(8,3,-1),"
	    "(8,3,1000000),(NULL,3,0),(8,NULL,1),(9,99,0);",
	    &p);
	t = &p.captures[0].trace;
	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		if (t->kind[i] != EVENT_HOST_OP)
			continue;
		assert_string_equal(
		    d ? trace_text(t, d->type, NULL) : "",
		    t->start_ns[i] == 30 || t->start_ns[i] == 90 ? "a.py(1): f;b.py(2): g;c.py(3): h" : "");
	}
}

/* Every column of analysis.db has its place: us in StepTraceTime (newer exporters put the device in front),
 * ms and MB in the tables of communication. */
static void columns_of_an_analysis(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;
	const struct step_trace *t;
	const struct communication_op *op;

	(void)state;
	read_good(
	    "analysis.db",
	    "CREATE TABLE StepTraceTime (deviceId,step TEXT,computing,communication_not_overlapped,"
	    "overlapped,communication,free,stage,bubble,communication_not_overlapped_and_exclude_receive,"
	    "preparing);"
	    "INSERT INTO StepTraceTime VALUES (0,'50',10,20.5,5,25.5,30,50.5,10,10.5,1.25);" TIMES LINKS
	    "INSERT INTO CommAnalyzerTime VALUES "
	    "('hcom_send__1_0_1','7',1,1.5,0.25,0.5,0.125,0.75,'step50','collective'),"
	    "('hcom_batch__1_1_1','7',2,3,1,1,1,1,'step50','p2p'),"
	    "('hcom_send__1_0_1','7',1,99,99,99,99,99,'step50','collective'),"
	    "('hcom_allReduce__2_0_1','8',1,4,1,1,1,1,'None','collective');"
	    "INSERT INTO CommAnalyzerBandwidth VALUES "
	    "('hcom_send__1_0_1','7','RDMA',3,0.2,15,0.5,1.5,2,0.125,'step50','collective'),"
	    "('hcom_batch__1_2_1','7','HCCS',3,0.2,15,0.5,1.5,2,0.125,'step50','p2p');",
	    &p);
	c = &p.captures[0];
	t = c->step_traces;
	assert_int_equal(c->step_trace_count, 1);
	assert_true(t->step == 50 && t->computing == 10000 && t->exposed == 20500 && t->overlapped == 5000);
	assert_true(t->communication == 25500 && t->free == 30000 && t->stage == 50500 &&
	            t->bubble == 10000 && t->preparing == 1250);
	/* sends stand among the collectives, and other pairs under "p2p"; of two rows the first counts */
	assert_int_equal(c->communication_count, 4);
	op = c->communications;
	/* by step and start: what only the bandwidths know has no start, what is in no step comes last */
	assert_true(op[0].point_to_point && op[1].point_to_point && op[2].point_to_point &&
	            !op[3].point_to_point);
	assert_string_equal(text_of(c, op[0].group), "7");
	assert_true(op[0].elapse_us == 1500 && op[0].transit_us == 250 && op[0].wait_us == 500 &&
	            op[0].synchronization_us == 125 && op[0].idle_us == 750);
	assert_true(op[3].step == SB_NULL);
	assert_int_equal(op[0].link_count, 1);
	assert_true(op[0].links[0].large_packet_ratio == 0.5 && op[0].links[0].packets[0].bytes == 1500000 &&
	            op[0].links[0].packets[0].count == 2 && op[0].links[0].packets[0].total_us == 125);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(packets_come_together),
	    cmocka_unit_test(steps_of_doubles),
	    cmocka_unit_test(stacks_of_operators_that_wait_are_kept),
	    cmocka_unit_test(columns_of_an_analysis),
	    cmocka_unit_test(both_databases_are_one_capture),
	    cmocka_unit_test(a_plain_folder),
	    cmocka_unit_test(a_rank_of_minus_one_is_none),
	};

	return cmocka_run_group_tests_name("files of ascend databases", tests, NULL, NULL);
}
