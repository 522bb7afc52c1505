#include "tests/unit/profiler/fixture.h"

#include "profiler/memory.h"
#include "profiler/read/memory_rows.h"
#include "tests/unit/profiler/made_profile.h"

/* Memory records: read from the texts of each format, and what is answered from them. All values by hand. */

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

static void the_peak_is_the_first_largest(void **state)
{
	struct memory_point points[] = {
	    {10, 5, 20}, {20, 9, 30}, {30, 9, 40}, {40, SB_NULL, 50}, {50, 2, SB_NULL}};
	const struct memory_series s = {.device = 0,
	                                .capacity_bytes = 100,
	                                .points = points,
	                                .count = sizeof(points) / sizeof(points[0])};
	PROFILE_AUTO p = {0};
	struct memory_row r = memory_peak(make_capture(&p, FORMAT_KINETO, 0), &s);

	(void)state;
	assert_true(r.peak_bytes == 9 && r.peak_at_ns == 20 && r.reserved_at_peak == 30);
	assert_true(r.reserved_peak_bytes == 50 && r.capacity_bytes == 100);
}

static void a_curve_keeps_the_peaks_of_its_columns(void **state)
{
	/* ten records a microsecond apart on two columns: 0 to 4 and 5 to 9, the last time in the last */
	struct memory_point points[10], *curve = NULL;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		points[i] = (struct memory_point){i * 1000, i == 3 ? 70 : i, i == 7 ? 99 : 80};
	assert_int_equal(memory_curve(points, 10, 2, &curve, &n), SB_OK);
	assert_int_equal(n, 2);
	assert_true(curve[0].time_ns == 3000 && curve[0].allocated == 70 && curve[0].reserved == 80);
	assert_true(curve[1].time_ns == 9000 && curve[1].allocated == 9 && curve[1].reserved == 99);
	free(curve);
	assert_int_equal(memory_curve(points, 10, 10, &curve, &n), SB_OK);
	assert_int_equal(n, 10);
	assert_memory_equal(curve, points, sizeof(points));
	free(curve);
	assert_int_equal(memory_curve(points, 0, 3, &curve, &n), SB_OK);
	assert_int_equal(n, 0);
	free(curve);
	/* all at one time, and as far apart as numbers go */
	struct memory_point odd[] = {{5, SB_NULL, 1}, {5, SB_NULL, 3}, {5, SB_NULL, 2}};

	assert_int_equal(memory_curve(odd, 3, 2, &curve, &n), SB_OK);
	assert_true(n == 1 && curve[0].reserved == 3 && curve[0].allocated == SB_NULL);
	free(curve);
	struct memory_point far[] = {{-INT64_MAX, 1, 1}, {0, 2, 2}, {INT64_MAX, 3, 3}};

	assert_int_equal(memory_curve(far, 3, 2, &curve, &n), SB_OK);
	assert_true(n == 2 && curve[1].allocated == 3);
	free(curve);
}

static void read_trace(const char *text, struct profile *out)
{
	const struct text_file file = {"trace.json", text, 0};
	struct sb_error err;

	assert_int_equal(read_texts(&file, 1, out, &err), SB_OK);
}

#define INSTANT(ts, args)                                                                                    \
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2," \
	"\"ts\":" #ts ",\"args\":{" args "}},"
#define CHANGE(bytes, type, id) "\"Bytes\":" #bytes ",\"Device Type\":" #type ",\"Device Id\":" #id
#define OPERATOR(name, ts, dur)                                                                              \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" #ts             \
	",\"dur\":" #dur "},"

static void instants_of_kineto_are_records(void **state)
{
	static const char text[] =
	    "{\"deviceProperties\":[{\"id\":1,\"name\":\"G\",\"totalGlobalMem\":1000},{\"id\":0,"
	    "\"totalGlobalMem\":77}],\"traceEvents\":[" OPERATOR("aten::mm", 100, 50) OPERATOR("aten::empty",
	                                                                                       110, 10)
	        INSTANT(140, CHANGE(300, 1, 1) ",\"Addr\":7,\"Total Allocated\":600,\"Total Reserved\":900")
	            INSTANT(115,
	                    CHANGE(100, 1, 1) ",\"Addr\":5,\"Total Allocated\":400,\"Total Reserved\":800")
	                INSTANT(130, CHANGE(-100, 1,
	                                    1) ",\"Addr\":5,\"Total Allocated\":300,\"Total Reserved\":800")
	                    INSTANT(150, CHANGE(-300, 1, 1) ",\"Addr\":7,\"Total Allocated\":300,\"Total "
	                                                    "Reserved\":900")
	                        INSTANT(116, CHANGE(8, 0, -1) ",\"Total Allocated\":8,\"Total Reserved\":0")
	                            INSTANT(117, "\"Device Type\":1")
	                                INSTANT(999999999, CHANGE(1, 1, 1)) "{}]}";
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};

	(void)state;
	read_trace(text, &p);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	assert_int_equal(m.count, 2);
	const struct memory_row *gpu = row_of(&m, 1, ""), *host = row_of(&m, MEMORY_HOST, "");

	assert_ptr_equal(gpu, &m.rows[0]);
	assert_int_equal(gpu->series->count, 4);
	assert_false(gpu->series->relative);
	assert_true(gpu->peak_bytes == 600 && gpu->peak_at_ns == 140000 && gpu->reserved_at_peak == 900);
	assert_true(gpu->capacity_bytes == 1000);
	/* what aten::empty took is given back by then; at 140 only aten::mm runs */
	assert_int_equal(gpu->operator_count, 1);
	assert_string_equal(gpu->operators[0].name, "aten::mm");
	assert_true(gpu->operators[0].bytes == 300 && gpu->operators[0].count == 1);
	assert_true(host->peak_bytes == 8 && host->capacity_bytes == SB_NULL);
	/* instants are no spans, and make no lanes */
	assert_int_equal(p.captures[0].trace.count, 2);
	assert_int_equal(p.captures[0].trace.lane_count, 1);
}

/* Before 2021's end only the changes were told. */
static void old_instants_are_summed_up(void **state)
{
	static const char text[] = "{\"traceEvents\":[" OPERATOR("aten::mm", 100, 50)
	    INSTANT(103, CHANGE(50, 1, 0)) INSTANT(101, CHANGE(-40, 1, 0)) INSTANT(104, CHANGE(-20, 1, 0))
	        INSTANT(102, CHANGE(7, 1, 0)) "{}]}";
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};

	(void)state;
	read_trace(text, &p);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	assert_int_equal(m.count, 1);
	/* 40 were there before: the sum starts again at 0 */
	assert_true(m.rows[0].series->relative && m.rows[0].peak_bytes == 57 &&
	            m.rows[0].peak_at_ns == 103000);
	assert_true(m.rows[0].reserved_peak_bytes == SB_NULL && m.rows[0].series->points[3].allocated == 37);
}

#define IN(file) "a_1_20240101000000000_ascend_pt/ASCEND_PROFILER_OUTPUT/" file

static void tables_of_ascend_are_records(void **state)
{
	static const struct text_file files[] = {
	    {IN("memory_record.csv"),
	     "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream "
	     "Ptr,Device Type\n"
	     "APP,1000.000\t,,2.5,,,NPU:3\n"
	     "PTA,2000.000\t,1.5,2.0,1.5,7,NPU:3\n"
	     "PTA,1000.000\t,0.5,2.0,0.5,7,NPU:3\n"
	     "PTA,1.69E+15,9,9,9,7,NPU:3\n",
	     0},
	    {IN("operator_memory.csv"),
	     "Name,Size(KB),Allocation Time(us),Release Time(us),Stream Ptr,Device Type\n"
	     "aten::mm,512,1500.000\t,,7,NPU:3\n"
	     "aten::mm,256,1600.000\t,2500.000\t,7,NPU:3\n"
	     "aten::add,900,1200.000\t,1900.000\t,7,NPU:3\n"
	     "aten::gone,-4,,1900.000\t,7,NPU:3\n",
	     0},
	    {IN("npu_module_mem.csv"),
	     "Component,Timestamp(us),Total Reserved(MB),Device\n"
	     "HCCL,1000.000\t,4.0,NPU:3\nSLOG,1000.000\t,0.0,NPU:3\nHCCL,2000.000\t,-1,NPU:3\n",
	     0},
	    {IN("npu_mem_20250101120000.csv"),
	     "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n"
	     "3,Device,0,6,6,1000.000\t\n3,APP,0,5,5,1000.000\t\n3,Device,0,9,9,2000.000\t\n"
	     "3,APP,0,N/A,N/A,2000.000\t\n3,APP,0,7,7,\n",
	     0},
	};
	PROFILE_AUTO p = {0};
	MEMORY_AUTO m = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 4, &p, &err), SB_OK);
	assert_int_equal(p.left_out_count, 0);
	assert_int_equal(memory_compute(&p, &m, NULL), SB_OK);
	assert_int_equal(m.count, 5);
	const struct memory_row *pta = row_of(&m, 3, "PTA");

	assert_ptr_equal(pta, &m.rows[0]);
	assert_int_equal(pta->series->count, 2);
	assert_true(pta->peak_bytes == 1572864 && pta->peak_at_ns == 2000000 &&
	            pta->reserved_at_peak == 2097152);
	assert_int_equal(pta->operator_count, 1);
	assert_string_equal(pta->operators[0].name, "aten::mm");
	assert_true(pta->operators[0].bytes == 768 * 1024 && pta->operators[0].count == 2);
	assert_true(row_of(&m, 3, "APP")->reserved_peak_bytes == 2621440 &&
	            row_of(&m, 3, "APP")->peak_bytes == SB_NULL);
	assert_true(row_of(&m, 3, "module HCCL")->reserved_peak_bytes == 4194304);
	assert_int_equal(row_of(&m, 3, "APP")->operator_count, 0);
	/* kilobytes of 1024; a value that is none is not 0, and a row without a time is no record */
	assert_true(row_of(&m, 3, "driver Device")->reserved_peak_bytes == 9 * 1024);
	assert_true(row_of(&m, 3, "driver APP")->reserved_peak_bytes == 5 * 1024);
	assert_int_equal(row_of(&m, 3, "driver APP")->series->count, 2);
}

static void series_are_bounded_and_in_order(void **state)
{
	PROFILE_AUTO p = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	struct memory_series *s = NULL;

	(void)state;
	for (int64_t i = MEMORY_SERIES_MAX; i >= -1; i--) {
		assert_int_equal(memory_series(c, i, 0, &s), SB_OK);
		assert_int_equal(memory_add(s, 20, 2, SB_NULL), SB_OK);
		assert_int_equal(memory_add(s, 10, 1, SB_NULL), SB_OK);
	}
	assert_null(s);
	assert_int_equal(memory_series(c, MEMORY_SERIES_MAX, 0, &s), SB_OK);
	assert_non_null(s);
	memory_finish(c);
	assert_int_equal(c->memory_count, MEMORY_SERIES_MAX);
	assert_true(c->memories[0].device == 1 && c->memories[0].points[0].time_ns == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_peak_is_the_first_largest),
	    cmocka_unit_test(a_curve_keeps_the_peaks_of_its_columns),
	    cmocka_unit_test(instants_of_kineto_are_records),
	    cmocka_unit_test(old_instants_are_summed_up),
	    cmocka_unit_test(tables_of_ascend_are_records),
	    cmocka_unit_test(series_are_bounded_and_in_order),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
