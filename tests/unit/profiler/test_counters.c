#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "profiler/read/ascend_counters.h"
#include "tests/unit/profiler/made_profile.h"

/* Counters of kernels: operations in one capture, bytes in another, and the clock. */

#define ARITHMETIC "h_1_20250101000000000_ascend_pt/"
#define MEMORY "h_1_20250102000000000_ascend_pt/"
#define OUT "ASCEND_PROFILER_OUTPUT/"
#define HEAD "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes,Input Data Types"

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-6 * fabs(wanted);
}

/* Research page ascend-formats 1.2: the first row of the sample has 137176320 operations. */
static void operations_are_summed_over_the_units(void **state)
{
	static const struct text_file f = {
	    ARITHMETIC OUT "kernel_details.csv",
	    HEAD ",aicore_time(us),aic_cube_fops,aic_vector_fops,aiv_time(us),aiv_cube_fops,aiv_vector_fops\n"
	         "1,Zeros,ZerosLike,AI_VECTOR_CORE,100,607.98,\"\"\"544404480\"\"\",FLOAT16,0,0,0,587.05,0,"
	         "137176320\n"
	         "1,mm,MatMul,MIX_AIC,800,10,\"\"\"2,2;2,2\"\"\",FLOAT16,9,1000,10,1,0,1\n"
	         "1,none,Cast,AI_CPU,900,10,\"\"\"2\"\"\",FLOAT16,N/A,N/A,N/A,N/A,N/A,N/A\n",
	    0};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(&f, 1, &p, &err), SB_OK);
	assert_int_equal(p.captures[0].kernel_count, 3);
	assert_true(near((double)p.captures[0].kernels[0].flops, 137176320));
	assert_true(near((double)p.captures[0].kernels[1].flops, 1011));
	assert_true(isnan(p.captures[0].kernels[2].flops) && isnan(p.captures[0].kernels[0].bytes));
}

/* A rate counts for the time of its cores: 100 + 50 GB/s for 2 us on the cube side, 10 GB/s for 4 us on the
 * vector side: 300000 + 40000 bytes. */
static void rates_become_bytes(void **state)
{
	static const struct text_file f = {
	    MEMORY OUT "kernel_details.csv",
	    HEAD ",aicore_time(us),aic_main_mem_read_bw(GB/s),aic_main_mem_write_bw(GB/s),aiv_time(us),"
	         "aiv_main_mem_read_bw(GB/s)\n"
	         "1,mm,MatMul,MIX_AIC,100,10,\"\"\"2,2;2,2\"\"\",FLOAT16,2,100,50,4,10\n",
	    0};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(&f, 1, &p, &err), SB_OK);
	assert_true(near((double)p.captures[0].kernels[0].bytes, 340000));
}

/* The newer capture of the rank is used, with the operations of the older one: by name, type and shapes. */
static void captures_of_one_rank_lend_counters(void **state)
{
	static const struct text_file files[] = {
	    {ARITHMETIC OUT "kernel_details.csv",
	     HEAD ",aic_cube_fops\n"
	          "1,mm,MatMul,AI_CORE,100,10,\"\"\"2,2;2,2\"\"\",FLOAT16,1000\n"
	          "1,mm,MatMul,AI_CORE,200,10,\"\"\"2,2;2,2\"\"\",FLOAT16,3000\n"
	          "1,mm,MatMul,AI_CORE,300,10,\"\"\"4,4;4,4\"\"\",FLOAT16,9000\n",
	     0},
	    {ARITHMETIC "profiler_info_0.json", "{\"rank_id\":0}", 0},
	    {MEMORY OUT "kernel_details.csv",
	     HEAD ",aic_read_main_memory_datas(KB),aic_write_main_memory_datas(KB)\n"
	          "1,mm,MatMul,AI_CORE,1100,10,\"\"\"2,2;2,2\"\"\",FLOAT16,3,1\n"
	          "1,mm,MatMul,AI_CORE,1200,10,\"\"\"8,8;8,8\"\"\",FLOAT16,3,1\n",
	     0},
	    {MEMORY "profiler_info_0.json", "{\"rank_id\":0}", 0},
	};
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct kernel *k;

	(void)state;
	assert_int_equal(read_texts(files, 4, &p, &err), SB_OK);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.captures[0].kernel_count, 2);
	k = p.captures[0].kernels;
	assert_true(near((double)k[0].bytes, 4096) && near((double)k[0].flops, 2000));
	assert_true(near((double)k[1].bytes, 4096) && isnan(k[1].flops));
}

/* A name may be that of two kinds of kernel: 7 operations of an Add are none of the Cast. */
static void counters_are_lent_by_type_too(void **state)
{
	static const struct text_file files[] = {
	    {ARITHMETIC OUT "kernel_details.csv", HEAD ",aic_cube_fops\n1,a,Add,AI_CORE,100,10,2,FLOAT16,7\n",
	     0},
	    {ARITHMETIC "profiler_info_0.json", "{\"rank_id\":0}", 0},
	    {MEMORY OUT "kernel_details.csv",
	     HEAD ",aic_read_main_memory_datas(KB)\n1,a,Cast,AI_CORE,1100,10,2,FLOAT16,3\n"
	          "1,a,Add,AI_CORE,1200,10,2,FLOAT16,3\n",
	     0},
	    {MEMORY "profiler_info_0.json", "{\"rank_id\":0}", 0},
	};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 4, &p, &err), SB_OK);
	assert_true(isnan(p.captures[0].kernels[0].flops) && p.captures[0].kernels[1].flops == 7);
}

/* Units by source: tables name theirs, databases have bytes, bytes per second and ns. */
static void units_follow_the_source(void **state)
{
	static const struct {
		const char *name;
		enum counter_kind kind;
		double scale;
	} names[] = {{"aic_main_mem_read_bw(GB/s)", COUNTER_RATE, 1e9},
	             {"aic_main_mem_read_bw", COUNTER_RATE, 1},
	             {"aiv_write_main_memory_datas(KB)", COUNTER_BYTES, 1024},
	             {"aiv_write_main_memory_datas", COUNTER_BYTES, 1},
	             {"aicore_time(us)", COUNTER_TIME, 1e-6},
	             {"aic_total_time", COUNTER_TIME, 1e-9},
	             {"aiv_vector_fops", COUNTER_FLOPS, 1},
	             {"aiv_total_cycles", COUNTER_CYCLES, 1},
	             {"aic_mac_ratio", COUNTER_NONE, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct counter c = counter_of(names[i].name, strlen(names[i].name));

		if (c.kind != names[i].kind || (c.kind != COUNTER_NONE && !near(c.scale, names[i].scale)))
			fail_msg("%s: %d, %g", names[i].name, c.kind, c.scale);
		assert_true(c.vector == (strncmp(names[i].name, "aiv_", 4) == 0));
	}
}

static void the_clock_is_a_counter_of_the_timeline(void **state)
{
	static const struct text_file f = {
	    MEMORY OUT "trace_view.json",
	    "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"Ascend Hardware\"}},"
	    "{\"ph\":\"X\",\"name\":\"k\",\"pid\":1,\"tid\":1,\"ts\":\"100\",\"dur\":5,\"args\":{\"Task "
	    "Type\":\"AI_CORE\"}},"
	    "{\"ph\":\"C\",\"name\":\"AI Core Freq\",\"pid\":2,\"tid\":0,\"ts\":\"101.5\",\"args\":{\"MHz\":"
	    "1800.0}},"
	    "{\"ph\":\"C\",\"name\":\"AI Core "
	    "Freq\",\"pid\":2,\"tid\":0,\"ts\":\"bad\",\"args\":{\"MHz\":1}},"
	    "{\"ph\":\"C\",\"name\":\"AI Core Freq\",\"pid\":2,\"tid\":0,\"ts\":\"9\",\"args\":{\"MHz\":-1}},"
	    "{\"ph\":\"C\",\"name\":\"HBM 0/Read\",\"pid\":3,\"tid\":0,\"ts\":\"9\",\"args\":{\"MHz\":1}}]",
	    0};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(&f, 1, &p, &err), SB_OK);
	assert_int_equal(p.captures[0].clock_count, 1);
	assert_true(p.captures[0].clocks[0].time_ns == 101500 &&
	            near((double)p.captures[0].clocks[0].mhz, 1800));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(operations_are_summed_over_the_units),
	    cmocka_unit_test(rates_become_bytes),
	    cmocka_unit_test(captures_of_one_rank_lend_counters),
	    cmocka_unit_test(counters_are_lent_by_type_too),
	    cmocka_unit_test(units_follow_the_source),
	    cmocka_unit_test(the_clock_is_a_counter_of_the_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
