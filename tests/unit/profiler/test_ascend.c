#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "tests/unit/profiler/made_profile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DIR "h_1_20250109084453123_ascend_pt/"
#define OUT DIR "ASCEND_PROFILER_OUTPUT/"

static void read_one(const char *path, const char *text, struct profile *p)
{
	const struct text_file f = {path, text, 0};
	struct sb_error err;

	assert_int_equal(read_texts(&f, 1, p, &err), SB_OK);
	assert_int_equal(p->count, 1);
}

static void expect_error(const char *path, const char *text, const char *word, int64_t line)
{
	const struct text_file f = {path, text, 0};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	assert_int_equal(read_texts(&f, 1, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, word);
	assert_string_equal(err.file, path);
	assert_true(err.line == line);
	assert_null(p.captures);
}

static void level_0_has_eight_columns(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_one(OUT "kernel_details.csv",
	         "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\r\n"
	         "50,trans_TransData_0,N/A,N/A,1736405443881410.320\t,50.621,0,0\r\n"
	         "50,hcom_allReduce__586_0_1,N/A,N/A,1736405443881566.663\t,6.28,N/A,0\r\n",
	         &p);
	assert_int_equal(p.captures[0].kernel_count, 2);
	k = p.captures[0].kernels;
	assert_true(k[0].step == 50 && k[0].start_ns == INT64_C(1736405443881410320));
	assert_true(k[0].dur_ns == 50621 && k[0].wait_ns == 0 && k[0].block_dim == 0);
	assert_true(k[0].type == 0 && k[0].core == 0 && k[0].pipe == 0);
	assert_true(isnan(k[0].pipe_ratio));
	assert_false(k[0].communication);
	/* level 0 names no core: the name tells */
	assert_true(k[1].communication && k[1].wait_ns == SB_NULL);
	assert_int_equal(p.warnings.count, 0);
	assert_true(p.captures[0].rank == SB_NULL && p.captures[0].format == FORMAT_ASCEND_TEXT);
	/* the table names a step, the window is not known */
	assert_int_equal(p.captures[0].step_count, 1);
	assert_true(p.captures[0].steps[0].number == 50 && p.captures[0].steps[0].start_ns == SB_NULL);
}

static void level_1_has_shapes_and_pipes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_one(
	    "k.csv",
	    "Device_id,Step Id,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
	    "Block Num,Input Shapes,Input Data Types,Input Formats,Output "
	    "Shapes,aic_mac_ratio,aic_mte2_ratio,"
	    "aic_fixpipe_ratio,aic_icache_miss_rate,aiv_vec_ratio,aiv_mte3_ratio,aiv_vec_fp32_ratio,"
	    "cube_utilization(%)\n"
	    "0,7,Conv,Conv2D,dynamic,AI_CORE,\"100.5\t\",2,1,16,\"\"\"1,2;3;\"\"\",FLOAT;FLOAT,NC1HWC0,N/A,"
	    "0.5,0.25,0.875,9.5,0,0,0.99,60\n"
	    "0,7,Draw,DSA,dynamic,DSA_SQE,200,2,1,1,N/A,N/A,N/A,N/A,0,0,0,0,0,0,0,0\n"
	    "0,7,sum,hcom_allReduce_,N/A,COMMUNICATION,300,2,1,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/"
	    "A,"
	    "N/A\n",
	    &p);
	c = &p.captures[0];
	assert_int_equal(c->kernel_count, 3);
	assert_string_equal(text_of(c, c->kernels[0].input_shapes), "1,2;3;");
	assert_string_equal(text_of(c, c->kernels[0].input_formats), "NC1HWC0");
	assert_string_equal(text_of(c, c->kernels[0].state), "dynamic");
	assert_true(c->kernels[0].output_shapes == 0);
	assert_int_equal(c->kernels[0].block_dim, 16);
	/* the largest pipe, fixpipe included; cache misses and the fp32 share are no pipes */
	assert_true(c->kernels[0].pipe_ratio == 0.875f);
	assert_string_equal(text_of(c, c->kernels[0].pipe), "aic_fixpipe");
	/* measured zeros are no missing counters */
	assert_true(c->kernels[1].pipe_ratio == 0.0f && c->kernels[1].pipe == 0);
	assert_true(isnan(c->kernels[2].pipe_ratio));
	assert_true(c->kernels[2].communication && !c->kernels[0].communication);
	assert_int_equal(c->kernels[2].block_dim, -1);
	assert_string_equal(c->source, "k.csv");
}

static void old_layouts_lack_columns(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	/* 2023: no step, no state; arithmetic counters hold no pipes */
	read_one("kernel_details.csv",
	         "Model ID,Name,Type,Accelerator Core,Start "
	         "Time(us),Duration(us),aic_mac_fp16_ratio,mac_exe_ratio\n"
	         "4294967295,a,Add,AI_CORE,1699529622790614.8,607.98,0.5,0.75\n",
	         &p);
	assert_true(p.captures[0].kernels[0].step == SB_NULL);
	assert_true(p.captures[0].kernels[0].start_ns == INT64_C(1699529622790614800));
	assert_true(p.captures[0].kernels[0].pipe_ratio == 0.75f);
	assert_string_equal(text_of(&p.captures[0], p.captures[0].kernels[0].pipe), "mac");
	assert_int_equal(p.captures[0].step_count, 0);
	assert_string_equal(p.captures[0].source, "kernel_details.csv");
}

static void bad_rows_are_left_out_and_counted(void **state)
{
	PROFILE_AUTO p = {0};
	const struct warning *w;

	(void)state;
	read_one("kernel_details.csv",
	         "Name,Accelerator Core,Start Time(us),Duration(us)\n"
	         "a,AI_CORE,10,1\n"
	         "b,AI_CORE,1.69512E+15,1\n"
	         "c,AI_CORE,1.69512E+15,1\n"
	         "d,AI_CORE,N/A,1\n"
	         "e,AI_CORE,20,-1\n"
	         "f,AI_CORE,1.5E+1,1\n"
	         "g,AI_CORE,3\n",
	         &p);
	/* 1.5E+1 keeps all its digits */
	assert_int_equal(p.captures[0].kernel_count, 2);
	assert_true(p.captures[0].kernels[1].start_ns == 15000);
	w = warning_of(&p, "precision_lost");
	assert_non_null(w);
	assert_true(w->line == 3 && w->count == 2);
	w = warning_of(&p, "bad_value");
	assert_true(w && w->line == 5 && w->count == 1);
	w = warning_of(&p, "negative_duration");
	assert_true(w && w->line == 6);
	assert_null(warning_of(&p, "no_line_end"));
	w = warning_of(&p, "short_row");
	assert_true(w && w->line == 8);
}

static void a_missing_header_is_named(void **state)
{
	static const char *const row = "50,trans_0,N/A,N/A,1736405443881410.320\t,50.621,0,0\n";

	(void)state;
	expect_error(OUT "kernel_details.csv", row, "no_header", 1);
	expect_error("upload", row, "no_header", 1);
	expect_error("step_trace_time.csv",
	             "50,8827.4,81515.6,4001.2,85516.8,25908.1,116251.2,0,81515.6,19358.0\n", "no_header", 1);
	expect_error("kernel_details.csv", "Name,Duration\na,1\n", "missing_column", 1);
}

static void step_table(void **state)
{
	PROFILE_AUTO p = {0}, q = {0};
	const struct step_trace *t;

	(void)state;
	read_one(
	    "step_trace_time.csv",
	    "Device_id,Step,Computing,Communication(Not "
	    "Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
	    "Communication(Not Overlapped and Exclude Receive),Preparing\n"
	    "0,50,8827.472999999998,81515.607,4001.281999999992,85516.889,25908.102000000003,116251.25,0,"
	    "81515.607,19358.0\n"
	    "0,51,1,2,3,5,6,7,8,9,\n",
	    &p);
	assert_int_equal(p.captures[0].step_trace_count, 2);
	t = p.captures[0].step_traces;
	assert_true(t[0].step == 50 && t[0].computing == 8827473 && t[0].exposed == 81515607);
	assert_true(t[0].overlapped == 4001282 && t[0].communication == 85516889 && t[0].free == 25908102);
	assert_true(t[0].stage == 116251250 && t[0].bubble == 0 && t[0].preparing == 19358000);
	assert_true(t[1].preparing == SB_NULL && t[1].bubble == 8000);
	/* before 2024 there is no Preparing; without a schedule the step is empty */
	read_one("step_trace_time.csv", "Step,Computing,Communication,Free,Stage\n,1.5,0,2,3.5\n", &q);
	assert_true(q.captures[0].step_traces[0].step == SB_NULL);
	assert_true(q.captures[0].step_traces[0].preparing == SB_NULL);
	assert_true(q.captures[0].step_traces[0].exposed == SB_NULL);
	assert_int_equal(q.captures[0].step_count, 0);
}

/* No duration is below zero: the row is left out, the time of an operator is unknown. */
static void negative_times_are_not_believed(void **state)
{
	PROFILE_AUTO p = {0}, q = {0};
	const struct communication_op *op;

	(void)state;
	read_one("step_trace_time.csv",
	         "Step,Computing,Communication,Free,Stage\n1,-1,2,3,4\n2,1,2,-3,4\n3,1,2,3,-4\n4,1,2,3,4\n",
	         &p);
	assert_int_equal(p.captures[0].step_trace_count, 1);
	assert_int_equal(p.captures[0].step_traces[0].step, 4);
	assert_non_null(warning_of(&p, "bad_value"));
	read_one(OUT "communication.json",
	         "{\"step1\": {\"collective\": {\"hcom_a@1\": {\"Communication Time Info\": "
	         "{\"Elapse Time(ms)\": -1, \"Transit Time(ms)\": -0.5, \"Wait Time(ms)\": 2}}}}}",
	         &q);
	assert_int_equal(q.captures[0].communication_count, 1);
	op = q.captures[0].communications;
	assert_true(isnan(op->elapse_us) && isnan(op->transit_us) && op->wait_us == 2000);
	assert_non_null(warning_of(&q, "bad_value"));
}

static void statistics_tables(void **state)
{
	PROFILE_AUTO p = {0};
	const struct text_file files[] = {
	    {"api_statistic.csv",
	     "Level,API "
	     "Name,Time(us),Count,Avg(us)\nacl,aclrtSynchronizeStream,474.41,4,118.603\nnode,launch,x,1,1\n",
	     0},
	    {"op_statistic.csv",
	     "OP Type,Core Type,Count,Total Time(us),Min "
	     "Time(us)\nTransData,AI_VECTOR_CORE,57,1423.208,6.54\n",
	     0}};
	struct sb_error err;
	const struct capture *c;

	(void)state;
	assert_int_equal(read_texts(files, 2, &p, &err), SB_OK);
	/* both lie in one directory */
	assert_int_equal(p.count, 1);
	c = &p.captures[0];
	assert_int_equal(c->api_count, 1);
	assert_true(c->apis[0].time_ns == 474410 && c->apis[0].count == 4);
	assert_string_equal(text_of(c, c->apis[0].name), "aclrtSynchronizeStream");
	assert_int_equal(c->op_statistic_count, 1);
	assert_true(c->op_statistics[0].total_ns == 1423208 && c->op_statistics[0].count == 57);
	assert_non_null(warning_of(&p, "bad_value"));
}

#define LINK(size, ms, sizes)                                                                                \
	"{\"Transit Size(MB)\": " size ", \"Transit Time(ms)\": " ms                                         \
	", \"Bandwidth(GB/s)\": 1, \"Large Packet "                                                          \
	"Ratio\": 0.5, \"Size Distribution\": " sizes "}"
#define TIMES(elapse, wait)                                                                                  \
	"\"Communication Time Info\": {\"Start Timestamp(us)\": 1.7e15, \"Elapse Time(ms)\": " elapse        \
	", \"Transit Time(ms)\": 0.5, \"Wait Time(ms)\": " wait ", \"Synchronization Time(ms)\": 2e-05}"

/* One operator or link a line; the formatter would indent what follows a macro ever deeper. */
/* clang-format off */
static const char COMMUNICATION[] =
    "{\"step50\": {"
    "\"p2p\": {\"hcom_send__1_0_1\": {" TIMES("1", "0") "}},"
    "\"collective\": {"
    "\"hcom_allReduce__586_0_1@17522688603477080586\": {" TIMES("79.08952021875", "\"0.25\"") ","
    "\"Communication Bandwidth Info\": {"
    "\"HCCS\": " LINK("28.647232000000002", "1.5", "{\"2.064384\": [12, 1.578891625], \"1.937312\": [2, 0.23794471875]}") ","
    "\"SDMA\": " LINK("28.647232000000002", "1.5", "{}") ","
    "\"RDMA\": " LINK("0", "0", "{\"x\": [1, 2], \"1\": [1], \"2\": [-1, 1], \"3\": 4}")
    "}},"
    "\"hcom_receive__1_0\": {},"
    "\"Total Op Info\": {" TIMES("1000", "1000") "}}},"
    "\"step\": {\"collective\": {\"hcom_broadcast__2_0\": {}}}}";
/* clang-format on */

static void communication_file(void **state)
{
	PROFILE_AUTO p = {0};
	const struct communication_op *op;
	const struct link *l;

	(void)state;
	read_one(OUT "communication.json", COMMUNICATION, &p);
	assert_int_equal(p.captures[0].communication_count, 4);
	op = p.captures[0].communications;
	/* of one start: by name */
	assert_true(op[1].point_to_point && op[1].step == 50 && op[1].group == 0);
	assert_string_equal(text_of(&p.captures[0], op[0].name), "hcom_allReduce__586_0_1");
	assert_string_equal(text_of(&p.captures[0], op[0].group), "17522688603477080586");
	assert_false(op[0].point_to_point);
	/* the double nearest to the decimal text, in microseconds */
	assert_true(op[0].elapse_us == 79089.52021875 && op[0].wait_us == 250 && op[0].transit_us == 500);
	assert_true(op[0].synchronization_us == 0.02 && isnan(op[0].idle_us));
	assert_int_equal(op[0].link_count, 3);
	l = op[0].links;
	assert_string_equal(l[0].name, "HCCS");
	assert_true(l[0].bytes == 28647232 && l[0].transit_us == 1500 && l[0].large_packet_ratio == 0.5);
	assert_int_equal(l[0].packet_count, 2);
	assert_true(l[0].packets[0].bytes == 2064384 && l[0].packets[0].count == 12);
	assert_true(l[0].packets[1].bytes == 1937312 && l[0].packets[1].total_us == 237.94471875);
	assert_string_equal(l[1].name, "SDMA");
	assert_int_equal(l[1].packet_count, 0);
	assert_int_equal(l[2].packet_count, 0);
	assert_true(warning_of(&p, "bad_value")->count == 4);
	/* seen among the collectives, still point to point */
	assert_true(op[2].point_to_point);
	assert_true(op[3].step == SB_NULL && isnan(op[3].elapse_us) && op[3].link_count == 0);
}

static void a_cut_communication_file_keeps_whole_operators(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one("communication.json",
	         "{\"step1\": {\"collective\": {\"a\": {" TIMES("1", "0") "}, \"b\": {\"Communication Time",
	         &p);
	assert_int_equal(p.captures[0].communication_count, 1);
	assert_non_null(warning_of(&p, "truncated"));
}

static void the_rank_comes_from_profiler_info(void **state)
{
	static const struct {
		const char *name, *text;
		int64_t rank;
	} cases[] = {
	    {DIR "profiler_info_3.json",
	     "{\"config\": {\"common_config\": {\"rank_id\": 9}}, \"rank_id\": 3}", 3},
	    {DIR "profiler_info_4.json", "{\"config\": {}}", 4},
	    {DIR "profiler_info_4.json", "{\"config\": {}, \"rank_id\": 5}", 5},
	    {DIR "profiler_info.json", "{\"config\": {}, \"rank_id\": -1}", SB_NULL},
	    {DIR "profiler_info.json", "{\"config\": {}, \"rank_id\": \"6\"}", 6},
	    {DIR "profiler_info_7.json", "{\"config\": {\"a", 7},
	    {DIR "profiler_metadata.json",
	     "{\"ENV_VARIABLES\": {}, \"distributed_args\": {\"rank\": 2, \"world_size\": 8}}", 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct text_file files[] = {
		    {cases[i].name, cases[i].text, 0},
		    {OUT "step_trace_time.csv", "Step,Computing,Communication,Free,Stage\n1,1,0,2,3\n", 0}};
		PROFILE_AUTO p = {0};
		struct sb_error err;

		assert_int_equal(read_texts(files, 2, &p, &err), SB_OK);
		assert_int_equal(p.count, 1);
		assert_true(p.captures[0].rank == cases[i].rank);
		assert_string_equal(p.captures[0].source, "h_1_20250109084453123_ascend_pt");
		assert_true((warning_of(&p, "rank_conflict") != NULL) == (i == 2));
		assert_true(p.captures[0].world_size == (i == COUNT(cases) - 1 ? 8 : SB_NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(level_0_has_eight_columns),
	    cmocka_unit_test(level_1_has_shapes_and_pipes),
	    cmocka_unit_test(old_layouts_lack_columns),
	    cmocka_unit_test(bad_rows_are_left_out_and_counted),
	    cmocka_unit_test(a_missing_header_is_named),
	    cmocka_unit_test(step_table),
	    cmocka_unit_test(negative_times_are_not_believed),
	    cmocka_unit_test(statistics_tables),
	    cmocka_unit_test(communication_file),
	    cmocka_unit_test(a_cut_communication_file_keeps_whole_operators),
	    cmocka_unit_test(the_rank_comes_from_profiler_info),
	};

	return cmocka_run_group_tests_name("ascend", tests, NULL, NULL);
}
