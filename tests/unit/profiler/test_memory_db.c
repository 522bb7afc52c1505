#include "tests/unit/profiler/made_nsys.h"

#include "profiler/memory.h"

/* Memory records out of databases. All values by hand. */

static const struct memory_row *row_of(const struct memory_report *r, int64_t device, const char *component)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->rows[i].series->device == device &&
		    strcmp(trace_text(&r->rows[i].capture->trace, r->rows[i].series->component, NULL),
		           component) == 0)
			return &r->rows[i];
	fail_msg("no series of %lld %s", (long long)device, component);
	return NULL;
}

#define ASCEND                                                                                               \
	"CREATE TABLE STRING_IDS (id,value);INSERT INTO STRING_IDS VALUES (1,'PTA'),(2,'aten::mm'),"         \
	"(3,'aten::add');"                                                                                   \
	"CREATE TABLE TASK (startNs,endNs,deviceId,connectionId,globalTaskId,globalPid,taskType,contextId,"  \
	"streamId,taskId,modelId);INSERT INTO TASK VALUES (1000,1600,3,900,11,1,7,0,2,1,0);"                 \
	"CREATE TABLE ENUM_MODULE (id,name);INSERT INTO ENUM_MODULE VALUES (0,'HCCL'),(1,'SLOG');"           \
	"CREATE TABLE NPU_MODULE_MEM (moduleId,timestampNs,totalReserved,deviceId);"                         \
	"INSERT INTO NPU_MODULE_MEM VALUES (0,1000,4096,3),(1,1000,0,3),(900,1000,4,3),(0,2000,-1,3);"       \
	"CREATE TABLE OP_MEMORY (name,size,allocationTime,releaseTime,deviceId);"                            \
	"INSERT INTO OP_MEMORY VALUES (2,300,1500,NULL,3),(3,50,1500,1900,3),(3,-50,1500,NULL,3);"

static void databases_of_ascend_are_records(void **state)
{
	static const char records[] =
	    ASCEND "CREATE TABLE MEMORY_RECORD (component,timestamp,totalAllocated,totalReserved,deviceId);"
	           "INSERT INTO MEMORY_RECORD VALUES (1,2000,700,900,3),(1,1000,400,900,3),(1,NULL,1,1,3);";
	/* what msprof writes itself */
	static const char operators[] =
	    ASCEND "CREATE TABLE NPU_OP_MEM "
	           "(operatorName,addr,type,size,timestampNs,globalTid,totalAllocate,totalReserve,component,"
	           "deviceId);INSERT INTO NPU_OP_MEM VALUES (2,1,0,5,2000,1,700,900,1,3);";
	const char *const sql[] = {records, operators};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		PROFILE_AUTO p = {0};
		MEMORY_AUTO m = {0};
		struct sb_error err;

		assert_int_equal(read_sql("a_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
		                          sql[i], &p, &err),
		                 SB_OK);
		assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
		assert_int_equal(m.count, 2);
		const struct memory_row *r = row_of(&m, 3, "PTA");

		assert_true(r->peak_bytes == 700 && r->peak_at_ns == 2000 && r->reserved_at_peak == 900);
		assert_int_equal(r->operator_count, 1);
		assert_string_equal(r->operators[0].name, "aten::mm");
		assert_true(r->operators[0].bytes == 300);
		assert_true(row_of(&m, 3, "module HCCL")->reserved_peak_bytes == 4096);
	}
}

/* Exporters of one year wrote the columns of MEMORY_RECORD without their last letter. */
static void totals_had_another_name(void **state)
{
	static const char records[] =
	    ASCEND "CREATE TABLE MEMORY_RECORD (component,timestamp,totalAllocate,totalReserve,deviceId);"
	           "INSERT INTO MEMORY_RECORD VALUES (1,2000,700,900,3),(1,1000,400,900,3);";
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_sql("ascend_pytorch_profiler_0.db", records, &p, &err), SB_OK);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	const struct memory_row *r = row_of(&m, 3, "PTA");

	assert_true(r->peak_bytes == 700 && r->reserved_at_peak == 900 && r->reserved_peak_bytes == 900);
}

/* Allocations of the driver, summed up by device in order of time; pinned memory is the host's. */
static void events_of_nsight_are_summed_up(void **state)
{
	static const char sql[] = STRINGS KERNELS
	    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,20,0,1,7,1," P7 ",1,1);"
	    "CREATE TABLE TARGET_INFO_GPU (id,name,totalMemory);INSERT INTO TARGET_INFO_GPU VALUES "
	    "(0,'NVIDIA H100',5000),(1,'NVIDIA H100',6000);"
	    "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS "
	    "(start,globalPid,deviceId,contextId,address,pc,bytes,memKind,memoryOperationType,name);"
	    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES "
	    "(30,0,0,1,1,0,100,2,1,''),(10,0,0,1,1,0,100,2,0,''),"
	    "(20,0,0,1,2,0,250,4,0,''),(40,0,0,1,3,0,60,2,0,''),(15,0,1,1,9,0,7,2,0,''),(15,0,0,1,9,0,9,1,0,'"
	    "'),"
	    "(16,0,0,1,9,0,9,1,9,''),(NULL,0,0,1,9,0,9,2,0,''),(17,0,0,1,9,0,-9,2,0,'');";
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_sql("a.sqlite", sql, &p, &err), SB_OK);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	assert_int_equal(m.count, 3);
	const struct memory_row *r = row_of(&m, 0, "");

	assert_int_equal(r->series->count, 4);
	assert_true(r->series->relative && r->peak_bytes == 350 && r->peak_at_ns == 20 &&
	            r->reserved_peak_bytes == SB_NULL && r->capacity_bytes == 5000);
	assert_true(r->series->points[3].allocated == 310);
	assert_true(row_of(&m, 1, "")->peak_bytes == 7 && row_of(&m, 1, "")->capacity_bytes == 6000);
	assert_true(row_of(&m, MEMORY_HOST, "")->peak_bytes == 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(databases_of_ascend_are_records),
	    cmocka_unit_test(totals_had_another_name),
	    cmocka_unit_test(events_of_nsight_are_summed_up),
	};

	return cmocka_run_group_tests_name("memory in databases", tests, NULL, NULL);
}
