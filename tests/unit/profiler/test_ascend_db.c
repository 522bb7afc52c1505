#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "profiler/breakdown.h"
#include "tests/unit/profiler/ascend_sql.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

static void everything_is_read(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_good(
	    "ascend_pytorch_profiler_5.db",
	    NAMES TASK COMPUTE COLLECTIVE TRANSFER TWO_KERNELS ONE_COLLECTIVE
	    "INSERT INTO TASK VALUES (1510,1700,3,0,13,1,16,0,4,3,0),(1700,1900,3,0,14,1,19,0,4,4,0);"
	    "INSERT INTO COMMUNICATION_TASK_INFO VALUES (8,13,16,0,10,0,0,0,1,2,0,0,65535,1),"
	    "(8,14,17,2,10,0,0,0,1,0,4096,0,1,1);"
	    "CREATE TABLE ENUM_HCCL_LINK_TYPE (id,name); INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (1,'HCCS');"
	    "CREATE TABLE ENUM_HCCL_DATA_TYPE (id,name); INSERT INTO ENUM_HCCL_DATA_TYPE VALUES (11,'BFP16');"
	    "CREATE TABLE ENUM_API_TYPE (id,name);"
	    "INSERT INTO ENUM_API_TYPE VALUES (10000,'node'),(50001,'op'),(50002,'queue');"
	    "CREATE TABLE TASK_PMU_INFO (globalTaskId,name,value);"
	    "INSERT INTO TASK_PMU_INFO VALUES (11,14,0.25),(11,13,0.75),(12,13,0);"
	    "CREATE TABLE CANN_API (startNs,endNs,type,globalTid,connectionId,name);"
	    "INSERT INTO CANN_API VALUES (100,150,10000,4294967298,900,15),(200,230,10000,4294967298,901,15);"
	    "CREATE TABLE PYTORCH_API (startNs TEXT,endNs TEXT,globalTid,connectionId,name,type);"
	    "INSERT INTO PYTORCH_API VALUES ('50','3000',4294967299,NULL,20,50001),"
	    "('90','170',4294967299,NULL,18,50001);"
	    "CREATE TABLE GC_RECORD (startNs,endNs,globalTid); INSERT INTO GC_RECORD VALUES "
	    "(300,400,4294967299);"
	    "CREATE TABLE RANK_DEVICE_MAP (rankId,deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (4,2),(5,3);"
	    "CREATE TABLE NPU_INFO (id,name); INSERT INTO NPU_INFO VALUES (2,'old'),(3,'Ascend910B');"
	    "CREATE TABLE META_DATA (name,value);"
	    "INSERT INTO META_DATA VALUES ('distributed_args','{\"tp\": 2, \"world_size\": 8}'),"
	    "('parallel_group_info','{\"ip%1\": {\"group_name\": \"pp\", \"group_rank\": 1}}'),"
	    "('ENV_VARIABLES','{\"HCCL_ALGO\": \"ring\", \"HCCL_RDMA_TC\": \"\"}');",
	    &p);
	c = &p.captures[0];
	assert_int_equal(p.warnings.count, 0);
	assert_true(c->format == FORMAT_ASCEND_DB && c->rank == 5 && c->world_size == 8);
	assert_true(c->rank_from == RANK_MAP && c->stage == 1);
	assert_true(c->group_use_count == 2);
	assert_string_equal(text_of(c, c->group_uses[0].group), "ip%1");
	assert_string_equal(text_of(c, c->group_uses[0].use), "pp");
	assert_string_equal(c->chip, "Ascend910B");
	assert_string_equal(capture_environment(c, "HCCL_ALGO"), "ring");
	assert_string_equal(capture_environment(c, "HCCL_RDMA_TC"), "");
	assert_null(capture_environment(c, "HCCL_RDMA_SL"));
	assert_true(c->kernel_count == 3 && c->kernels[0].start_ns == 1000 && c->kernels[0].dur_ns == 600);
	assert_string_equal(text_of(c, c->kernels[0].name), "MatMul_1");
	assert_string_equal(text_of(c, c->kernels[0].type), "MatMul");
	assert_string_equal(text_of(c, c->kernels[0].core), "AI_CORE");
	assert_string_equal(text_of(c, c->kernels[0].input_shapes), "2,3;3,4");
	assert_true(c->kernels[0].input_formats == 0 && c->kernels[0].state == 0);
	assert_true(c->kernels[0].block_dim == 24 && c->kernels[0].pipe_ratio == 0.75f);
	assert_string_equal(text_of(c, c->kernels[0].pipe), "aic_mac");
	assert_true(c->kernels[1].communication && c->kernels[1].start_ns == 1500);
	assert_string_equal(text_of(c, c->kernels[1].type), "hcom_allReduce_");
	assert_true(c->kernels[2].pipe_ratio == 0 && c->kernels[2].pipe == 0);
	/* the step from its event, as there is no STEP_TIME */
	assert_true(c->step_count == 1 && c->steps[0].number == 7 && c->steps[0].dur_ns == 2950);
	assert_true(c->api_count == 1 && c->apis[0].count == 2 && c->apis[0].time_ns == 80);
	assert_string_equal(text_of(c, c->apis[0].level), "node");
	assert_string_equal(text_of(c, c->apis[0].name), "launch");
	assert_int_equal(c->event_count, 12);
}

struct seen {
	const char *name, *process, *thread;
	enum event_kind kind;
	int64_t start, link, bytes; /* bytes: SB_NULL = no detail */
};

static void events_have_their_lanes(void **state)
{
	static const struct seen want[] = {
	    {"MatMul_1", "Ascend Hardware", "Stream 2", EVENT_KERNEL, 1000, 900, SB_NULL},
	    {"Add_1", "Ascend Hardware", "Stream 2", EVENT_KERNEL, 2000, 901, SB_NULL},
	    {"Notify Wait", "Ascend Hardware", "Stream 4", EVENT_DEVICE_WAIT, 1510, -1, SB_NULL},
	    {"Notify Wait", "Communication", "Plane 0", EVENT_COMMUNICATION_TASK, 1510, -1, SB_NULL},
	    {"SDMA", "Ascend Hardware", "Stream 4", EVENT_DEVICE_OTHER, 1700, -1, SB_NULL},
	    {"Memcpy", "Communication", "Plane 2", EVENT_COMMUNICATION_TASK, 1700, -1, 4096},
	    /* no row of COMPUTE_TASK_INFO: a frame around kernels, whose time must not count twice */
	    {"KERNEL_AICORE", "Ascend Hardware", "Stream 2", EVENT_DEVICE_OTHER, 990, -1, SB_NULL},
	    {"hcom_allReduce__586_0_1", "Communication", "Group 0 Communication", EVENT_COMMUNICATION, 1500,
	     950, 200},
	};
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_good("msprof_0.db",
	          NAMES TASK COMPUTE COLLECTIVE TRANSFER TWO_KERNELS ONE_COLLECTIVE
	          "INSERT INTO TASK VALUES "
	          "(1510,1700,3,0,13,1,16,0,4,3,0),(1700,1900,3,4294967295,14,1,19,0,4,4,0),"
	          "(990,1610,3,-1,15,1,7,0,2,5,0);"
	          "INSERT INTO COMMUNICATION_TASK_INFO VALUES (8,13,16,0,10,0,0,0,1,2,0,0,65535,1),"
	          "(8,14,17,2,10,0,0,0,1,0,4096,0,1,1);"
	          "CREATE TABLE ENUM_HCCL_DATA_TYPE (id,name); INSERT INTO ENUM_HCCL_DATA_TYPE VALUES "
	          "(11,'BFP16');",
	          &p);
	t = &p.captures[0].trace;
	assert_true(p.captures[0].format == FORMAT_MSPROF_DB);
	assert_int_equal(t->count, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < t->count; i++) {
		const struct lane *lane = &t->lanes[t->lane[i]];
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		assert_string_equal(trace_text(t, t->name[i], NULL), want[i].name);
		assert_string_equal(trace_text(t, lane->process, NULL), want[i].process);
		assert_string_equal(trace_text(t, lane->thread, NULL), want[i].thread);
		assert_true(t->kind[i] == want[i].kind && t->start_ns[i] == want[i].start &&
		            t->link[i] == want[i].link);
		assert_true((d ? d->bytes : SB_NULL) == want[i].bytes && lane->device == 3);
	}
}

/* Computing 600 + 100, the collective 1500..2500 covers 100 of each: exposed 1000 - 100 - 100 = 800; first
 * start 1000, last end 2500: free = 1500 - 700 - 800 = 0. */
static void the_breakdown_is_that_of_the_kernels(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	struct sb_error err = {0};

	(void)state;
	read_good("msprof_0.db", NAMES TASK COMPUTE COLLECTIVE TWO_KERNELS ONE_COLLECTIVE, &p);
	assert_int_equal(breakdown_compute(&p, &p.warnings, &b, &err), SB_OK);
	assert_int_equal(b.count, 1);
	assert_true(b.rows[0].compute_ns == 700 && b.rows[0].communication_ns == 1000);
	assert_true(b.rows[0].exposed_ns == 800 && b.rows[0].span_ns == 1500 && b.rows[0].free_ns == 0);
}

/* One database of two devices gives two captures: their times must not mix. */
static void devices_are_kept_apart(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_good(
	    "msprof_0.db",
	    NAMES TASK COMPUTE COLLECTIVE TRANSFER TWO_KERNELS ONE_COLLECTIVE
	    "UPDATE TASK SET deviceId = 1 WHERE globalTaskId = 11;"
	    "INSERT INTO TASK VALUES (1510,1700,1,0,13,1,16,0,4,3,0);"
	    "INSERT INTO COMMUNICATION_TASK_INFO VALUES (8,13,16,0,10,0,0,0,1,2,0,0,65535,1);"
	    "CREATE TABLE RANK_DEVICE_MAP (rankId,deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (9,3),(8,1);",
	    &p);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.warnings.count, 0);
	assert_true(p.captures[0].rank == 8 && p.captures[1].rank == 9);
	/* the collective is where its task is */
	assert_true(p.captures[0].kernel_count == 2 && p.captures[0].kernels[1].communication);
	assert_true(p.captures[1].kernel_count == 1 && p.captures[1].kernels[0].start_ns == 2000);
}

static void columns_of_other_versions(void **state)
{
	static const char *const tables[] = {
	    "CREATE TABLE COMPUTE_TASK_INFO (name,globalTaskId,block_dim,taskType,opType);"
	    "INSERT INTO COMPUTE_TASK_INFO VALUES (1,11,24,3,2);",
	    "CREATE TABLE COMPUTE_TASK_INFO (opState,name,globalTaskId,blockNum,taskType,opType,waitNs);"
	    "INSERT INTO COMPUTE_TASK_INFO VALUES (12,1,11,24,3,2,77);",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char sql[4096];
		PROFILE_AUTO p = {0};

		(void)snprintf(
		    sql, sizeof(sql), "%s%s",
		    NAMES "CREATE TABLE TASK (startNs,endNs,globalTaskId,taskType);"
		          "INSERT INTO TASK VALUES (1000,1600,11,7);"
		          "CREATE TABLE COMMUNICATION_OP (opName,startNs,endNs,connectionId,groupName,opId);"
		          "INSERT INTO COMMUNICATION_OP VALUES (8,1500,2500,950,10,1);",
		    tables[i]);
		read_good("ascend_pytorch_profiler.db", sql, &p);
		assert_true(p.captures[0].rank == SB_NULL);
		assert_int_equal(p.captures[0].kernel_count, 2);
		assert_int_equal(p.captures[0].kernels[0].block_dim, 24);
		/* without its column the type is in the name */
		assert_string_equal(text_of(&p.captures[0], p.captures[0].kernels[1].type),
		                    "hcom_allReduce_");
		assert_int_equal(p.warnings.count, 0);
	}
}

static void hostile_rows_are_told(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_good(
	    "msprof_0.db",
	    NAMES TASK COMPUTE COLLECTIVE TRANSFER TWO_KERNELS
	    /* no time; an end before the start; a length that does not fit; an absurd device and stream */
	    "INSERT INTO TASK VALUES (NULL,5,3,0,21,1,7,0,2,1,0),(3000,2900,3,0,22,1,16,0,2,1,0),"
	    "(-9000000000000000000,9000000000000000000,3,0,23,1,7,0,2,1,0),"
	    "('x',x'00ff',3,'y',24,1,'z',0,1.5,1,0),(4000,4001,3,0,25,1,99,0,9223372036854775807,1,0);"
	    /* a task twice, a description twice, one without a task, one without a number */
	    "INSERT INTO TASK VALUES (5000,5100,3,0,11,1,7,0,2,1,0);"
	    "INSERT INTO COMPUTE_TASK_INFO VALUES (4,12,8,0,6,5,12,12,11,12,12,11,12),"
	    "(4,31,8,0,6,5,12,12,11,12,12,11,12),(4,NULL,8,0,6,5,12,12,11,12,12,11,12);"
	    "INSERT INTO COMMUNICATION_OP VALUES (8,1500,1400,950,10,1,0,0,11,12,-5,9),"
	    "(NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);"
	    "INSERT INTO COMMUNICATION_TASK_INFO VALUES "
	    "('a',25,'b',-7,'c','d','e','f','g','h',-4,'i','j','k');"
	    "CREATE TABLE STEP_TIME (id,startNs,endNs);"
	    "INSERT INTO STEP_TIME VALUES (-1,0,5),('x',0,5),(3,0,9000);",
	    &p);
	c = &p.captures[0];
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->count == 7);
	assert_true(warning_of(&p, "negative_duration") && warning_of(&p, "negative_duration")->count == 2);
	assert_true(warning_of(&p, "duplicate_task") && warning_of(&p, "duplicate_task")->count == 1);
	assert_true(warning_of(&p, "duplicate_event") && warning_of(&p, "duplicate_event")->count == 1);
	assert_true(warning_of(&p, "missing_task") && warning_of(&p, "missing_task")->count == 2);
	assert_true(c->kernel_count == 3 && c->kernels[0].start_ns == 1000 && c->kernels[0].dur_ns == 600);
	assert_true(c->kernels[1].communication && c->kernels[1].dur_ns == 0);
	assert_true(c->step_count == 1 && c->steps[0].number == 3);
}

static void names_alone_are_refused(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_sql("ascend_pytorch_profiler_0.db", NAMES, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
	assert_non_null(strstr(err.text, "TASK"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_is_read),
	    cmocka_unit_test(events_have_their_lanes),
	    cmocka_unit_test(the_breakdown_is_that_of_the_kernels),
	    cmocka_unit_test(devices_are_kept_apart),
	    cmocka_unit_test(columns_of_other_versions),
	    cmocka_unit_test(hostile_rows_are_told),
	    cmocka_unit_test(names_alone_are_refused),
	};

	return cmocka_run_group_tests_name("ascend databases", tests, NULL, NULL);
}
