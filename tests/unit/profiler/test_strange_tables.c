/* Tables and traces as they come back from other tools: saved again by a spreadsheet or by pandas, under
 * another name, or with a clock that was set. All expected values are sums by hand. */
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#define HEADER "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
#define KERNELS "kernel_details.csv"

static void read_one(const char *path, const char *text, size_t len, struct profile *p)
{
	const struct text_file f = {path, text, len};
	struct sb_error err;

	if (read_texts(&f, 1, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(p->count, 1);
}

static void refused(const char *path, const char *text, size_t len, const char *why)
{
	const struct text_file f = {path, text, len};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	assert_int_equal(read_texts(&f, 1, &p, &err), SB_EFORMAT);
	assert_string_equal(err.file, path);
	if (!strstr(err.text, why))
		fail_msg("[%s] does not say [%s]", err.text, why);
}

/* A comma inside a number moves all fields behind it: the start would be read as 1 us. */
static void rows_longer_than_the_header(void **state)
{
	JUDGED_AUTO j = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_one(KERNELS, HEADER "3,a,Add,AI_CORE,1000,5\n3,b,Add,AI_CORE,1,010,5\n3,c,Add,AI_CORE,1020,5\n",
	         0, &j.p);
	assert_true(warning_of(&j.p, "long_row") && warning_of(&j.p, "long_row")->line == 3);
	judge(&j);
	assert_true(j.b.rows[0].compute_ns == 10000 && j.b.rows[0].span_ns == 25000);
	/* a comma at the end of each row moves nothing */
	read_one(KERNELS, HEADER "3,a,Add,AI_CORE,1000,5,\n3,b,Add,AI_CORE,1010,5, ,\n", 0, &q);
	assert_int_equal(q.captures[0].kernel_count, 2);
	assert_int_equal(q.warnings.count, 0);
}

/* pandas makes a column of integers with one empty cell one of 3.0, 4.0, … */
static void steps_with_a_point(void **state)
{
	PROFILE_AUTO p = {0};
	const struct kernel *k;

	(void)state;
	read_one(KERNELS,
	         HEADER "3.0,a,Add,AI_CORE,1000,5\n,b,Add,AI_CORE,1010,5\n3.5,c,Add,AI_CORE,1020,5\n", 0, &p);
	k = p.captures[0].kernels;
	assert_int_equal(p.captures[0].kernel_count, 3);
	assert_true(k[0].step == 3 && k[1].step == SB_NULL && k[2].step == SB_NULL);
	assert_true(warning_of(&p, "bad_value") && warning_of(&p, "bad_value")->line == 4);
	assert_int_equal(p.warnings.count, 1);
}

static void other_separators_and_codes_are_told(void **state)
{
	static const char wide[] = "\xFF\xFE"
	                           "N\0a\0m\0e\0,\0";

	(void)state;
	refused(KERNELS, "Name;Type;Accelerator Core;Start Time(us);Duration(us)\na;Add;AI_CORE;1,5;2,5\n", 0,
	        "semicolons or TABs");
	refused(KERNELS, wide, sizeof(wide) - 1, "UTF-16");
	refused("table.csv", wide, sizeof(wide) - 1, "UTF-16");
	refused(KERNELS, HEADER "3,a,Add,AI_CORE,1.69512E+15,5\n", 0, "has lost its digits");
	refused("profiler_info_0.json", "{\"config\": {\"common_config\": {}}, \"rank_id\": 0}", 0,
	        "Send the whole directory");
	refused("communication_group.json", "{\"collective\": [[0, 1]], \"p2p\": []}", 0,
	        "Send the whole directory");
}

/* 1736408883704643.212 becomes 1736408883704640: 15 digits. */
static void spreadsheets_keep_15_digits(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_AUTO q = {0};

	(void)state;
	read_one(KERNELS,
	         HEADER "3,a,Add,AI_CORE,1736408883704640,5\n3,b,Add,AI_CORE,1736408883704660,5\n"
	                "3,c,Add,AI_CORE,1736408883704670,5\n3,d,Add,AI_CORE,1736408883704690,5\n",
	         0, &p);
	assert_non_null(warning_of(&p, "precision_lost"));
	read_one(KERNELS,
	         HEADER "3,a,Add,AI_CORE,1736408883704640,5\n3,b,Add,AI_CORE,1736408883704660,5\n"
	                "3,c,Add,AI_CORE,1736408883704670,5\n3,d,Add,AI_CORE,1736408883704690.1,5\n",
	         0, &q);
	assert_int_equal(q.warnings.count, 0);
}

/* The second kernel starts 11 days late: its 2 us count, and the span is told to be wrong. */
static void jumps_of_the_clock(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	read_one(KERNELS, HEADER "3,a,Add,AI_CORE,1000,5\n3,b,Add,AI_CORE,1000000000000,2\n", 0, &j.p);
	assert_non_null(warning_of(&j.p, "clock_jump"));
	judge(&j);
	assert_true(j.b.rows[0].compute_ns == 7000);
}

#define GPU                                                                                                  \
	"{\"ph\":\"X\",\"cat\" : \"Runtime\",\"name\":\"launch\",\"pid\":1,\"tid\":1,\"ts\":\"1.000\","      \
	"\"dur\":\"1.000\",\"args\":{\"correlation\":1}},"                                                   \
	"{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":\"3.000\","           \
	"\"dur\":\"2.500\",\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}"

/* Neither times as text nor the name of a file make a trace of GPUs one of Ascend. */
static void traces_of_gpus_under_other_names(void **state)
{
	static const char *const paths[] = {"x.json", "trace_view.json"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		JUDGED_AUTO j = {0};

		read_one(paths[i], "[" GPU "]", 0, &j.p);
		assert_int_equal(j.p.captures[0].format, FORMAT_KINETO);
		judge(&j);
		assert_true(j.b.rows[0].compute_ns == 2500 && j.b.rows[0].device == 0);
	}
}

/* user-pain 10: say what is missing. */
static void timelines_of_the_host_alone(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_one(
	    "trace_view.json",
	    "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"Python\"}},"
	    "{\"name\":\"aten::add\",\"cat\":\"cpu_op\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":\"5.000\","
	    "\"dur\":1}]",
	    0, &p);
	assert_non_null(warning_of(&p, "no_device_activity"));
}

#define ON_DEVICE(name, ts, dur, type)                                                                       \
	"{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":2,\"tid\":1,\"ts\":\"" ts "\",\"dur\":" dur             \
	",\"args\":{\"Task Type\":\"" type "\"}},"

/* ascend-formats 1.1: Bubble is the sum of the receives, and Stage leaves it out, whatever gives the rest.
 * Compute 10-15 and 30-35, received 12-22: 25 us in all, 3 under compute, 8 free. */
static void receives_are_a_bubble_without_an_overlap_lane(void **state)
{
	JUDGED_AUTO j = {0};
	const struct breakdown_row *r;

	(void)state;
	read_one("trace_view.json",
	         "[" ON_DEVICE("a", "10.000", "5", "AI_CORE") ON_DEVICE(
	             "b", "30.000", "5", "AI_CORE") "{\"ph\":\"X\",\"name\":\"hcom_receive__1_0_1\",\"pid\":"
	                                            "3,\"tid\":0,\"ts\":\"12.000\",\"dur\":10},"
	                                            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,"
	                                            "\"args\":{\"name\":\"Communication\"}},"
	                                            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
	                                            "\"tid\":0,\"args\":{\"name\":\"Group 0 "
	                                            "Communication\"}},"
	                                            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,"
	                                            "\"args\":{\"name\":\"Ascend Hardware\"}}]",
	         0, &j.p);
	judge(&j);
	r = &j.b.rows[0];
	assert_true(r->bubble_ns == 10000 && r->span_ns == 15000 && r->free_ns == 8000);
	assert_true(r->compute_ns == 10000 && r->communication_ns == 10000 && r->overlap_ns == 3000);
	assert_int_equal(r->span_ns + r->bubble_ns, r->compute_ns + r->exposed_ns + r->free_ns);
}

/* msprof's step_trace tells of the reduces, and nothing of the compute beside them: unknown is not 0. */
static void reduces_alone_are_communication_alone(void **state)
{
	JUDGED_AUTO j = {0};

	(void)state;
	read_one(
	    "step_trace_20250109.csv",
	    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP "
	    "Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce "
	    "Duration(us),Reduce Start(us),Reduce Duration(us)\n"
	    "0,1,600,1900,2000,1500,1300,100,N/A,1,1500,100,1700,50\n"
	    "0,2,2100,2900,3000,1000,800,100,100,1,2500,100,2700,60\n",
	    0, &j.p);
	judge(&j);
	assert_int_equal(j.b.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct breakdown_row *r = &j.b.rows[i];

		assert_true(r->compute_ns == SB_NULL && r->exposed_ns == SB_NULL && r->free_ns == SB_NULL);
		assert_true(r->span_ns == SB_NULL && r->busy_ns == SB_NULL && r->bubble_ns == SB_NULL);
	}
	assert_true(j.b.rows[0].step == 1 && j.b.rows[0].communication_ns == 150000);
	assert_true(j.b.rows[1].communication_ns == 160000 && j.b.rows[2].communication_ns == 310000);
	assert_true(j.b.rows[0].step_ns == 1500000);
}

/* Two devices in one step table: the row of the step and that of the capture tell of the same one. */
static void a_step_counts_once(void **state)
{
	JUDGED_AUTO j = {0};
	const struct warning *w;

	(void)state;
	read_one(
	    "step_trace_time.csv",
	    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
	    "0,1,10,20,5,25,30,60\n1,1,11,20,5,25,30,61\n0,2,10,20,5,25,30,60\n",
	    0, &j.p);
	w = warning_of(&j.p, "duplicate_step");
	assert_true(w && w->count == 1);
	judge(&j);
	assert_int_equal(j.b.count, 3);
	assert_true(j.b.rows[0].compute_ns == 10000 && j.b.rows[2].compute_ns == 20000);
}

/* 2,370,905 ticks of 10 ns are 23.7 ms: 1293 ms of it cannot be communication. */
static void parts_longer_than_their_step(void **state)
{
	const struct text_file files[] = {
	    {"p/step_trace_raw_1_detail_time.csv",
	     "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"
	     "1,100,2371005,2370905,100,2366908,0,2366808,4097\n",
	     0},
	    {"p/ascend_cluster_analyse_model-parallel_1_8_1.csv",
	     "computation,communication_alone_time\n651.9051,1293.1231\n", 0},
	};
	JUDGED_AUTO j = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 2, &j.p, &err), SB_OK);
	judge(&j);
	assert_non_null(warning_of(&j.p, "contradiction"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_longer_than_the_header),
	    cmocka_unit_test(steps_with_a_point),
	    cmocka_unit_test(other_separators_and_codes_are_told),
	    cmocka_unit_test(spreadsheets_keep_15_digits),
	    cmocka_unit_test(jumps_of_the_clock),
	    cmocka_unit_test(traces_of_gpus_under_other_names),
	    cmocka_unit_test(timelines_of_the_host_alone),
	    cmocka_unit_test(parts_longer_than_their_step),
	    cmocka_unit_test(reduces_alone_are_communication_alone),
	    cmocka_unit_test(a_step_counts_once),
	    cmocka_unit_test(receives_are_a_bubble_without_an_overlap_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
