#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/unit/profiler/ascend_sql.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* Tables and columns of Ascend's databases that come and go (research page ascend-formats 1.13, trace-formats
 * 3.3): each is used where it is there, and missed nowhere. */

static const struct kernel *kernel_named(const struct capture *c, const char *name)
{
	for (size_t i = 0; i < c->kernel_count; i++)
		if (strcmp(text_of(c, c->kernels[i].name), name) == 0)
			return &c->kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

/* Whatever was collected: one table is enough. */
static void each_table_alone_is_a_capture(void **state)
{
	static const struct {
		const char *sql;
		size_t events, kernels, steps;
	} CASES[] = {
	    {NAMES COLLECTIVE ONE_COLLECTIVE, 1, 1, 0},
	    {NAMES "CREATE TABLE CANN_API (startNs,endNs,type,globalTid,connectionId,name);"
	           "INSERT INTO CANN_API VALUES (1,2,10000,9,0,15);",
	     1, 0, 0},
	    {NAMES "CREATE TABLE PYTORCH_API (startNs TEXT,endNs TEXT,globalTid,name);"
	           "INSERT INTO PYTORCH_API VALUES ('1','2',9,20);",
	     1, 0, 1},
	    /* no names, no descriptions: what the hardware did is still there */
	    {TASK "INSERT INTO TASK VALUES (1000,1600,3,900,11,1,7,0,2,1,0);", 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		PROFILE_AUTO p = {0};

		read_good("ascend_pytorch_profiler_0.db", CASES[i].sql, &p);
		assert_int_equal(p.captures[0].trace.count, CASES[i].events);
		assert_int_equal(p.captures[0].kernel_count, CASES[i].kernels);
		assert_int_equal(p.captures[0].step_count, CASES[i].steps);
	}
}

/* Level 0 describes no kernel: the type of its task tells that it is one. */
static void tasks_without_a_description(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          NAMES TASK "INSERT INTO TASK VALUES (1000,1600,3,900,11,1,3,0,2,1,0),"
	                     "(1700,1900,3,0,12,1,16,0,2,2,0),(2000,2100,3,0,13,1,19,0,2,3,0);",
	          &p);
	c = &p.captures[0];
	assert_int_equal(c->kernel_count, 1);
	assert_string_equal(text_of(c, c->kernels[0].core), "AI_CORE");
	assert_true(c->kernels[0].start_ns == 1000 && c->kernels[0].dur_ns == 600);
	/* waiting and moving is no kernel */
	assert_true(c->trace.kind[0] == EVENT_KERNEL && c->trace.kind[1] == EVENT_DEVICE_WAIT &&
	            c->trace.kind[2] == EVENT_DEVICE_OTHER);
}

static void a_description_has_many_columns(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;
	const struct kernel *k;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          NAMES TASK "INSERT INTO STRING_IDS VALUES (30,'dynamic'),(31,'FLOAT16;FLOAT'),"
	                     "(32,'ND;FRACTAL_NZ'),(33,'\"2,4\"'),(34,'DT_BF16'),(35,'NC1HWC0');"
	                     "INSERT INTO TASK VALUES (1000,1600,3,900,11,1,7,0,2,1,0);"
	                     "CREATE TABLE COMPUTE_TASK_INFO (name,globalTaskId,block_num,taskType,opType,"
	                     "inputFormats,inputDataTypes,inputShapes,outputFormats,outputDataTypes,"
	                     "outputShapes,attrInfo,opState,hf32Eligible);"
	                     "INSERT INTO COMPUTE_TASK_INFO VALUES (1,11,24,3,2,32,31,11,35,34,33,12,30,12);",
	          &p);
	c = &p.captures[0];
	k = c->kernels;
	assert_int_equal(k->block_dim, 24);
	assert_string_equal(text_of(c, k->state), "dynamic");
	assert_string_equal(text_of(c, k->input_types), "FLOAT16;FLOAT");
	assert_string_equal(text_of(c, k->input_formats), "ND;FRACTAL_NZ");
	/* the quotes of the shapes are no part of them */
	assert_string_equal(text_of(c, k->input_shapes), "2,3;3,4");
	assert_string_equal(text_of(c, k->output_shapes), "2,4");
	assert_string_equal(text_of(c, k->output_types), "DT_BF16");
	assert_string_equal(text_of(c, k->output_formats), "NC1HWC0");
}

/* Counters come one a row, in the units of databases: ns, bytes, bytes a second. MatMul_1 runs 600 ns, of
 * which its cores work 500: 4e9 + 2e9 B/s for 500e-9 s are 3000 bytes. Add_1 has counted bytes: they win. */
static void counters_are_in_ns_and_bytes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_good(
	    "ascend_pytorch_profiler_0.db",
	    NAMES TASK COMPUTE TWO_KERNELS
	    "INSERT INTO STRING_IDS VALUES (40,'aic_total_time'),(41,'aic_cube_fops'),"
	    "(42,'aic_main_mem_read_bw'),(43,'aic_main_mem_write_bw'),"
	    "(44,'aiv_read_main_memory_datas'),(45,'aiv_write_main_memory_datas'),(46,'aic_mte2_ratio'),"
	    "(47,'aiv_scalar_ratio');"
	    "CREATE TABLE TASK_PMU_INFO (globalTaskId,name,value);"
	    "INSERT INTO TASK_PMU_INFO VALUES (11,40,500),(11,41,64000),(11,42,4e9),(11,43,2e9),"
	    "(12,44,700),(12,45,300),"
	    /* of equal ratios the pipe that kernel_details.csv has first; mte2 reaches the memory */
	    "(11,46,0.5),(11,13,0.5),(12,46,0.75),(12,47,0.25);",
	    &p);
	c = &p.captures[0];
	assert_true(fabs((double)kernel_named(c, "MatMul_1")->bytes - 3000) < 0.01);
	assert_true(kernel_named(c, "MatMul_1")->flops == 64000);
	assert_true(kernel_named(c, "Add_1")->bytes == 1000 && isnan(kernel_named(c, "Add_1")->flops));
	assert_string_equal(text_of(c, kernel_named(c, "MatMul_1")->pipe), "aic_mac");
	assert_true(kernel_named(c, "MatMul_1")->pipe_ratio == 0.5f);
	assert_string_equal(text_of(c, kernel_named(c, "Add_1")->pipe), "aic_mte2");
	assert_true(kernel_named(c, "Add_1")->pipe_ratio == 0.75f &&
	            kernel_named(c, "Add_1")->inner_ratio == 0.25f);
}

#define TRANSFERS                                                                                            \
	"INSERT INTO TASK VALUES (1510,1700,3,0,13,1,16,0,4,3,0),(1700,1900,3,0,14,1,19,0,4,4,0);"           \
	"INSERT INTO COMMUNICATION_TASK_INFO VALUES (8,13,16,0,10,0,0,0,1,2,0,0,65535,1),"                   \
	"(8,14,17,2,10,0,0,0,1,51,4096,0,50,1);"

/* Types of data and of links are numbers of an enum, else of STRING_IDS; a link without a type has a way of
 * transport. */
static void enums_may_be_missing(void **state)
{
	static const struct {
		const char *sql, *link;
	} CASES[] = {
	    {"INSERT INTO STRING_IDS VALUES (50,'HCCS'),(51,'SDMA'),(52,'BFP16');", "HCCS"},
	    {"INSERT INTO STRING_IDS VALUES (50,'INVALID_TYPE'),(51,'SDMA'),(52,'BFP16');", "SDMA"},
	    {"CREATE TABLE ENUM_HCCL_LINK_TYPE (id,name); INSERT INTO ENUM_HCCL_LINK_TYPE VALUES (50,'SIO');"
	     "CREATE TABLE ENUM_HCCL_DATA_TYPE (id,name); INSERT INTO ENUM_HCCL_DATA_TYPE VALUES "
	     "(52,'BFP16');",
	     "SIO"},
	    {"CREATE TABLE ENUM_HCCL_LINK_TYPE (id,name); INSERT INTO ENUM_HCCL_LINK_TYPE VALUES "
	     "(50,'INVALID_TYPE');CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id,name); INSERT INTO "
	     "ENUM_HCCL_TRANSPORT_TYPE VALUES (51,'RDMA');"
	     "CREATE TABLE ENUM_HCCL_DATA_TYPE (id,name); INSERT INTO ENUM_HCCL_DATA_TYPE VALUES "
	     "(52,'BFP16');",
	     "RDMA"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char sql[4000];
		PROFILE_AUTO p = {0};
		const struct trace *t;
		const struct event_detail *d;

		(void)snprintf(sql, sizeof(sql), "%s%s",
		               NAMES TASK COLLECTIVE TRANSFER TRANSFERS
		               "INSERT INTO COMMUNICATION_OP VALUES (8,1500,2500,950,10,1,0,0,52,12,100,9);",
		               CASES[i].sql);
		read_good("ascend_pytorch_profiler_0.db", sql, &p);
		t = &p.captures[0].trace;
		/* each task on its stream, and on its plane */
		assert_int_equal(t->count, 5);
		assert_int_equal(t->kind[3], EVENT_COMMUNICATION_TASK);
		d = trace_detail(t, 3);
		assert_true(d && d->bytes == 4096);
		assert_string_equal(trace_text(t, d->type, NULL), CASES[i].link);
		/* 100 elements of 2 bytes */
		d = trace_detail(t, 4);
		assert_true(d && d->bytes == 200);
		/* the wait of a plane moves nothing */
		assert_null(trace_detail(t, 1));
	}
}

/* groupName is a text of its own kind: two groups are two lanes. With several devices in one database the
 * newer exporters name the collective's. */
static void collectives_have_groups_and_devices(void **state)
{
	static const char rows[] =
	    "CREATE TABLE COMMUNICATION_OP (opName,startNs,endNs,connectionId,groupName,opId,relay,retry,"
	    "dataType,algType,count,opType,deviceId);"
	    "INSERT INTO COMMUNICATION_OP VALUES (8,1500,2500,950,10,1,0,0,11,12,100,9,3),"
	    "(8,2600,2700,951,60,2,0,0,11,12,100,9,3),(8,3000,3300,952,10,3,0,0,11,12,100,9,3),"
	    "(8,1500,1900,953,10,4,0,0,11,12,100,9,1);";
	char sql[4000];
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	(void)snprintf(sql, sizeof(sql), "%s%s",
	               NAMES TASK COMPUTE TWO_KERNELS "INSERT INTO STRING_IDS VALUES (60,'other group');"
	                                              "UPDATE TASK SET deviceId = 1 WHERE globalTaskId = 11;",
	               rows);
	read_good("msprof_0.db", sql, &p);
	assert_int_equal(p.count, 2);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 2);
	assert_true(t->start_ns[1] == 1500 && t->dur_ns[1] == 400);
	t = &p.captures[1].trace;
	assert_int_equal(t->count, 4);
	assert_true(t->lane[1] == t->lane[3] && t->lane[1] != t->lane[2]);
	assert_string_equal(trace_text(t, t->lanes[t->lane[2]].thread, NULL), "Group 1 Communication");
}

/* The vector cores reduce for a collective: its tasks are no compute, whatever their type. */
static void tasks_of_a_collective_are_no_kernels(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          NAMES TASK TRANSFER "INSERT INTO TASK VALUES (1510,1700,3,0,13,1,6,0,4,3,0);"
	                              "INSERT INTO COMMUNICATION_TASK_INFO VALUES "
	                              "(8,13,17,0,10,0,0,0,1,2,64,0,65535,1);",
	          &p);
	t = &p.captures[0].trace;
	assert_true(t->count == 2 && p.captures[0].kernel_count == 0);
	assert_true(t->kind[0] == EVENT_DEVICE_OTHER && t->kind[1] == EVENT_COMMUNICATION_TASK);
}

/* msprof's own export is known by its name, whatever tables a newer one has. */
static void msprof_is_known_by_its_name(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_good("PROF_1/msprof_20250109084453.db",
	          NAMES TASK COMPUTE TWO_KERNELS "CREATE TABLE STEP_TIME (id,startNs,endNs);"
	                                         "INSERT INTO STEP_TIME VALUES (3,0,9000);",
	          &p);
	assert_int_equal(p.captures[0].format, FORMAT_MSPROF_DB);
	assert_string_equal(p.captures[0].source, "PROF_1");
	assert_int_equal(p.captures[0].step_count, 1);
}

/* Points where the clock changes, in any order; each device has its own. */
static void clocks_are_of_a_device(void **state)
{
	static const char freq[] = "CREATE TABLE AICORE_FREQ (deviceId,timestampNs,freq);"
	                           "INSERT INTO AICORE_FREQ VALUES (3,2000,1650),(1,1500,900),(3,1000,800);";
	PROFILE_AUTO p = {0}, q = {0};
	char sql[4000];

	(void)state;
	(void)snprintf(sql, sizeof(sql), "%s%s", NAMES TASK COMPUTE TWO_KERNELS, freq);
	read_good("msprof_0.db", sql, &p);
	assert_int_equal(p.captures[0].clock_count, 3);
	assert_true(p.captures[0].clocks[1].device == 1 && p.captures[0].clocks[1].mhz == 900);
	(void)snprintf(sql, sizeof(sql), "%s%s%s", NAMES TASK COMPUTE TWO_KERNELS,
	               "UPDATE TASK SET deviceId = 1 WHERE globalTaskId = 11;", freq);
	read_good("msprof_0.db", sql, &q);
	assert_int_equal(q.count, 2);
	assert_true(q.captures[0].clock_count == 1 && q.captures[0].clocks[0].time_ns == 1500);
	assert_true(q.captures[1].clock_count == 2 && q.captures[1].clocks[0].mhz == 1650);
}

/* MEMCPY_INFO of newer exporters tells what a copy moved. */
static void copies_have_sizes_and_directions(void **state)
{
	PROFILE_AUTO p = {0};
	const struct event_detail *d;

	(void)state;
	read_good("ascend_pytorch_profiler_0.db",
	          NAMES TASK "INSERT INTO STRING_IDS VALUES (70,'MEMCPY_ASYNC');"
	                     "INSERT INTO TASK VALUES (1000,1600,3,900,11,1,70,0,2,1,0),"
	                     "(2000,2600,3,900,12,1,70,0,2,1,0);"
	                     "CREATE TABLE MEMCPY_INFO (globalTaskId,size,memcpyOperation);"
	                     "INSERT INTO MEMCPY_INFO VALUES (11,19267584,1);"
	                     "CREATE TABLE ENUM_MEMCPY_OPERATION (id,name);"
	                     "INSERT INTO ENUM_MEMCPY_OPERATION VALUES (1,'host to device');",
	          &p);
	assert_int_equal(p.captures[0].trace.kind[0], EVENT_MEMCPY);
	d = trace_detail(&p.captures[0].trace, 0);
	assert_true(d && d->bytes == 19267584);
	assert_string_equal(text_of(&p.captures[0], d->type), "host to device");
	assert_null(trace_detail(&p.captures[0].trace, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_table_alone_is_a_capture),
	    cmocka_unit_test(tasks_without_a_description),
	    cmocka_unit_test(a_description_has_many_columns),
	    cmocka_unit_test(counters_are_in_ns_and_bytes),
	    cmocka_unit_test(enums_may_be_missing),
	    cmocka_unit_test(collectives_have_groups_and_devices),
	    cmocka_unit_test(tasks_of_a_collective_are_no_kernels),
	    cmocka_unit_test(msprof_is_known_by_its_name),
	    cmocka_unit_test(clocks_are_of_a_device),
	    cmocka_unit_test(copies_have_sizes_and_directions),
	};

	return cmocka_run_group_tests_name("tables of ascend databases", tests, NULL, NULL);
}
